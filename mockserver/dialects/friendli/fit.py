"""Whether a model is large enough for a request: its context window, its vocabulary, and what the prompt leaves."""

from collections.abc import Iterator

from mockserver.core.dialects import Model
from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.friendli.errors import invalid
from mockserver.dialects.friendli.models import vocabulary_size
from mockserver.dialects.openai.fields import Body


def misfits(body: Body, request: GenerationRequest, model: Model) -> Rejection | None:
    """The refusal of a request that is too large for the model or contradicts itself; None if it fits."""
    too_long = tuple(_too_long(body, request, model))
    if too_long:
        return invalid(too_long, FailureKind.CONTEXT_LENGTH)
    impossible = (*_outside_the_vocabulary(body, request), *_no_room(body, request))
    return invalid(impossible) if impossible else None


def _too_long(body: Body, request: GenerationRequest, model: Model) -> Iterator[Violation]:
    # "The length of your input tokens plus max_tokens should not exceed the model's maximum length."
    longest = max(prompt.token_count for prompt in request.prompts)
    most, total = body.get("max_tokens") or 0, body.get("max_total_tokens") or 0
    if longest > model.context:
        yield _misfit(_prompt_field(body), f"the prompt has {longest} tokens, {_window(model)}")
    elif longest + most > model.context:
        yield _misfit("max_tokens", f"the prompt has {longest} tokens and max_tokens is {most:.15g}, {_window(model)}")
    if total > model.context:
        yield _misfit("max_total_tokens", f"max_total_tokens is {total:.15g}, {_window(model)}")


def _outside_the_vocabulary(body: Body, request: GenerationRequest) -> Iterator[Violation]:
    # "Numbers between 0 and the vocab size of the model (both inclusive) are allowed."
    size = vocabulary_size(request.model)
    if (body.get("top_k") or 0) > size:
        yield Violation(("top_k",), "maximum", "", size)


def _no_room(body: Body, request: GenerationRequest) -> Iterator[Violation]:
    longest = max(prompt.token_count for prompt in request.prompts)
    room = request.limits.context - longest
    if room < 0:
        # "The maximum number of tokens including both the generated result and the input tokens."
        yield _misfit("max_total_tokens", f"the prompt alone has {longest} tokens")
        return
    most = room if request.limits.max_tokens is None else min(request.limits.max_tokens, room)
    if request.limits.min_tokens > most:
        name = "min_tokens" if body.get("min_total_tokens") is None else "min_total_tokens"
        yield _misfit(name, f"{name} asks for more tokens than there may be, {most}")


def _misfit(name: str, message: str) -> Violation:
    return Violation((name,), "context", message)


def _prompt_field(body: Body) -> str:
    return next(name for name in ("messages", "prompt", "tokens") if body.get(name) is not None)


def _window(model: Model) -> str:
    return f"the model's maximum length is {model.context}"
