"""Log-probabilities of chats: those of the text, and those of the thoughts that precede it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mockserver.core.generation import Choice, GenerationRequest
from mockserver.core.seeding import derive
from mockserver.dialects.cerebras.families import Shown
from mockserver.dialects.openai.logprobs import chat_logprobs
from mockserver.model import tokens
from mockserver.model.positions import asked_positions

Rows = list[dict[str, Any]]
# Gives the rows of the tokens from a start to an end.
Stretch = Callable[[int, int | None], Rows]


def text_rows(choice: Choice) -> Stretch:
    """The rows of the text's tokens, on demand."""
    return lambda start, stop: chat_logprobs(choice, start, stop)


def thought_rows(choice: Choice, request: GenerationRequest) -> Stretch:
    """The rows of the thoughts' tokens, on demand; their ids are found by their texts."""
    ids = [next(iter(tokens.encode(text)), tokens.EOS) for text in choice.thoughts]
    key = derive(choice.seed, "thoughts")
    positions = asked_positions(request, choice.prompt, ids, choice.thoughts, key, request.sampling)
    return text_rows(replace(choice, ids=ids, texts=choice.thoughts, positions=positions))


def thoughts_field(shown: Shown) -> str:
    """The field that holds the rows of thoughts.

    "`text_parsed`: similar to `parsed`, but logprobs will not be separated into `reasoning_logprobs` and `logprobs`."
    """
    return "reasoning_logprobs" if shown == "parsed" else "logprobs"


def stated(choice: Choice, request: GenerationRequest, shown: Shown) -> dict[str, Any]:
    """The log-probabilities of a whole choice; empty if none were requested, or if it only calls tools."""
    if request.output.logprobs is None:
        return {}
    by_field: dict[str, Sequence[Any]] = {"logprobs": text_rows(choice)(0, None)}
    if choice.thoughts:
        field = thoughts_field(shown)
        by_field[field] = [*thought_rows(choice, request)(0, None), *by_field.get(field, ())]
    return {field: {"content": rows} for field, rows in by_field.items() if rows or not choice.calls}
