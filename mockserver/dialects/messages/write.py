"""Messages as those write them who speak Anthropic's wire: one body, or a stream of events (facts A6 to A9).

An answer is a list of content blocks. Each is written whole in a body; in a stream by an event that starts it, a delta
for each of its tokens, and one that stops it. A `MessageFlavour` states what vendors form in ways of their own.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Choice, Generation
from mockserver.core.seeding import Draws, derive, hex_digits
from mockserver.core.timeline import OPENING, RUN_LENGTH, FrameBatch, LazyFrames, Reply, TemplatedFrames, TokenTiming
from mockserver.dialects.messages.read import MessageOptions
from mockserver.dialects.openai.read import json_object
from mockserver.dialects.openai.replies import (
    EVENT_STREAM,
    SLOT,
    GeneratedItem,
    Members,
    body_reply,
    generated_items,
    ordered,
)
from mockserver.dialects.openai.streams import at_step, json_texts, template

_PING = b'event: ping\ndata: {"type": "ping"}\n\n'
# What a block has not yet when it starts, the delta that brings it, and the name of its text there.
_UNSAID: Mapping[str, tuple[Members, str, str]] = {
    "text": ({"text": ""}, "text_delta", "text"),
    "thinking": ({"thinking": "", "signature": ""}, "thinking_delta", "thinking"),
    "tool_use": ({"input": {}}, "input_json_delta", "partial_json"),
}


class Writing(NamedTuple):
    """An answer that is being written, in a flavour; it has one choice, since the API has no `n`."""

    flavour: "MessageFlavour"
    generation: Generation
    choice: Choice
    scope: RequestScope
    options: MessageOptions


class MessageFlavour(NamedTuple):
    """How a vendor writes messages.

    - `message`: the members of a message, in their order; `ending`: those of the delta that ends a stream.
    - `around`: what a message has beside its content, the reason of its end and its usage.
    - `usage`: that of a body (""), of the message that begins a stream ("start"), of the delta that ends it ("end").
    - `call_id`: the id of the call at a place; `calling`: what a call has beside its id, its name and its input.
    - `reasons`: its words for reasons of an end, where they are not Anthropic's.
    - `pings`: whether an event `ping` follows the start of the first block; `pads`: whether blanks hide the lengths.
    - `tidies`: whether a call that is cut short ends with the last of its properties that is complete, and is closed if
      a stop sequence has cut it.
    """

    message: Sequence[str]
    ending: Sequence[str]
    around: Callable[[Writing], Members]
    usage: Callable[[Writing, str], Members]
    call_id: Callable[[Writing, int], str]
    calling: Members = MappingProxyType({})
    reasons: Mapping[str, str] = MappingProxyType({})
    pings: bool = False
    pads: bool = False
    tidies: bool = False


def write(flavour: MessageFlavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events."""
    extra, [choice] = generation.request.extra, generation.choices
    options = extra if isinstance(extra, MessageOptions) else MessageOptions()
    writing = Writing(flavour, generation, choice, scope, options)
    if generation.request.output.stream:
        headers = ((b"content-type", EVENT_STREAM + b"; charset=utf-8"), (b"cache-control", b"no-cache"))
        return Reply(200, headers, LazyFrames(partial(_frames, writing)), streamed=True)
    return body_reply(_message(writing, [block for _, block in _blocks(writing)], _ending(writing), ""), generation)


def _blocks(writing: Writing) -> list[tuple[GeneratedItem, Members]]:
    """What is said, block by block; a text that is empty has none."""
    found = generated_items(writing.choice, writing.options.thoughts)
    return [(each, _block(writing, each)) for each in found if each.texts or each.kind not in ("text", "refusal")]


