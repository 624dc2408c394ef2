"""What a graph asks of a request: two ordered tables of checks, and the first that fails is the answer (vendor note 2).

A check takes the fields that were sent and the model, and gives the server's message, None where all is well. The
tables stand at the end of this module; what builds their rows comes first. Integers are JSON integers of the server's
own widths: 1.0 and true are none.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mockserver.core.dialects import Edition, Model
from mockserver.dialects.ovms.models import DRAFTED

Fields = Mapping[str, Any]
Check = Callable[[Fields, Model], str | None]

_INT32 = range(-(2**31), 2**31)
_UINT32 = range(2**32)
_UINT64 = range(2**64)

# The graph's options at their defaults: `max_tokens_limit` of the older server, `best_of_limit` of both.
_MAX_TOKENS_LIMIT = 4096
_BEST_OF_LIMIT = 20
IGNORE_EOS_LIMIT = 4000

# "B treats null as absent except ...".
_NULL_IS_A_VALUE = ("stream", "max_tokens", "prompt", "model")


def sent(fields: Fields, edition: Edition) -> Fields:
    """The fields that count as sent: all of them for the older server, for the newer one not those that are null."""
    if edition == "documented":
        return fields
    return {name: value for name, value in fields.items() if value is not None or name in _NULL_IS_A_VALUE}


def first_fault(checks: Iterable[Check], fields: Fields, model: Model) -> str | None:
    """The message of the first check that fails, None when none does."""
    return next((fault for check in checks if (fault := check(fields, model)) is not None), None)


# --- rows that several fields have -------------------------------------------------------------------------------


def _whole(value: object, width: range) -> bool:
    return type(value) is int and value in width


def _is_number(value: object) -> bool:
    """What the server takes for a number: a fraction, or an integer of 32 bits."""
    return type(value) is float or _whole(value, _INT32)


def _field(name: str, fault: Callable[[Any], str | None]) -> Check:
    """A check of one field, where it was sent."""
    return lambda fields, model: fault(fields[name]) if name in fields else None


def _boolean(name: str, message: str = "{} accepts values true or false") -> Check:
    return _field(name, lambda value: None if isinstance(value, bool) else message.format(name))


def _number(name: str, low: float = float("-inf"), high: float = float("inf")) -> Check:
    """A number, both ends of its range included."""

    def fault(value: Any) -> str | None:
        if not _is_number(value):
            return f"{name} is not a valid number"
        return None if low <= value <= high else f"{name} out of range({low}, {high})"

    return _field(name, fault)


def _integer(name: str, width: range, message: str) -> Check:
    return _field(name, lambda value: None if _whole(value, width) else message)


# --- rows of one field -------------------------------------------------------------------------------------------


def _stream_options(fields: Fields, model: Model) -> str | None:
    if "stream_options" not in fields:
        return None
    if fields.get("stream") is not True:
        return "stream_options provided, but stream not set to true"
    options = fields["stream_options"]
    if not isinstance(options, dict):
        return "stream_options is not an object"
    if not isinstance(options.get("include_usage", False), bool):
        return "stream_options.include_usage is not a boolean"
    if options.keys() - {"include_usage"}:
        return "Found unexpected stream options. Properties accepted in stream_options: include_usage"
    return None


def _max_tokens(value: object) -> str | None:
    if _whole(value, _UINT32):
        return None
    if _whole(value, _UINT64):
        return "max_tokens value can't be greater than 4294967295"
    return "max_tokens is not an unsigned integer"


def _below_limit(value: int) -> str | None:
    # "strictly below the graph's max_tokens_limit".
    return (
        None if value < _MAX_TOKENS_LIMIT else f"max_tokens exceeds limit provided in graph config: {_MAX_TOKENS_LIMIT}"
    )


def _capped_without_eos(fields: Fields, model: Model) -> str | None:
    if fields.get("ignore_eos") is True and fields.get("max_tokens", 0) > IGNORE_EOS_LIMIT:
        return f"when ignore_eos is true max_tokens can not be greater than {IGNORE_EOS_LIMIT}"
    return None


def _min_p(value: Any) -> str | None:
    if not _is_number(value):
        return "min_p is not a valid number"
    return None if 0 <= value < 1 else "min_p out of range [0.0, 1.0)"


def _format(value: object) -> str | None:
    return None if isinstance(value, dict) else "response_format is not an object"


def _top_k(value: int) -> str | None:
    return None if value == -1 or value >= 1 else "top_k must be -1 (all tokens) or a positive integer"


def _seed(value: object) -> str | None:
    if type(value) is not int:
        return "seed is not an integer"
    return None if value in _UINT32 else "seed out of range [0, 4294967295]"


def _stop(most: int) -> Check:
    def fault(value: object) -> str | None:
        if isinstance(value, str):
            return None
        if not isinstance(value, list):
            return "stop is not a string or array of strings"
        if len(value) > most:
            return f"stop array must have no more than {most} strings"
        return None if all(isinstance(text, str) for text in value) else "stop array contains non string element"

    return _field("stop", fault)


def _kept_stop(fields: Fields, model: Model) -> str | None:
    # "setting include_stop_str_in_output=false is invalid" with a stream.
    if fields.get("include_stop_str_in_output") is False and fields.get("stream") is True:
        return "include_stop_str_in_output cannot be set to false if streaming is used"
    return None


def _best_of(fields: Fields, model: Model) -> str | None:
    if "best_of" not in fields:
        return None
    value = fields["best_of"]
    if not _whole(value, _UINT32):
        return "best_of is not an unsigned integer"
    if value == 0:
        return "best_of value should be greater than 0"
    if value >= _BEST_OF_LIMIT:
        return f"best_of exceeds limit provided in graph config: {_BEST_OF_LIMIT}"
    # Any value at all, 1 included.
    return "best_of cannot be used in streaming mode" if fields.get("stream") is True else None


def _n(fields: Fields, model: Model) -> str | None:
    if "n" not in fields:
        return None
    value = fields["n"]
    if not _whole(value, _UINT32):
        return "n is not an unsigned integer"
    if value == 0:
        return "n value should be greater than 0"
    return "n value cannot be greater than best_of" if value > fields.get("best_of", 1) else None


def _speculation(fields: Fields, model: Model) -> str | None:
    wished = fields.keys() & {"num_assistant_tokens", "assistant_confidence_threshold"}
    if model.id not in DRAFTED:
        only = "num_assistant_tokens and assistant_confidence_threshold are only supported "
        return only + "when speculative decoding is enabled." if wished else None
    if not wished:
        return "Speculative decoding requires either num_assistant_tokens or assistant_confidence_threshold to be set."
    if len(wished) == 2:
        both = "num_assistant_tokens and assistant_confidence_threshold are mutually exclusive "
        return both + "and cannot both be set."
    return None


def _assistant_tokens(value: object) -> str | None:
    fit = _whole(value, _UINT32) and value != 0
    return None if fit else "num_assistant_tokens must be an unsigned integer greater than 0"


def _assistant_confidence(value: Any) -> str | None:
    if not _is_number(value):
        return "assistant_confidence_threshold must be a positive number"
    return None if value > 0 else "assistant_confidence_threshold must be greater than 0"


def _prompt(fields: Fields, model: Model) -> str | None:
    # "only single string prompt is currently supported"
    if not isinstance(fields.get("prompt", ""), str):
        return "prompt is not a string"
    return None if fields.get("prompt") else "prompt is missing"


def _logprobs(fields: Fields, model: Model) -> str | None:
    value = fields.get("logprobs")
    if value is None:
        return None
    if not _whole(value, _INT32):
        return "logprobs accepts integer values"
    if value != 1:
        return "accepted logprobs value is currently 1 only"
    return "logprobs are not supported in streaming mode." if fields.get("stream") is True else None


def _something_to_say(fields: Fields, model: Model) -> str | None:
    if fields.get("max_tokens") == 0 and fields.get("echo") is not True:
        return "max_tokens value should be greater than 0 unless echo is set"
    return None


# --- the engine's own assertions ---------------------------------------------------------------------------------


def sampled(fields: Fields) -> bool:
    """Whether tokens are drawn: "best_of > 1 means beam search and turns sampling off"."""
    return bool(fields.get("temperature", 1.0) > 0 and fields.get("best_of", 1) == 1)


def _assertion(condition: str, name: str, wanted: str, value: float) -> str:
    """An assertion's text. Its form is the engine's; file, line and wording differ from build to build."""
    return (
        f"Check '{condition}' failed at src/cpp/src/generation_config.cpp:1: {name} must be {wanted}, but is {value:g}"
    )


def _sampled_top_k(fields: Fields, model: Model) -> str | None:
    fit = fields.get("top_k", -1) != 0 or not sampled(fields)
    return None if fit else _assertion("!do_sample || top_k > 0", "top_k", "above 0", 0)


def _sampled_top_p(fields: Fields, model: Model) -> str | None:
    # "Must be in (0, 1]": the range check above lets 0 through.
    fit = fields.get("top_p", 1.0) > 0 or not sampled(fields)
    return None if fit else _assertion("!do_sample || top_p > 0", "top_p", "above 0", 0)


def _positive_repetition(fields: Fields, model: Model) -> str | None:
    value = fields.get("repetition_penalty", 1.0)
    return None if value > 0 else _assertion("repetition_penalty > 0", "repetition_penalty", "above 0", value)


# --- the tables --------------------------------------------------------------------------------------------------

_NO_UNSIGNED_SEED = "seed is not an unsigned integer"

CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (
        _stream_options,
        _boolean("ignore_eos"),
        _field("max_tokens", _max_tokens),
        _field("max_tokens", _below_limit),
        _capped_without_eos,
        _number("frequency_penalty", -2.0, 2.0),
        _number("presence_penalty", -2.0, 2.0),
        _number("repetition_penalty"),
        _number("diversity_penalty"),
        _number("length_penalty"),
        _number("temperature", 0.0, 2.0),
        _number("top_p", 0.0, 1.0),
        _integer("top_k", _INT32, "top_k is not an integer"),
        _integer("seed", _UINT32, _NO_UNSIGNED_SEED),
        _stop(4),
        _boolean("include_stop_str_in_output"),
        _kept_stop,
        _best_of,
        _n,
        _speculation,
        _field("num_assistant_tokens", _assistant_tokens),
        _field("assistant_confidence_threshold", _assistant_confidence),
        _prompt,
        _logprobs,
        _boolean("echo"),
        _something_to_say,
    ),
    "observed": (
        _stream_options,
        _boolean("ignore_eos"),
        _field("max_tokens", _max_tokens),
        _number("frequency_penalty", -2.0, 2.0),
        _number("presence_penalty", -2.0, 2.0),
        _number("repetition_penalty"),
        _number("length_penalty"),
        _number("temperature", 0.0, 2.0),
        _number("top_p", 0.0, 1.0),
        _field("min_p", _min_p),
        _integer("top_k", _INT32, "top_k is not an integer"),
        _field("top_k", _top_k),
        _field("seed", _seed),
        _stop(16),
        _boolean("include_stop_str_in_output"),
        _kept_stop,
        _best_of,
        _n,
        _boolean("skip_special_tokens", "{} is not a bool"),
        _field("response_format", _format),
        _prompt,
        _logprobs,
        _boolean("echo"),
        _something_to_say,
    ),
}

# After the prompt is tokenised.
ENGINE_CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (_sampled_top_k, _sampled_top_p, _positive_repetition),
    "observed": (_sampled_top_p, _positive_repetition),
}
