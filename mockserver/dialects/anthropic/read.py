"""`POST /v1/messages` and `/v1/messages/count_tokens`: requests (facts A2, A3), and what the model reads of their
blocks (A5), which counts tokens (A14)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Cacheable, Constraint, GenerationRequest, Limits, Output, Prompt, Stops
from mockserver.core.timeline import Reply
from mockserver.dialects.anthropic.checks import answer_format, blocks_of, broken, cache_marks, conflict, thinks
from mockserver.dialects.anthropic.errors import WORDS, betas, headers_fault, refused
from mockserver.dialects.anthropic.models import ClaudeFamily, family_of
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.families import EFFORTS
from mockserver.dialects.openai.fields import Body, json_object, sampling, whole
from mockserver.dialects.openai.images import image_size
from mockserver.dialects.openai.messages import chat_prompt, with_media
from mockserver.dialects.openai.responses.generated_items import Thoughts
from mockserver.dialects.openai.tools import function_tool, tool_choice

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


def read_message(call: Call, scope: RequestScope, schema: str = "MessageRequest") -> GenerationRequest | Refusal:
    """The request, or why Anthropic refuses it: headers, form, fields, model, what they exclude, length."""
    body = headers_fault(call) or json_object(call.body)
    if isinstance(body, Refusal):
        return body
    version = call.headers["anthropic-version"]
    unknown = {*WORDS["unknown"][version], *(() if betas(call) else WORDS["unknown"]["without betas"])}
    # Whatever is wrong with the value of an unknown field, the vendor only looks at its name.
    known = {name: value for name, value in body.items() if name not in unknown}
    refusal = broken(known, "anthropic", schema) or broken(known, "support", version)
    if refusal is not None:
        return refusal
    if len(known) < len(body):
        return refused("extra", name=min(body.keys() & unknown))
    if body.get("thread") is not None:
        # The SDK's loop of tools goes on without threads when it is told so.
        return refused("thread")._replace(code="thread_unsupported_request")
    model = scope.model(body["model"])
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, model=body["model"])
    family = family_of(model.id)
    return conflict(body, family) or message_request(body, model.id, family, min(model.context, family.context))


def count_tokens(call: Call, scope: RequestScope) -> Reply | Refusal:
    """How many tokens the prompt of a request has."""
    request = read_message(call, scope, "CountTokensRequest")
    return request if isinstance(request, Refusal) else body_reply({"input_tokens": request.prompt_tokens})


def message_request(body: Body, model: str, family: ClaudeFamily, context: int) -> GenerationRequest | Refusal:
    """A valid body as a request to a model of a family with a context of so many tokens."""
    prompt, marks = _prompt(body, family), [*cache_marks(body)]
    if prompt.token_count > context:
        return refused("prompt_too_long", found=prompt.token_count, most=context)
    thinking, thinking_asked = body.get("thinking") or {}, thinks(body)
    most, budget, display = whole(body.get("max_tokens")), whole(thinking.get("budget_tokens")), thinking.get("display")
    form, choice = answer_format(body), body.get("tool_choice") or {"type": "auto"}
    kind, modes = choice["type"], {"any": "required", "tool": {"type": "function", "function": choice}}
    own = [tool for tool in body.get("tools") or () if tool.get("type") in (None, "", "custom")]
    effort = (body.get("output_config") or {}).get("effort") or "medium"
    shown = thinking_asked and (family.shown if display is None else display != "omitted")
    thoughts: Thoughts = "thought" if shown else "hidden"
    kept = 3_600 if marks and marks[-1].hour else 300
    return GenerationRequest(
        model=model,
        prompts=(prompt,),
        output=Output(stream=bool(body.get("stream")), reasoning=shown),
        limits=Limits(most, context=context),
        stops=Stops(tuple(body.get("stop_sequences") or ())),
        sampling=sampling(body)._replace(top_k=int(body.get("top_k") or 0)),
        constraint=None if form is None else Constraint("json_schema", form["schema"]),
        tools=tuple(function_tool({**tool, "parameters": tool.get("input_schema")}) for tool in own),
        tool_choice=tool_choice(modes.get(kind, kind), parallel=not choice.get("disable_parallel_tool_use")),
        effort=EFFORTS.get(effort) if thinking_asked else None,
        # An adaptive model thinks no longer than leaves room for its answer.
        budget=budget if budget is not None or most is None else most // 2,
        cacheable=Cacheable(_marked(body, marks[-1].path), family.cached, kept) if marks else None,
        extra=MessageOptions(thoughts if thinking_asked else None, _REDACT in prompt.text),
    )


def _prompt(body: Body, family: ClaudeFamily) -> Prompt:
    prompt = chat_prompt(_chat(body), body.get("tools"))
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    fixed = _TOOLS + _FORCED * forced if body.get("tools") else 0
    fixed += _SCHEMA * (answer_format(body) is not None) + _THINKING * thinks(body)
    media = [each for message in body["messages"] for each in _media(blocks_of(message["content"]), family.pixels)]
    return with_media(prompt._replace(token_count=prompt.token_count + fixed), media)


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
