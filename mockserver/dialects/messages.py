"""The wire of Anthropic's Messages API, which others speak too (facts A3 to A9, A14): what a request for a message asks
of a model, and answers, as one body or as a stream of events.

An answer is a list of content blocks. Each is written whole in a body; in a stream by an event that starts it, a delta
for each of its tokens, and one that stops it. A `MessageFlavour` states what vendors form in ways of their own.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import (
    Cacheable,
    Choice,
    Constraint,
    Generation,
    GenerationRequest,
    Limits,
    Output,
    Stops,
)
from mockserver.core.http import OPENING, RUN_LENGTH, FrameBatch, LazyFrames, Reply, TemplatedFrames, TokenTiming
from mockserver.core.json_values import kept_object
from mockserver.core.seeding import Draws, derive, hex_digits
from mockserver.dialects.openai.models import EFFORTS
from mockserver.dialects.openai.read import (
    Body,
    chat_prompt,
    function_tool,
    image_size,
    json_object,
    sampling,
    tool_choice,
    whole,
    with_media,
)
from mockserver.dialects.openai.replies import (
    EVENT_STREAM,
    SLOT,
    GeneratedItem,
    Members,
    Thoughts,
    body_reply,
    generated_items,
    ordered,
)
from mockserver.dialects.openai.streams import at_step, json_texts, template

# Whoever sends this gets thoughts that are encrypted (the vendor's page on extended thinking).
_REDACT = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)
# What counts tokens beside the texts: tools of any number, a call that is forced, a schema, thinking, a document whose
# pages are not read; an image has so many pixels for each token, if their number is unknown those of a square.
_TOOLS, _FORCED, _SCHEMA, _THINKING, _DOCUMENT, _PIXELS, _SIDES = 430, 100, 190, 20, 1_500, 750, (1_092, 1_092)


class MessageOptions(NamedTuple):
    """What only the writer needs of a request: how its thoughts are shown (None: it has none), and whether they are
    encrypted."""

    thoughts: Thoughts | None = None
    redacted: bool = False


class CacheMark(NamedTuple):
    """A mark of a prompt's caching: where its block is, and whether the beginning up to there is to be kept for an hour
    rather than for five minutes."""

    path: tuple[str | int, ...]
    hour: bool


def answer_format(body: Body) -> Body | None:
    """The format of the answer, in today's field or in that of a beta; None if any text will do."""
    return (body.get("output_config") or {}).get("format") or body.get("output_format")


def blocks_of(content: object) -> Sequence[Body]:
    """The blocks of a content; a text stands for one, unless it is empty."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else ()


def cache_marks(body: Body) -> Iterator[CacheMark]:
    """The marks in the order of the prompt, the automatic one last."""
    placed: dict[tuple[str | int, ...], Any] = {("tools",): body.get("tools"), ("system",): body.get("system")}
    placed |= {("messages", number, "content"): each["content"] for number, each in enumerate(body["messages"])}
    for path, blocks in placed.items():
        for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if block.get("cache_control"):
                yield CacheMark((*path, place, "cache_control"), block["cache_control"].get("ttl") == "1h")
    if body.get("cache_control"):
        yield CacheMark(("cache_control",), body["cache_control"].get("ttl") == "1h")


def message_request(
    body: Body,
    model: str,
    context: int,
    marks: Sequence[CacheMark] = (),
    *,
    shown: bool = True,
    cached: int = 1_024,
    pixels: int = 4_784,
) -> GenerationRequest | Refusal:
    """A valid body as a request to a model; the beginning of its prompt up to the last of the marks may be cached.

    The rest depends on the model: its context, in tokens; whether thoughts are `shown` unless a request says otherwise;
    how many tokens a beginning of a prompt has at least that is `cached`; the most tokens of an image (`pixels`).
    """
    form, tools, choice = answer_format(body), body.get("tools") or (), body.get("tool_choice") or {"type": "auto"}
    thinking, kind = body.get("thinking") or {}, choice["type"]
    thinks = thinking.get("type") in ("enabled", "adaptive")
    prompt = chat_prompt(_chat(body), tools)
    fixed = (_TOOLS + _FORCED * (kind in ("any", "tool")) if tools else 0) + _SCHEMA * (form is not None)
    media = [each for said in body["messages"] for each in _media(blocks_of(said["content"]), pixels)]
    prompt = with_media(prompt._replace(token_count=prompt.token_count + fixed + _THINKING * thinks), media)
    if prompt.token_count > context:
        message = f"prompt is too long: {prompt.token_count} tokens > {context} maximum"
        return Refusal(FailureKind.INVALID_REQUEST, message)
    most, budget, display = whole(body.get("max_tokens")), whole(thinking.get("budget_tokens")), thinking.get("display")
    modes = {"any": "required", "tool": {"type": "function", "function": choice}}
    own = [tool for tool in tools if tool.get("type") in (None, "", "custom")]
    effort = (body.get("output_config") or {}).get("effort") or "medium"
    thoughts_shown = thinks and (shown if display is None else display != "omitted")
    thoughts: Thoughts = "thought" if thoughts_shown else "hidden"
    kept = 3_600 if marks and marks[-1].hour else 300
    return GenerationRequest(
        model=model,
        prompts=(prompt,),
        output=Output(stream=bool(body.get("stream")), reasoning=thoughts_shown),
        limits=Limits(most, context=context),
        stops=Stops(tuple(body.get("stop_sequences") or ())),
        sampling=sampling(body)._replace(top_k=int(body.get("top_k") or 0)),
        constraint=None if form is None else Constraint("json_schema", form["schema"]),
        tools=tuple([function_tool({**tool, "parameters": tool.get("input_schema")}) for tool in own]),
        tool_choice=tool_choice(modes.get(kind, kind), parallel=not choice.get("disable_parallel_tool_use")),
        effort=EFFORTS.get(effort) if thinks else None,
        # An adaptive model thinks no longer than leaves room for its answer.
        budget=budget if budget is not None or most is None else most // 2,
        cacheable=Cacheable(_marked(body, marks[-1].path), cached, kept) if marks else None,
        extra=MessageOptions(thoughts if thinks else None, _REDACT in prompt.text),
    )


def _marked(body: Body, path: Sequence[str | int]) -> int:
    """How many characters of the prompt's text stand before the end of a block with a mark."""
    if path[0] == "tools":
        return 0
    if path[0] == "system":
        body = {"system": body["system"][: int(path[1]) + 1], "messages": ()}
    elif path[0] == "messages":
        number, place = int(path[1]), int(path[3])
        *before, last = body["messages"][: number + 1]
        body = {**body, "messages": [*before, {**last, "content": last["content"][: place + 1]}]}
    return len(chat_prompt(_chat(body)).text)


