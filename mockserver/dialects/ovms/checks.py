"""The checks of a graph: ordered tables, of which the first check that fails is the answer (vendor note 2).

Integers are JSON integers of the server's own widths: neither 1.0 nor true is one. That something must not be missing
is a check of `model`, which every request has.
"""

from collections.abc import Mapping

from mockserver.core.dialects import Edition
from mockserver.dialects.ovms.endpoints import INT32, UINT32, UINT64, Check, Fields, check, is_number, is_whole
from mockserver.dialects.ovms.guided_generation import choice_fault, tools_fault
from mockserver.dialects.ovms.models import sees


def streams(fields: Fields) -> bool:
    """Whether a request asks for a stream."""
    return fields.get("stream") is True


# --- checks of one field ---------------------------------------------------------------------------------------------


def _boolean(name: str, message: str = "{} accepts values true or false") -> Check:
    return check(name, (bool, message.format(name)))


def _number(name: str, low: float = float("-inf"), high: float = float("inf")) -> Check:
    return check(
        name,
        (is_number, f"{name} is not a valid number"),
        (lambda value, fields: low <= value <= high, f"{name} out of range({low}, {high})"),
    )


def whole_limit(name: str) -> Check:
    """A check that a limit is an integer of 32 bits without a sign; one of 64 bits is told apart."""
    return check(
        name,
        (UINT64, f"{name} is not an unsigned integer"),
        (UINT32, f"{name} value can't be greater than 4294967295"),
    )


def _stop(most: int) -> Check:
    return check(
        "stop",
        (str | list, "stop is not a string or array of strings"),
        (
            lambda value, fields: isinstance(value, str) or len(value) <= most,
            f"stop array must have no more than {most} strings",
        ),
        (lambda value, fields: all(isinstance(text, str) for text in value), "stop array contains non string element"),
    )


def _unstreamed(least: int) -> Check:
    """A check that a stream does not choose the best of so many or more."""
    words = "best_of cannot be used in streaming mode"
    return check("best_of", (lambda value, fields: value < least or not streams(fields), words))


_POSITIVE = range(1, UINT32.stop)
# The graph's option `best_of_limit` at its default.
_BEST_OF_LIMIT = 20
IGNORE_EOS_LIMIT = 4000

STREAM: tuple[Check, ...] = (
    check(
        "stream_options",
        (lambda value, fields: streams(fields), "stream_options provided, but stream not set to true"),
        (dict, "stream_options is not an object"),
        (
            lambda value, fields: isinstance(value.get("include_usage", False), bool),
            "stream_options.include_usage is not a boolean",
        ),
        (
            lambda value, fields: value.keys() <= {"include_usage"},
            "Found unexpected stream options. Properties accepted in stream_options: include_usage",
        ),
    ),
    _boolean("ignore_eos"),
)
_PENALTIES = (
    _number("frequency_penalty", -2.0, 2.0),
    _number("presence_penalty", -2.0, 2.0),
    _number("repetition_penalty"),
)
_SAMPLING = (_number("length_penalty"), _number("temperature", 0.0, 2.0), _number("top_p", 0.0, 1.0))
_TOP_K = (INT32, "top_k is not an integer")
_BEAMS = (
    check(
        "include_stop_str_in_output",
        (bool, "include_stop_str_in_output accepts values true or false"),
        # "setting include_stop_str_in_output=false is invalid" with a stream.
        (
            lambda value, fields: value or not streams(fields),
            "include_stop_str_in_output cannot be set to false if streaming is used",
        ),
    ),
    check(
        "best_of",
        (UINT32, "best_of is not an unsigned integer"),
        (_POSITIVE, "best_of value should be greater than 0"),
        (range(_BEST_OF_LIMIT), f"best_of exceeds limit provided in graph config: {_BEST_OF_LIMIT}"),
    ),
)
# Of the newer server.
SAMPLING: tuple[Check, ...] = (
    *_PENALTIES,
    *_SAMPLING,
    check(
        "min_p",
        (is_number, "min_p is not a valid number"),
        (lambda value, fields: 0 <= value < 1, "min_p out of range [0.0, 1.0)"),
    ),
    check(
        "top_k",
        _TOP_K,
        (lambda value, fields: value == -1 or value > 0, "top_k must be -1 (all tokens) or a positive integer"),
    ),
    check(
        "seed",
        (lambda value, fields: type(value) is int, "seed is not an integer"),
        (UINT32, "seed out of range [0, 4294967295]"),
    ),
    _stop(16),
    *_BEAMS,
    # Any value at all.
    _unstreamed(1),
)
SEVERAL = check(
    "n",
    (UINT32, "n is not an unsigned integer"),
    (_POSITIVE, "n value should be greater than 0"),
    (lambda value, fields: value <= fields.get("best_of", 1), "n value cannot be greater than best_of"),
)
SPECIAL = _boolean("skip_special_tokens", "{} is not a bool")
TOOLS: tuple[Check, ...] = (("tool_choice", choice_fault), ("tools", tools_fault))
_NOT_STREAMED = (
    lambda value, fields: not (value and streams(fields)),
    "logprobs are not supported in streaming mode.",
)
LOGPROBS = check("logprobs", (bool, "logprobs accepts values true or false"), _NOT_STREAMED)
FORMAT = check("response_format", (dict, "response_format is not an object"))
VARIABLES = check("chat_template_kwargs", (dict, "chat_template_kwargs must be an object"))

