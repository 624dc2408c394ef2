"""The assertions of the engine itself, for requests that have passed all checks (vendor note 2)."""

from mockserver.core.dialects import Edition, Model
from mockserver.dialects.ovms.rows import Check, Fields


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