def _chat(body: Body) -> list[dict[str, Any]]:
    """The conversation as OpenAI's chats have it: results of tools are messages of their own."""
    found: list[dict[str, Any]] = []
    if body.get("system"):
        found.append({"role": "system", "content": _text(blocks_of(body["system"]))})
    for message in body["messages"]:
        if isinstance(message["content"], str):
            found.append({"role": message["role"], "content": message["content"]})
            continue
        blocks = blocks_of(message["content"])
        results = [
            {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _text(blocks_of(block.get("content")))}
            for block in blocks
            if block["type"] == "tool_result"
        ]
        calls = [
            {"id": block.get("id"), "function": {"name": block["name"], "arguments": block["input"]}}
            for block in blocks
            if block["type"] == "tool_use"
        ]
        text = _text(blocks)
        found += results
        if text or calls or not results:
            found.append({"role": message["role"], "content": text, **({"tool_calls": calls} if calls else {})})
    return found


def _text(blocks: Sequence[Body]) -> str:
    """What blocks say, documents included; of earlier thoughts and of the vendor's own tools nothing."""
    said = []
    for block in blocks:
        source = block.get("source")
        if block["type"] == "text":
            said.append(block["text"])
        elif block["type"] == "search_result":
            said.append(f"{block['title']}\n{_text(blocks_of(block['content']))}\n")
        elif block["type"] == "document" and isinstance(source, Mapping) and source["type"] in ("text", "content"):
            text = source.get("data") or _text(blocks_of(source.get("content")))
            said.append(f"{block.get('title') or ''}\n{text}\n")
    return "".join(said)


def _media(blocks: Sequence[Body], most: int) -> Iterator[tuple[str, str, int]]:
    """The images, and the documents that are no text, with the tokens that they count."""
    for block in blocks:
        kind, source = block["type"], block.get("source")
        if kind == "tool_result":
            yield from _media(blocks_of(block.get("content")), most)
        elif kind in ("image", "document") and isinstance(source, Mapping):
            yield from _media(blocks_of(source.get("content")), most)
            place = next((str(source[key]) for key in ("data", "url", "file_id") if source.get(key)), "")
            if kind == "image":
                width, height = image_size(f"data:;base64,{place}" if "data" in source else place) or _SIDES
                yield kind, place, min(-(-width * height // _PIXELS), most)
            elif source["type"] not in ("text", "content"):
                yield kind, place, _DOCUMENT


# --- answers -----------------------------------------------------------------------------------------------------

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
      a stop sequence has cut it, which has an end, unlike a limit of tokens (recorded in September 2026).
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
    return kept_object(call.text, closes=stop) if writing.flavour.tidies and is_cut else call.text


def _pieces(writing: Writing, call: GeneratedItem) -> tuple[Sequence[str], bool]:
    """The arguments of a call piece by piece, none of an empty object, and whether they are an object."""
    said, texts = _said(writing, call), call.texts
    if said == "{}" or said == call.text:
        return () if said == "{}" else texts, True
    # Divided as what was written; the last piece has what is added to it.
    ends = [*accumulate(map(len, texts))][:-1]
    pieces = [said[start:end] for start, end in pairwise((0, *ends, len(said))) if start < len(said)]
    return pieces, _input(said) is not None


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
