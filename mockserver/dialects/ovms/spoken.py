"""Thoughts, text and tool calls of a chat's choice, as the server of an edition separates them (vendor note 6).

The older server knows only text, which includes the calls of a model; so does the newer one if a request turns its
parsers off.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation, ToolCall
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.ovms.chats import Asked
from mockserver.dialects.ovms.families import thinking


def is_parsed(generation: Generation) -> bool:
    """Whether thoughts and calls are separated from the text."""
    options = generation.request.extra
    return isinstance(options, Asked) and options.parsed


def finish_reason(choice: Choice, generation: Generation) -> str:
    """Why the choice ends: "`tool_calls` [...] if any tool call was seen and generation stopped normally"."""
    if choice.finish_reason == "length":
        return "length"
    return "tool_calls" if choice.calls and is_parsed(generation) else "stop"


def words(choice: Choice) -> Sequence[str]:
    """The text and the calls of a choice, as the tokens of one text."""
    if not choice.calls:
        return choice.texts
    return [*choice.texts, *(text for call in choice.calls for text in _written(call))]


def _written(call: ToolCall) -> Iterator[str]:
    """A call in the model's own notation, here that of the page's model."""
    yield f'{{"name": {orjson.dumps(call.name).decode()}, "parameters": '
    yield from call.texts[:-1]
    yield from (text + "}" for text in call.texts[-1:])


def thoughts(choice: Choice, generation: Generation) -> Sequence[str]:
    """The texts of the thoughts, with their end tag unless they are cut short."""
    family = thinking(generation.request.model)
    over = choice.texts or choice.calls or choice.finish_reason != "length"
    if not choice.thoughts or family is None or not over:
        return choice.thoughts
    return [*choice.thoughts[:-1], choice.thoughts[-1] + family.end]


def call_head(choice: Choice, place: int, site: Site) -> dict[str, Any]:
    """The members with which a call begins, in bodies and chunks alike."""
    # "id = 9 random letters/digits"
    return {"id": alphanumerics(site.identity, 9, "call", choice.index, place), "type": "function"}
