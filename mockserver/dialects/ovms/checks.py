"""The checks of a graph: ordered tables, of which the first check that fails is the answer (vendor note 2).

`contract/checks.json` has them in the order of the server's source: a field, and rules, each with the message if the
value is not what it must be. A name there stands for the checks of that name, or for some that are functions. Integers
are JSON integers of the server's own widths: neither 1.0 nor true is one. What must not be missing is checked with
`model`, which every request has.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from mockserver.core.dialects import Edition
from mockserver.dialects.contracts import components
from mockserver.dialects.ovms.endpoints import INT32, UINT32, UINT64, Check, Fields, Must, check, is_number, is_whole
from mockserver.dialects.ovms.models import EFFORTS, sees

_TABLE = components(__package__, "checks")()
IGNORE_EOS_LIMIT = 4000


def checks_of(name: str, functions: Mapping[str, Sequence[Check]] = MappingProxyType({})) -> tuple[Check, ...]:
    """The checks of that name in the table, of which some are functions."""
    found: list[Check] = []
    for row in _TABLE[name]:
        if isinstance(row, str):
            found += functions[row] if row in functions else checks_of(row, functions)
        else:
            field, *rules = row
            found.append(check(field, *[(_must(stated), message) for stated, message in rules]))
    return tuple(found)


def _must(stated: str | Sequence[float]) -> Must:
    if isinstance(stated, str):
        return _MUSTS[stated]
    low, high = stated
    return lambda value, fields: low <= value <= high


def _streams(fields: Fields) -> bool:
    return fields.get("stream") is True


def _has(name: str, model: str, fields: Fields) -> bool:
    return name in fields


# What a value must be, by the words of the table.
_MUSTS: Mapping[str, Must] = {
    "boolean": bool,
    "boolean or null": bool | None,
    "list": list,
    "list or null": list | None,
    "object": dict,
    "text": str,
    "text or list": str | list,
    "no empty text": lambda value, fields: value != "",
    "no empty list": lambda value, fields: value != [],
    "texts": lambda value, fields: value is None or all(isinstance(text, str) for text in value),
    "text or texts": lambda value, fields: isinstance(value, str) or isinstance(value[0], str),
    "at most 4": lambda value, fields: isinstance(value, str) or len(value) <= 4,
    "at most 16": lambda value, fields: isinstance(value, str) or len(value) <= 16,
    "float or base64": lambda value, fields: value in ("float", "base64"),
    "left or right": lambda value, fields: value in ("left", "right"),
    # Numbers.
    "number": is_number,
    "above 0": lambda value, fields: value > 0,
    "from 0 to below 1": lambda value, fields: 0 <= value < 1,
    "integer": lambda value, fields: type(value) is int,
    "int32": INT32,
    "int32 or null": lambda value, fields: value is None or is_whole(value, INT32),
    "uint32": UINT32,
    "uint64": UINT64,
    "positive": range(1, UINT32.stop),
    "-1 or positive": lambda value, fields: value == -1 or value > 0,
    "1 or null": lambda value, fields: value in (None, 1),
    # What other fields have a say in.
    "absent": lambda value, fields: False,
    "absent in a stream": lambda value, fields: not (value and _streams(fields)),
    "in a stream": lambda value, fields: _streams(fields),
    "not in a stream": lambda value, fields: not _streams(fields),
    # "setting include_stop_str_in_output=false is invalid" with a stream.
    "true in a stream": lambda value, fields: value or not _streams(fields),
    # "default: `1`"
    "1 in a stream": lambda value, fields: not (is_whole(value, range(2, UINT32.stop)) and _streams(fields)),
    "effort is text": lambda value, fields: isinstance(value.get("effort"), str | None),
    "effort is known": lambda value, fields: value.get("effort") is None or value["effort"] in EFFORTS,
    "usage is a boolean": lambda value, fields: isinstance(value.get("include_usage", False), bool),
    "no other options": lambda value, fields: value.keys() <= {"include_usage"},
    "at most best_of": lambda value, fields: value <= fields.get("best_of", 1),
    # "If set to `true`, the maximum allowed `max_tokens` value is `4000`."
    "at most 4000 with ignore_eos": lambda value, fields: (
        value <= IGNORE_EOS_LIMIT or fields.get("ignore_eos") is not True
    ),
    "positive or with echo": lambda value, fields: value or fields.get("echo") is True,
    # "Cannot be used with `assistant_confidence_threshold`."
    "no threshold": lambda value, fields: "assistant_confidence_threshold" not in fields,
    # What a request must have for its model.
    "text only": lambda model, fields: not sees(model),
    "a prompt": lambda model, fields: fields.get("prompt"),
    **{f"with {name}": partial(_has, name) for name in ("input", "text", "query", "documents")},
}

# --- checks of the engine --------------------------------------------------------------------------------------------


def sampled(fields: Fields) -> bool:
    """Whether tokens are sampled: "best_of > 1 means beam search and turns sampling off"."""
    return bool(fields.get("temperature", 1.0) > 0 and fields.get("best_of", 1) == 1)


def _positive(name: str, *, always: bool = False) -> Check:
    """A check that a number is above 0, always or while tokens are sampled.

    Its text is that of a failed assertion: the form is the engine's; file, line and wording differ from build to build.
    """
    condition = f"{name} > 0" if always else f"!do_sample || {name} > 0"

    def fault(value: float, fields: Fields) -> str | None:
        if value > 0 or (name == "top_k" and value) or not (always or sampled(fields)):
            return None
        place = f"Check '{condition}' failed at src/cpp/src/generation_config.cpp:1"
        return f"{place}: {name} must be above 0, but is {value:g}"

    return name, fault


_REPEATING = _positive("repetition_penalty", always=True)
# After the prompt is tokenised.
ENGINE_CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (_positive("top_k"), _REPEATING),
    # The range check of top_p lets 0 through.
    "observed": (_positive("top_p"), _REPEATING),
}
