"""The checks of a graph: ordered tables, of which the first check that fails is the answer (vendor note 2).

The tables are at the end: checks of all requests, then those of completions or of chats alone.
"""

from typing import Any

from mockserver.core.dialects import Edition, Model
from mockserver.dialects.ovms.fields import (
    INT32,
    UINT32,
    UINT64,
    Check,
    Fields,
    boolean,
    field,
    integer,
    is_number,
    number,
    whole,
)
from mockserver.dialects.ovms.messages import images_fault, messages_fault
from mockserver.dialects.ovms.models import DRAFTED, sees
from mockserver.dialects.ovms.tools import tools_fault


def sampled(fields: Fields) -> bool:
    """Whether tokens are sampled: "best_of > 1 means beam search and turns sampling off"."""
    return bool(fields.get("temperature", 1.0) > 0 and fields.get("best_of", 1) == 1)


def _assertion(condition: str, name: str, wanted: str, value: float) -> str:
    """The text of a failed assertion. Its form is the engine's; file, line and wording differ from build to build."""
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


# After the prompt is tokenised.
ENGINE_CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (_sampled_top_k, _sampled_top_p, _positive_repetition),
    "observed": (_sampled_top_p, _positive_repetition),
}

# --- checks ----------------------------------------------------------------------------------------------------------

# The graph's options at their defaults: `max_tokens_limit` of the older server, `best_of_limit` of both.
_MAX_TOKENS_LIMIT = 4096
_BEST_OF_LIMIT = 20
IGNORE_EOS_LIMIT = 4000


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


def whole_limit(name: str) -> Check:
    """A check that a limit is an integer of 32 bits without a sign; one of 64 bits is told apart."""

    def fault(value: object) -> str | None:
        if whole(value, UINT32):
            return None
        if whole(value, UINT64):
            return f"{name} value can't be greater than 4294967295"
        return f"{name} is not an unsigned integer"

    return field(name, fault)


def _below_limit(name: str) -> Check:
    # "strictly below the graph's max_tokens_limit".
    message = f"{name} exceeds limit provided in graph config: {_MAX_TOKENS_LIMIT}"
    return field(name, lambda value: None if value < _MAX_TOKENS_LIMIT else message)


def _capped_without_eos(name: str) -> Check:
    message = f"when ignore_eos is true {name} can not be greater than {IGNORE_EOS_LIMIT}"

    def fault(fields: Fields, model: Model) -> str | None:
        return message if fields.get("ignore_eos") is True and fields.get(name, 0) > IGNORE_EOS_LIMIT else None

    return fault


def _min_p(value: Any) -> str | None:
    if not is_number(value):
        return "min_p is not a valid number"
    return None if 0 <= value < 1 else "min_p out of range [0.0, 1.0)"


def _format(value: object) -> str | None:
    return None if isinstance(value, dict) else "response_format is not an object"


def _top_k(value: int) -> str | None:
    return None if value == -1 or value >= 1 else "top_k must be -1 (all tokens) or a positive integer"


def _seed(value: object) -> str | None:
    if type(value) is not int:
        return "seed is not an integer"
    return None if value in UINT32 else "seed out of range [0, 4294967295]"


def _stop(most: int) -> Check:
    def fault(value: object) -> str | None:
        if isinstance(value, str):
            return None
        if not isinstance(value, list):
            return "stop is not a string or array of strings"
        if len(value) > most:
            return f"stop array must have no more than {most} strings"
        return None if all(isinstance(text, str) for text in value) else "stop array contains non string element"

    return field("stop", fault)


def _kept_stop(fields: Fields, model: Model) -> str | None:
    # "setting include_stop_str_in_output=false is invalid" with a stream.
    if fields.get("include_stop_str_in_output") is False and fields.get("stream") is True:
        return "include_stop_str_in_output cannot be set to false if streaming is used"
    return None


def _best_of(fields: Fields, model: Model) -> str | None:
    if "best_of" not in fields:
        return None
    value = fields["best_of"]
    if not whole(value, UINT32):
        return "best_of is not an unsigned integer"
    if value == 0:
        return "best_of value should be greater than 0"
    if value >= _BEST_OF_LIMIT:
        return f"best_of exceeds limit provided in graph config: {_BEST_OF_LIMIT}"
    # Any value at all, 1 included.
    return "best_of cannot be used in streaming mode" if fields.get("stream") is True else None


def several(fields: Fields, model: Model) -> str | None:
    """The check of `n`, the number of choices."""
    if "n" not in fields:
        return None
    value = fields["n"]
    if not whole(value, UINT32):
        return "n is not an unsigned integer"
    if value == 0:
        return "n value should be greater than 0"
    return "n value cannot be greater than best_of" if value > fields.get("best_of", 1) else None


def _speculation(fields: Fields, model: Model) -> str | None:
    requested = fields.keys() & {"num_assistant_tokens", "assistant_confidence_threshold"}
    if model.id not in DRAFTED:
        only = "num_assistant_tokens and assistant_confidence_threshold are only supported "
        return only + "when speculative decoding is enabled." if requested else None
    if not requested:
        return "Speculative decoding requires either num_assistant_tokens or assistant_confidence_threshold to be set."
    if len(requested) == 2:
        both = "num_assistant_tokens and assistant_confidence_threshold are mutually exclusive "
        return both + "and cannot both be set."
    return None


