"""What a request for a message asks of a model (facts A3, A5), and which tokens it counts (A14)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Cacheable, Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.dialects.openai.models import EFFORTS
from mockserver.dialects.openai.read import (
    Body,
    chat_prompt,
    function_tool,
    image_size,
    sampling,
    tool_choice,
    whole,
    with_media,
)
from mockserver.dialects.openai.replies import Thoughts

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
