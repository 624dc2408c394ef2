"""How a model's family writes its thoughts, its text and its tool calls."""

from typing import Any, NamedTuple

from mockserver.core.dialects import Edition
from mockserver.core.generation import Choice, ToolCall
from mockserver.core.seeding import hex_digits
from mockserver.dialects.cerebras.families import Family, Shown


class Style(NamedTuple):
    """The family of the model, where its thoughts are told, the time of its answers, and the one whose calls it names.

    Until 2025 (documented) a stream told all calls at once, and calls, usage and times had another order (recorded).
    Where it `joins`, a chunk of a stream has several tokens.
    """

    family: Family
    shown: Shown
    era: Edition
    identity: int
    joins: bool = False

    @property
    def whole_calls(self) -> bool:
        """Whether a stream tells all calls in one chunk, not in fragments."""
        return self.family.whole_calls or self.era == "documented"

    def tags(self, choice: Choice) -> tuple[str, str]:
        """What stands before and behind the thoughts within the content; nothing ends those that are cut short."""
        if self.shown != "raw" or not choice.thoughts:
            return "", ""
        before, behind = self.family.tags
        return before, behind if choice.answer_tokens else ""

    def message(self, choice: Choice) -> dict[str, Any]:
        """The whole message; what a call or a thought stands for is left out, not null."""
        thoughts, text = "".join(choice.thoughts), choice.text
        written: dict[str, Any] = {}
        if self.shown == "raw":
            before, behind = self.tags(choice)
            thoughts, text = "", f"{before}{thoughts}{behind}{text}"
        if text or not (thoughts or choice.calls):
            written["content"] = text
        if thoughts:
            written["reasoning"] = thoughts
        if choice.calls:
            written["tool_calls"] = [self._call(choice, place, call) for place, call in enumerate(choice.calls)]
        return written | {"role": "assistant"}

    def _call(self, choice: Choice, place: int, call: ToolCall) -> dict[str, Any]:
        function = {"name": call.name, "arguments": call.arguments}
        if self.era == "documented":
            return {"id": self._id(choice, place), "type": "function", "function": function}
        return {"function": function, "type": "function", "id": self._id(choice, place)}

    def fragment(self, choice: Choice, place: int, arguments: str) -> dict[str, Any]:
        """The first fragment of a call in a stream, or all of it; the order of its keys is its own (recorded)."""
        function = {"name": choice.calls[place].name, "arguments": arguments}
        return {"function": function, "type": "function", "id": self._id(choice, place), "index": place}

    def _id(self, choice: Choice, place: int) -> str:
        return hex_digits(self.identity, 9, "call", choice.index, place)


def next_fragment(place: int, arguments: Any) -> dict[str, Any]:
    """A later fragment of a call."""
    return {"function": {"arguments": arguments}, "type": "function", "index": place}