# --- completions -----------------------------------------------------------------------------------------------------

_PROMPT = (
    # "only single string prompt is currently supported"
    check("prompt", (str, "prompt is not a string")),
    check("model", (lambda model, fields: fields.get("prompt"), "prompt is missing")),
    check(
        "logprobs",
        (lambda value, fields: value is None or is_whole(value, INT32), "logprobs accepts integer values"),
        (lambda value, fields: value in (None, 1), "accepted logprobs value is currently 1 only"),
    ),
)
_OUTPUT = (
    _boolean("echo"),
    check(
        "max_tokens",
        (
            lambda value, fields: value or fields.get("echo") is True,
            "max_tokens value should be greater than 0 unless echo is set",
        ),
    ),
)
COMPLETION_CHECKS: Mapping[Edition, tuple[Check, ...]] = {
    "documented": (
        *STREAM,
        whole_limit("max_tokens"),
        check(
            "max_tokens",
            # "If set to `true`, the maximum allowed `max_tokens` value is `4000`."
            (
                lambda value, fields: value <= IGNORE_EOS_LIMIT or fields.get("ignore_eos") is not True,
                f"when ignore_eos is true max_tokens can not be greater than {IGNORE_EOS_LIMIT}",
            ),
        ),
        *_PENALTIES,
        _number("diversity_penalty"),
        *_SAMPLING,
        # "Must be in (0, 1]."
        check("top_p", (lambda value, fields: value, "top_p out of range(0.0, 1.0)")),
        check("top_k", _TOP_K),
        check("seed", (UINT32, "seed is not an unsigned integer")),
        _stop(4),
        *_BEAMS,
        # "default: `1`"
        _unstreamed(2),
        SEVERAL,
        check(
            "num_assistant_tokens",
            # "Cannot be used with `assistant_confidence_threshold`."
            (
                lambda value, fields: "assistant_confidence_threshold" not in fields,
                "num_assistant_tokens and assistant_confidence_threshold are mutually exclusive and cannot both be "
                "set.",
            ),
            (_POSITIVE, "num_assistant_tokens must be an unsigned integer greater than 0"),
        ),
        check(
            "assistant_confidence_threshold",
            (is_number, "assistant_confidence_threshold must be a positive number"),
            (lambda value, fields: value > 0, "assistant_confidence_threshold must be greater than 0"),
        ),
        *_PROMPT,
        *_OUTPUT,
    ),
    "observed": (
        check(
            "model",
            (
                lambda model, fields: not sees(model),
                "VLM Servable does not support the /completions endpoint. Use /chat/completions or /responses.",
            ),
        ),
        *STREAM,
        whole_limit("max_tokens"),
        *SAMPLING,
        SEVERAL,
        SPECIAL,
        FORMAT,
        *_PROMPT,
        check("logprobs", _NOT_STREAMED),
        *_OUTPUT,
    ),
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
