"""The items of a choice, in the order of their generation."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from mockserver.core.generation import Choice, FinishReason

# A thought is shown in full, summarised or hidden; a refusal takes the place of a text.
Kind = Literal["thought", "summary", "hidden", "text", "refusal", "call", "custom"]
Thoughts = Literal["thought", "summary", "hidden"]

# Why an answer is incomplete, in the words of the Responses API.
_INCOMPLETE: Mapping[FinishReason, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}


class GeneratedItem(NamedTuple):
    """One item of an answer: the texts of its tokens, and the decoding step (`step`) with which it begins.

    `place` is the index of a call among those of the choice. Its name takes a decoding step of its own, before those of
    its arguments.
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
        """Whether it is a tool call."""
        return self.kind in ("call", "custom")

    @property
    def first(self) -> int:
        """The decoding step of the first of its texts."""
        return self.step + self.is_call

    @property
    def last(self) -> int:
        """The decoding step after which it is complete."""
        return max(self.first + len(self.texts) - 1, self.step)

    @property
    def status(self) -> str:
        """Its status once it is done."""
        return "completed" if self.complete else "incomplete"


def incomplete_reason(choice: Choice) -> str | None:
    """Why the answer is incomplete; None if it is complete."""
    return _INCOMPLETE.get(choice.finish_reason)


def generated_items(choice: Choice, thoughts: Thoughts | None) -> list[GeneratedItem]:
    """The items of an answer; `thoughts` says how its thoughts are shown, None if there are none.

    An answer without calls has a text, though it may be empty, unless it is cut short within its thoughts. The last
    item of an incomplete answer is incomplete.
    """
    thought, found = len(choice.thoughts), list[GeneratedItem]()
    if thoughts is not None:
        found.append(GeneratedItem(thoughts, choice.thoughts, 0))
    cut_in_thought = thoughts is not None and choice.finish_reason == "length" and not choice.answer_tokens
    if choice.texts or not (choice.calls or cut_in_thought):
        step = thought if choice.texts else choice.last_step
        found.append(GeneratedItem("refusal" if choice.refusal else "text", choice.texts, step))
    step = thought + len(choice.texts)
    for place, call in enumerate(choice.calls):
        found.append(GeneratedItem("call" if call.kind == "function" else "custom", call.texts, step, place, call.name))
        step += call.steps
    if found and incomplete_reason(choice) is not None:
        found[-1] = found[-1]._replace(complete=False)
    return found
