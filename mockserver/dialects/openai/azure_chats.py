"""Chats at Azure's deployments: without whitespace, keys in alphabetical order, and with the results of filters."""

from collections.abc import Sequence
from itertools import chain

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import OPENING, LazyFrames, Reply, TokenTiming
from mockserver.dialects.openai.azure import CATEGORIES, SAFE, STRUCK
from mockserver.dialects.openai.chats import CHAT, as_finished
from mockserver.dialects.openai.flavour import Encoding, Rendering, Segment, write
from mockserver.dialects.openai.replies import NOTHING, Members, at_step

_NOT_FOUND = {"detected": False, "filtered": False}
_SAFE = dict.fromkeys(CATEGORIES, SAFE)
_OF_PROMPT = {
    "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {**_SAFE, "jailbreak": _NOT_FOUND}}]
}


def write_azure_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks, ahead of which one tells of the prompt."""
    reply = write(_AZURE, as_finished(generation), pace, scope)
    if not reply.streamed:
        return reply
    told = {**dict.fromkeys(("id", "model", "object"), ""), "choices": [], "created": 0, **_OF_PROMPT}
    first = b"data: %b\n\n" % _sorted(told)
    return reply._replace(frames=LazyFrames(lambda: chain((at_step(OPENING, (first,)),), reply.frames)))


def _sorted(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    """A choice with what the filters have found in its text."""
    found: Members = {**_SAFE, "protected_material_code": _NOT_FOUND, "protected_material_text": _NOT_FOUND}
    if choice.finish_reason == "content_filter":
        found = {**found, **STRUCK}
    results = NOTHING if choice.calls else found
    return {"logprobs": None, **CHAT.choice_members(rendering, choice), "content_filter_results": dict(results)}


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    text, *calls = CHAT.segments(rendering, choice)
    results, scores = {"content_filter_results": {"protected_material_text": _NOT_FOUND}}, text.beside
    beside = (lambda group: results) if scores is None else (lambda group: {**results, **scores(group)})
    return (text._replace(beside=beside), *calls)


_AZURE = CHAT._replace(
    around=lambda rendering: {**CHAT.around(rendering), **_OF_PROMPT},
    choice_members=_choice_members,
    segments=_segments,
    unset=lambda rendering: {"content_filter_results": {}, "logprobs": None, "finish_reason": None},
    body=(*CHAT.body, "prompt_filter_results"),
    choice=(*CHAT.choice, "content_filter_results"),
    part=(*CHAT.part, "content_filter_results"),
    encoding=Encoding(_sorted),
    plain=lambda value: _sorted(value) + b"\n",
    obfuscates=lambda rendering: False,
)
