"""The checks of a graph: ordered tables, of which the first check that fails is the answer (vendor note 2).

A check is the name of a field and what may be wrong with its value: a function of the value and of all fields that
returns the server's message, None if all is well. It is asked if the request has the field, so that a check of what
must not be missing has the name of one that every request has, `model`. Integers are JSON integers of the server's own
widths: neither 1.0 nor true is one.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.dialects.ovms.endpoints import INT32, UINT32, UINT64, Fields, is_number, is_whole
from mockserver.dialects.ovms.guided_generation import choice_fault, tools_fault
from mockserver.dialects.ovms.models import sees

Check = tuple[str, Callable[[Any, Fields], str | None]]


def first_fault(checks: Iterable[Check], fields: Fields) -> str | None:
    """The message of the first check that fails, None if none does."""
    for name, fault in checks:
        if name in fields and (message := fault(fields[name], fields)) is not None:
            return message
    return None


# --- checks of one value ---------------------------------------------------------------------------------------------


def _boolean(name: str, message: str = "{} accepts values true or false") -> Check:
    return name, lambda value, fields: None if isinstance(value, bool) else message.format(name)


def _number(name: str, low: float = float("-inf"), high: float = float("inf")) -> Check:
    def fault(value: Any, fields: Fields) -> str | None:
        if not is_number(value):
            return f"{name} is not a valid number"
        return None if low <= value <= high else f"{name} out of range({low}, {high})"

    return name, fault


def _integer(name: str, width: range, message: str) -> Check:
    return name, lambda value, fields: None if is_whole(value, width) else message


def _object(name: str, message: str) -> Check:
    return name, lambda value, fields: None if isinstance(value, dict) else message


def whole_limit(name: str) -> Check:
    """A check that a limit is an integer of 32 bits without a sign; one of 64 bits is told apart."""

    def fault(value: object, fields: Fields) -> str | None:
        if type(value) is int and value in UINT32:
            return None
        return f"{name} value can't be greater than 4294967295" if is_whole(value, UINT64) else unsigned

    unsigned = f"{name} is not an unsigned integer"
    return name, fault


# The graph's option `best_of_limit` at its default.
_BEST_OF_LIMIT = 20
IGNORE_EOS_LIMIT = 4000


def _endless(value: int, fields: Fields) -> str | None:
    # "If set to `true`, the maximum allowed `max_tokens` value is `4000`."
    if value > IGNORE_EOS_LIMIT and fields.get("ignore_eos") is True:
        return f"when ignore_eos is true max_tokens can not be greater than {IGNORE_EOS_LIMIT}"
    return None


def _stream_options(options: object, fields: Fields) -> str | None:
    if fields.get("stream") is not True:
        return "stream_options provided, but stream not set to true"
    if not isinstance(options, dict):
        return "stream_options is not an object"
    if not isinstance(options.get("include_usage", False), bool):
        return "stream_options.include_usage is not a boolean"
    if options.keys() - {"include_usage"}:
        return "Found unexpected stream options. Properties accepted in stream_options: include_usage"
    return None


def _min_p(value: Any, fields: Fields) -> str | None:
    if not is_number(value):
        return "min_p is not a valid number"
    return None if 0 <= value < 1 else "min_p out of range [0.0, 1.0)"


def _top_k(value: int, fields: Fields) -> str | None:
    return None if value == -1 or value >= 1 else "top_k must be -1 (all tokens) or a positive integer"


def _seed(value: object, fields: Fields) -> str | None:
    if type(value) is not int:
        return "seed is not an integer"
    return None if value in UINT32 else "seed out of range [0, 4294967295]"


def _stop(most: int) -> Check:
    def fault(value: object, fields: Fields) -> str | None:
        if isinstance(value, str):
            return None
        if not isinstance(value, list):
            return "stop is not a string or array of strings"
        if len(value) > most:
            return f"stop array must have no more than {most} strings"
        return None if all(isinstance(text, str) for text in value) else "stop array contains non string element"

    return "stop", fault


def _kept_stop(value: object, fields: Fields) -> str | None:
    if not isinstance(value, bool):
        return "include_stop_str_in_output accepts values true or false"
    # "setting include_stop_str_in_output=false is invalid" with a stream.
    if value is False and fields.get("stream") is True:
        return "include_stop_str_in_output cannot be set to false if streaming is used"
    return None


def _best_of(value: Any, fields: Fields) -> str | None:
    if not is_whole(value, UINT32):
        return "best_of is not an unsigned integer"
    if value == 0:
        return "best_of value should be greater than 0"
    return f"best_of exceeds limit provided in graph config: {_BEST_OF_LIMIT}" if value >= _BEST_OF_LIMIT else None


def _unstreamed(least: int) -> Check:
    """A check that a stream does not choose the best of so many or more."""
    message = "best_of cannot be used in streaming mode"
    return "best_of", lambda value, fields: message if value >= least and fields.get("stream") is True else None


def _several(value: Any, fields: Fields) -> str | None:
    if not is_whole(value, UINT32):
        return "n is not an unsigned integer"
    if value == 0:
        return "n value should be greater than 0"
    return "n value cannot be greater than best_of" if value > fields.get("best_of", 1) else None


def _assistant_tokens(value: object, fields: Fields) -> str | None:
    # "Cannot be used with `assistant_confidence_threshold`."
    if "assistant_confidence_threshold" in fields:
        both = "num_assistant_tokens and assistant_confidence_threshold are mutually exclusive "
        return both + "and cannot both be set."
    fit = is_whole(value, UINT32) and value != 0
    return None if fit else "num_assistant_tokens must be an unsigned integer greater than 0"


def _assistant_confidence(value: Any, fields: Fields) -> str | None:
    if not is_number(value):
        return "assistant_confidence_threshold must be a positive number"
    return None if value > 0 else "assistant_confidence_threshold must be greater than 0"


def _reads_texts(model: str, fields: Fields) -> str | None:
    only = "VLM Servable does not support the /completions endpoint. Use /chat/completions or /responses."
    return only if sees(model) else None


def _prompt(model: str, fields: Fields) -> str | None:
    prompt = fields.get("prompt", "")
    # "only single string prompt is currently supported"
    if not isinstance(prompt, str):
        return "prompt is not a string"
    return None if prompt else "prompt is missing"


def _logprobs(value: object, fields: Fields) -> str | None:
    if value is None:
        return None
    if not is_whole(value, INT32):
        return "logprobs accepts integer values"
    return None if value == 1 else "accepted logprobs value is currently 1 only"


def _streamed_logprobs(value: object, fields: Fields) -> str | None:
    return "logprobs are not supported in streaming mode." if value and fields.get("stream") is True else None


def _chat_logprobs(value: object, fields: Fields) -> str | None:
    if not isinstance(value, bool):
        return "logprobs accepts values true or false"
    return _streamed_logprobs(value, fields)


def _something_to_say(value: int, fields: Fields) -> str | None:
    if value == 0 and fields.get("echo") is not True:
        return "max_tokens value should be greater than 0 unless echo is set"
    return None


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

# --- the tables ------------------------------------------------------------------------------------------------------

STREAM: tuple[Check, ...] = (("stream_options", _stream_options), _boolean("ignore_eos"))

_PENALTIES = (
    _number("frequency_penalty", -2.0, 2.0),
    _number("presence_penalty", -2.0, 2.0),
    _number("repetition_penalty"),
)

_SAMPLING = (_number("length_penalty"), _number("temperature", 0.0, 2.0), _number("top_p", 0.0, 1.0))
# "Must be in (0, 1]."
_TOP_P: Check = ("top_p", lambda value, fields: None if value else "top_p out of range(0.0, 1.0)")
_TOP_K = _integer("top_k", INT32, "top_k is not an integer")
_BEAMS: tuple[Check, ...] = (("include_stop_str_in_output", _kept_stop), ("best_of", _best_of))

_PROMPT: tuple[Check, ...] = (("model", _prompt), ("logprobs", _logprobs))
_OUTPUT: tuple[Check, ...] = (_boolean("echo"), ("max_tokens", _something_to_say))

# Of the newer server.
SAMPLING: tuple[Check, ...] = (
    *_PENALTIES,
    *_SAMPLING,
    ("min_p", _min_p),
    _TOP_K,
    ("top_k", _top_k),
    ("seed", _seed),
    _stop(16),
    *_BEAMS,
    # Any value at all.
    _unstreamed(1),
)

SEVERAL: Check = ("n", _several)
SPECIAL = _boolean("skip_special_tokens", "{} is not a bool")
TOOLS: tuple[Check, ...] = (("tool_choice", choice_fault), ("tools", tools_fault))

LOGPROBS: Check = ("logprobs", _chat_logprobs)
FORMAT = _object("response_format", "response_format is not an object")
VARIABLES = _object("chat_template_kwargs", "chat_template_kwargs must be an object")
COMPLETION_CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (
        *STREAM,
        whole_limit("max_tokens"),
        ("max_tokens", _endless),
        *_PENALTIES,
        _number("diversity_penalty"),
        *_SAMPLING,
        _TOP_P,
        _TOP_K,
        _integer("seed", UINT32, "seed is not an unsigned integer"),
        _stop(4),
        *_BEAMS,
        # "default: `1`"
        _unstreamed(2),
        SEVERAL,
        ("num_assistant_tokens", _assistant_tokens),
        ("assistant_confidence_threshold", _assistant_confidence),
        *_PROMPT,
        *_OUTPUT,
    ),
    "observed": (
        ("model", _reads_texts),
        *STREAM,
        whole_limit("max_tokens"),
        *SAMPLING,
        SEVERAL,
        SPECIAL,
        FORMAT,
        *_PROMPT,
        ("logprobs", _streamed_logprobs),
        *_OUTPUT,
    ),
}
