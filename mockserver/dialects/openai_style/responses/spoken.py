"""What a choice says, item by item, in the order in which it says it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from mockserver.core.generation import Choice, FinishReason

# A thought is told in full, summed up, or hidden; a refusal is told in the place of a text.
Kind = Literal["thought", "summary", "hidden", "text", "refusal", "call", "custom"]
Thoughts = Literal["thought", "summary", "hidden"]

# Why an answer is incomplete, in the words of the Responses API.
_INCOMPLETE: Mapping[FinishReason, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}


class Spoken(NamedTuple):
    """One item of an answer: its tokens, and the decoding step of the first of them.

    `place` is its place among the calls of the choice. The name of a call takes a step of its own before its arguments.
    """

    kind: Kind
    texts: Sequence[str]
    step: int
    place: int = 0
    name: str = ""
    complete: bool = True

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.texts)

    @property
    def is_call(self) -> bool:
        """Whether a tool is called."""
        return self.kind in ("call", "custom")

    @property
    def first(self) -> int:
        """The decoding step of the first of its texts."""
        return self.step + self.is_call

    @property
    def last(self) -> int:
        """The decoding step with which it is complete."""
        return max(self.first + len(self.texts) - 1, self.step)

    @property
    def status(self) -> str:
        """Its status once it is over."""
        return "completed" if self.complete else "incomplete"


def incomplete_reason(choice: Choice) -> str | None:
    """Why the answer is incomplete, None where it is not."""
    return _INCOMPLETE.get(choice.finish_reason)


def spoken_of(choice: Choice, thoughts: Thoughts | None) -> list[Spoken]:
    """The items of an answer; `thoughts` says how it tells what was thought, None where nothing was.

    An answer that neither thinks nor calls anything says something, though it be an empty text.
    """
    found = list(_spoken(choice, thoughts))
    if found and incomplete_reason(choice) is not None:
        found[-1] = found[-1]._replace(complete=False)
    return found


def _spoken(choice: Choice, thoughts: Thoughts | None) -> Iterator[Spoken]:
    thought = len(choice.thoughts)
    if thoughts is not None:
        yield Spoken(thoughts, choice.thoughts, 0)
    cut_in_thought = thoughts is not None and choice.finish_reason == "length" and not choice.answer_tokens
    if choice.texts or not (choice.calls or cut_in_thought):
        step = thought if choice.texts else choice.last_step
        yield Spoken("refusal" if choice.refusal else "text", choice.texts, step)
    step = thought + len(choice.texts)
    for place, call in enumerate(choice.calls):
        kind: Kind = "call" if call.kind == "function" else "custom"
        yield Spoken(kind, call.texts, step, place, call.name)
        step += call.steps