def _assistant_tokens(value: object) -> str | None:
    fit = whole(value, UINT32) and value != 0
    return None if fit else "num_assistant_tokens must be an unsigned integer greater than 0"


def _assistant_confidence(value: Any) -> str | None:
    if not is_number(value):
        return "assistant_confidence_threshold must be a positive number"
    return None if value > 0 else "assistant_confidence_threshold must be greater than 0"


def _reads_texts(fields: Fields, model: Model) -> str | None:
    only = "VLM Servable does not support the /completions endpoint. Use /chat/completions or /responses."
    return only if sees(model.id) else None


def _prompt(fields: Fields, model: Model) -> str | None:
    # "only single string prompt is currently supported"
    if not isinstance(fields.get("prompt", ""), str):
        return "prompt is not a string"
    return None if fields.get("prompt") else "prompt is missing"


def _logprobs(fields: Fields, model: Model) -> str | None:
    value = fields.get("logprobs")
    if value is None:
        return None
    if not whole(value, INT32):
        return "logprobs accepts integer values"
    if value != 1:
        return "accepted logprobs value is currently 1 only"
    return "logprobs are not supported in streaming mode." if fields.get("stream") is True else None


def _something_to_say(fields: Fields, model: Model) -> str | None:
    if fields.get("max_tokens") == 0 and fields.get("echo") is not True:
        return "max_tokens value should be greater than 0 unless echo is set"
    return None


def chat_logprobs(fields: Fields, model: Model) -> str | None:
    """The check of `logprobs` in a chat, where it is a boolean."""
    value = fields.get("logprobs", False)
    if not isinstance(value, bool):
        return "logprobs accepts values true or false"
    return "logprobs are not supported in streaming mode." if value and fields.get("stream") is True else None


def token_limit(fields: Fields) -> int | None:
    """The maximum length that a chat requests: `max_completion_tokens` takes precedence over `max_tokens`."""
    asked: int | None = fields.get("max_completion_tokens", fields.get("max_tokens"))
    return asked


def _a_token_to_say(fields: Fields, model: Model) -> str | None:
    return "max_tokens value should be greater than 0" if token_limit(fields) == 0 else None


def _kwargs(value: object) -> str | None:
    return None if isinstance(value, dict) else "chat_template_kwargs must be an object"


# --- the tables --------------------------------------------------------------------------------------------------

_NO_UNSIGNED_SEED = "seed is not an unsigned integer"
MAX_TOKENS = whole_limit("max_tokens")
FORMAT = field("response_format", _format)
KWARGS = field("chat_template_kwargs", _kwargs)

COMMON: dict[Edition, tuple[Check, ...]] = {
    "documented": (
        _stream_options,
        boolean("ignore_eos"),
        MAX_TOKENS,
        _below_limit("max_tokens"),
        _capped_without_eos("max_tokens"),
        number("frequency_penalty", -2.0, 2.0),
        number("presence_penalty", -2.0, 2.0),
        number("repetition_penalty"),
        number("diversity_penalty"),
        number("length_penalty"),
        number("temperature", 0.0, 2.0),
        number("top_p", 0.0, 1.0),
        integer("top_k", INT32, "top_k is not an integer"),
        integer("seed", UINT32, _NO_UNSIGNED_SEED),
        _stop(4),
        boolean("include_stop_str_in_output"),
        _kept_stop,
        _best_of,
        several,
        _speculation,
        field("num_assistant_tokens", _assistant_tokens),
        field("assistant_confidence_threshold", _assistant_confidence),
    ),
    "observed": (
        _stream_options,
        boolean("ignore_eos"),
        MAX_TOKENS,
        number("frequency_penalty", -2.0, 2.0),
        number("presence_penalty", -2.0, 2.0),
        number("repetition_penalty"),
        number("length_penalty"),
        number("temperature", 0.0, 2.0),
        number("top_p", 0.0, 1.0),
        field("min_p", _min_p),
        integer("top_k", INT32, "top_k is not an integer"),
        field("top_k", _top_k),
        field("seed", _seed),
        _stop(16),
        boolean("include_stop_str_in_output"),
        _kept_stop,
        _best_of,
        several,
        boolean("skip_special_tokens", "{} is not a bool"),
    ),
}

_TEXT: tuple[Check, ...] = (_prompt, _logprobs, boolean("echo"), _something_to_say)
_CHAT_LIMIT = whole_limit("max_completion_tokens")

COMPLETION_CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (*COMMON["documented"], *_TEXT),
    "observed": (_reads_texts, *COMMON["observed"], FORMAT, *_TEXT),
}
CHAT_CHECKS: dict[Edition, tuple[Check, ...]] = {
    "documented": (
        *COMMON["documented"],
        messages_fault("documented"),
        chat_logprobs,
        _CHAT_LIMIT,
        _below_limit("max_completion_tokens"),
        _capped_without_eos("max_completion_tokens"),
        _a_token_to_say,
    ),
    "observed": (
        *COMMON["observed"],
        messages_fault("observed"),
        tools_fault,
        chat_logprobs,
        _CHAT_LIMIT,
        _a_token_to_say,
        FORMAT,
        KWARGS,
        images_fault,
    ),
}
