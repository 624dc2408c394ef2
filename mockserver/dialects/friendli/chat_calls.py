"""Tool calls in chats: whole ones, and the fragments of a stream."""

from typing import Any

from mockserver.core.generation import Choice
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.friendli.wires import SLOT


def whole_call(choice: Choice, place: int, identity: int) -> dict[str, Any]:
    """The call at a place of a message."""
    call = choice.calls[place]
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": _id(choice, place, identity), "type": "function", "function": function}


def first_fragment(choice: Choice, place: int, identity: int) -> dict[str, Any]:
    """The delta that begins a call: its id and its name."""
    function = {"name": choice.calls[place].name, "arguments": ""}
    begun = {"index": place, "id": _id(choice, place, identity), "type": "function", "function": function}
    return {"tool_calls": [begun]}


def next_fragment(place: int) -> dict[str, Any]:
    """The delta that continues a call, with SLOT for the text."""
    return {"tool_calls": [{"index": place, "function": {"arguments": SLOT}}]}


def _id(choice: Choice, place: int, identity: int) -> str:
    return f"call_{alphanumerics(identity, 24, 'call', choice.index, place)}"