def _block(writing: Writing, generated: GeneratedItem) -> Members:
    if generated.is_call:
        said = _said(writing, generated)
        given = _input(said)
        # That of a call which is cut short is no JSON.
        given = _input(said + "}") if given is None and writing.flavour.tidies else given
        input_ = {} if given is None else given
        id_ = generated.call_id or writing.flavour.call_id(writing, generated.place)
        named = {"id": id_, "name": generated.name}
        return {"type": "tool_use", **named, "input": input_, **writing.flavour.calling}
    if generated.kind in ("text", "refusal"):
        return {"type": "text", "text": generated.text}
    # What stands for the encrypted thoughts: longer ones are longer.
    size = 210 + min(writing.choice.reasoning, 1_000)
    digits = "".join(hex_digits(writing.scope.identity, 128, "thoughts", place) for place in range(-(-size // 64)))
    sealed = b64encode(bytes.fromhex(digits)[:size]).decode()
    if writing.options.redacted:
        return {"type": "redacted_thinking", "data": sealed}
    return {"type": "thinking", "thinking": generated.text, "signature": sealed}


def _said(writing: Writing, call: GeneratedItem) -> str:
    """What is written of a call's arguments."""
    stop = writing.choice.stop is not None
    is_cut = stop or writing.choice.finish_reason == "length"
    return kept_input(call.text, stop) if writing.flavour.tidies and is_cut else call.text


def _pieces(writing: Writing, call: GeneratedItem) -> tuple[Sequence[str], bool]:
    """The arguments of a call piece by piece, none of an empty object, and whether they are an object."""
    said, texts, is_whole = _said(writing, call), call.texts, True
    if said != call.text:
        texts, is_whole = [*_divided(said, texts)], _input(said) is not None
    return () if said == "{}" else texts, is_whole


def _input(said: str) -> Members | None:
    given = json_object(said.encode())
    return None if isinstance(given, Refusal) else given


def _ending(writing: Writing) -> Members:
    """Why an answer has ended, in the vendor's words."""
    choice, limits, details = writing.choice, writing.generation.request.limits, None
    reason = "end_turn" if choice.stop is None else "stop_sequence"
    if choice.refusal or choice.finish_reason == "content_filter":
        reason, details = "refusal", {"type": "refusal", "category": None, "explanation": None}
    elif choice.finish_reason == "length":
        filled = limits.max_tokens is None or writing.generation.usage.completion_tokens < limits.max_tokens
        reason = "model_context_window_exceeded" if filled and not writing.generation.prepared else "max_tokens"
    elif choice.finish_reason in ("tool_calls", "function_call"):
        reason = "tool_use"
    stop = choice.stop if reason == "stop_sequence" else None
    return {"stop_reason": writing.flavour.reasons.get(reason, reason), "stop_sequence": stop, "stop_details": details}


def _message(writing: Writing, content: Sequence[Members], ending: Members, when: str) -> Members:
    members = {**writing.flavour.around(writing), "type": "message", "role": "assistant", "content": content}
    return ordered(writing.flavour.message, {**members, **ending, "usage": writing.flavour.usage(writing, when)})


def _frames(writing: Writing) -> Iterator[FrameBatch]:
    """The events of a stream."""
    flavour, draws, ending = writing.flavour, Draws(derive(writing.scope.identity, "padding")), _ending(writing)

    def closed(body: bytes) -> bytes:
        return body[:-1] + b" " * draws.below(16) + b"}\n\n" if flavour.pads else body + b"\n\n"

    def event(kind: str, **members: Any) -> bytes:
        return b"event: %b\ndata: %b" % (kind.encode(), closed(orjson.dumps({"type": kind, **members})))

    begun, left = _message(writing, [], dict.fromkeys(ending), "start"), 0
    yield at_step(OPENING, (event("message_start", message=begun),))
    for index, (generated, block) in enumerate(_blocks(writing)):
        unsaid, type_, name = _UNSAID.get(block["type"], ({}, "", ""))
        delta = partial(event, "content_block_delta", index=index)
        opening = [event("content_block_start", index=index, content_block={**block, **unsaid})]
        opening += [_PING] if flavour.pings and not index else []
        closing = [event("content_block_stop", index=index)]
        if generated.is_call:
            # The first piece is empty, and that of a call without arguments the only one.
            opening.append(delta(delta={"type": type_, name: ""}))
        elif block["type"] == "thinking":
            closing.insert(0, delta(delta={"type": "signature_delta", "signature": block["signature"]}))
        texts, is_whole = _pieces(writing, generated) if generated.is_call else (generated.texts if type_ else (), True)
        tokens = (int(generated.is_call), *(0,) * (len(opening) - 1))
        yield FrameBatch(opening, (generated.step,) * len(opening), tokens)
        data = {"type": "content_block_delta", "index": index, "delta": {"type": type_, name: SLOT}}
        before, after = template(data, lambda value: b"event: content_block_delta\ndata: " + orjson.dumps(value))
        for start in range(0, len(texts), RUN_LENGTH):
            pieces = [json_texts[text] + closed(after) for text in texts[start : start + RUN_LENGTH]]
            steps = range(generated.first + start, generated.first + start + len(pieces))
            yield FrameBatch(TemplatedFrames(before, pieces, b""), steps, (1,) * len(pieces))
        untold = len(generated.texts) - len(texts)
        if is_whole:
            yield FrameBatch(closing, (generated.last,) * len(closing), (*(0,) * (len(closing) - 1), untold))
        else:
            # Nothing ends a call that a limit has cut short.
            left = untold
    ended, usage = ordered(flavour.ending, {**flavour.around(writing), **ending}), flavour.usage(writing, "end")
    last = (event("message_delta", delta=ended, usage=usage), event("message_stop"))
    yield FrameBatch(last, (writing.generation.last_step,) * len(last), (left, 0))


# --- inputs of calls that are cut short: what Anthropic keeps of them (recorded in September 2026) -------------------

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>")?|[{}\[\]:,]|[^\s{}\[\]:,"]++')
# An escape that is itself cut short.
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_ENDS = {"{": "}", "[": "]"}


def kept_input(text: str, closes: bool) -> str:
    """The beginning of a JSON object, up to the last of its properties that is complete.

    If it `closes`, then the string that is being written ends where the text does, and so do the lists and objects
    around it: a stop sequence has such an end, which a limit of tokens has not.
    """
    end, open_, before = 0, list[str](), ""
    for token in _TOKEN.finditer(text):
        said, is_value = token[0], before == ":" or (before in ("[", ",") and open_[-1:] == ["["])
        if said in _ENDS:
            open_.append(said)
        elif said in ("}", "]"):
            del open_[-1:]
        elif said[0] == '"' and not token["end"]:
            return _closed(text, open_) if closes and is_value else _object(text[:end], closes)
        # Of a number, and of a word, nobody knows that it is complete unless something follows.
        follows = said in ("}", "]") or (is_value and said not in _ENDS and (said[0] == '"' or token.end() < len(text)))
        if follows and open_ in (["{"], []):
            end = token.end()
        before = said
    return text if end and not open_ else _object(text[:end], closes)


def _object(properties: str, closes: bool) -> str:
    return f"{properties or '{'}}}" if closes else properties


def _closed(text: str, open_: Sequence[str]) -> str:
    cut = _ESCAPE.search(text)
    return (text[: cut.start("cut")] if cut else text) + '"' + "".join(_ENDS[each] for each in reversed(open_))


def _divided(text: str, texts: Sequence[str]) -> Iterator[str]:
    """A text that begins as `texts` do, divided where these are; the last piece has what is added to them."""
    place = 0
    for index, given in enumerate(texts, 1):
        end = place + len(given) if index < len(texts) else len(text)
        if place < len(text):
            yield text[place:end]
        place = end
