"""`POST /v1/messages` and `/v1/messages/count_tokens`: requests (facts A2, A3), what the model reads of their blocks
(A5), which counts tokens (A14), and which are refused (A4, A10): bodies that break the contract, or ask for what a
version of the API or a family of models does not support (`contract/support.json`). `contract/refusals.json` has the
words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Cacheable, Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.core.timeline import Reply
from mockserver.dialects.anthropic.checks import CacheMark, answer_format, blocks_of, cache_marks, faults
from mockserver.dialects.anthropic.errors import WORDS, headers_fault, refused
from mockserver.dialects.anthropic.models import ClaudeFamily, family_of
from mockserver.dialects.contracts import Contract, components, pydantic_words
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
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.openai.responses.items import Thoughts

# Whoever sends this gets thoughts that are encrypted (the vendor's page on extended thinking).
_REDACT = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)
# The beta that binds thoughts to their conversations.
_BINDING = "thinking-binding-controls"
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
        return _malformed(call.body) if body.kind is FailureKind.MALFORMED_JSON else body
    version = call.headers["anthropic-version"]
    betas = call.headers.get("anthropic-beta", "")
    unknown = {*WORDS["unknown"][version], *(() if betas else WORDS["unknown"]["without betas"])}
    # Whatever is wrong with the value of an unknown field, the vendor only looks at its name.
    known = {name: value for name, value in body.items() if name not in unknown}
    refusal = _broken(known, "anthropic", schema) or _broken(known, "support", version)
    refusal = refusal or (None if betas else _broken(known, "support", "NoBetas"))
    if refusal is not None:
        return refusal
    if len(known) < len(body):
        return refused("extra", name=min(body.keys() & unknown))
    thinking = body.get("thinking") or {}
    if thinking.get("block_binding") is not None and _BINDING not in betas:
        return refused("extra", name=f"thinking.{thinking['type']}.block_binding")
    if body.get("thread") is not None:
        # The SDK's loop of tools goes on without threads when it is told so.
        return refused("thread")._replace(code="thread_unsupported_request")
    model = scope.model(body["model"])
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, model=body["model"])
    family, marks = family_of(model.id), [*cache_marks(body)]
    refusal = _broken(body, "support", family.supports) or next(faults(body, marks, family), None)
    return refusal or message_request(body, model.id, family, min(model.context, family.context), marks)


def _malformed(body: bytes) -> Refusal:
    """Why a body is no JSON; the service reads it as we do, and tells its parser's words (users posted dozens)."""
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return refused("malformed", fault=str(error))._replace(kind=FailureKind.MALFORMED_JSON)
    return Refusal(FailureKind.MALFORMED_JSON)


def count_tokens(call: Call, scope: RequestScope) -> Reply | Refusal:
    """How many tokens the prompt of a request has."""
    request = read_message(call, scope, "CountTokensRequest")
    return request if isinstance(request, Refusal) else body_reply({"input_tokens": request.prompt_tokens})


def message_request(
    body: Body, model: str, family: ClaudeFamily, context: int, marks: Sequence[CacheMark] = ()
) -> GenerationRequest | Refusal:
    """A valid body as a request to a model of a family with a context of so many tokens; the beginning of its prompt up
    to the last of the marks may be cached."""
    form, tools, choice = answer_format(body), body.get("tools") or (), body.get("tool_choice") or {"type": "auto"}
    thinking, kind = body.get("thinking") or {}, choice["type"]
    thinks = thinking.get("type") in ("enabled", "adaptive")
    prompt = chat_prompt(_chat(body), tools)
    fixed = (_TOOLS + _FORCED * (kind in ("any", "tool")) if tools else 0) + _SCHEMA * (form is not None)
    said = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    media = [each for content in said for each in _media(content, family.pixels)]
    prompt = with_media(prompt._replace(token_count=prompt.token_count + fixed + _THINKING * thinks), media)
    if prompt.token_count > context:
        return refused("prompt_too_long", found=prompt.token_count, most=context)
    most, budget, display = whole(body.get("max_tokens")), whole(thinking.get("budget_tokens")), thinking.get("display")
    modes = {"any": "required", "tool": {"type": "function", "function": choice}}
    own = [tool for tool in tools if tool.get("type") in (None, "", "custom")]
    effort = (body.get("output_config") or {}).get("effort") or "medium"
    shown = thinks and (family.shown if display is None else display != "omitted")
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
        tools=tuple([function_tool({**tool, "parameters": tool.get("input_schema")}) for tool in own]),
        tool_choice=tool_choice(modes.get(kind, kind), parallel=not choice.get("disable_parallel_tool_use")),
        effort=EFFORTS.get(effort) if thinks else None,
        # An adaptive model thinks no longer than leaves room for its answer.
        budget=budget if budget is not None or most is None else most // 2,
        cacheable=Cacheable(_marked(body, marks[-1].path), family.cached, kept) if marks else None,
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


# --- refusals ---------------------------------------------------------------------------------------------------

# Violations with words of their own, by their paths and rules; the others are told as pydantic does.
_WORDINGS = {file: [(re.compile(path), *told) for path, *told in rows] for file, rows in WORDS["violations"].items()}
# Whose members are told apart by a type, which paths name beside: those of lists but `system`, and these.
_UNIONS = ("thinking", "tool_choice", "source", "cache_control")


def _broken(body: Body, file: str, schema: str) -> Refusal | None:
    """Why a body is refused that breaks a schema of `contract/<file>.json`; None if it keeps to it."""
    contract = _contract(file, schema)
    return None if contract.accepts(body) else _explained(body, contract.violations(body), file)


@cache
def _contract(file: str, schema: str) -> Contract:
    return Contract(components(__package__, file), schema)


def _explained(body: Body, violations: Sequence[Violation], file: str) -> Refusal:
    """The refusal for the first violation in the vendor's order of fields, which was measured; unknown fields come
    last."""
    known: list[object] = WORDS["order"]
    if not violations:
        # Two validators read the contract, and the strict one alone is asked for reasons.
        return Refusal(FailureKind.INVALID_REQUEST)
    v = min(violations, key=lambda each: known.index(each.path[0]) if each.path[:1] and each.path[0] in known else 99)
    # What kind of object it is comes before its other fields.
    v = next((each for each in violations if each.path and each.path == (*v.path[:-1], "type")), v)
    plain, said = ".".join(map(str, v.path)), (pydantic_words(v) or ("", "Invalid value"))[1]
    usual = "{path}: " + said.replace("a valid list", "a valid array").replace("a valid dictionary", "an object")
    words = next((words for path, rules, words in _WORDINGS[file] if v.rule in rules and path.fullmatch(plain)), usual)
    values = [f"{each}" for each in v.expected if each is not None] if isinstance(v.expected, list) else []
    facts = {
        "found": v.found,
        "expected": ", ".join(f"'{each}'" for each in values) or v.expected,
        "values": ", ".join(values),
        "model": body.get("model"),
        "type": body.get("type"),
        "path": _located(body, v.path),
        "parent": _located(body, v.path[:-1]),
        "message": _located(body, v.path[:2]),
    }
    message = re.sub(r"{(\w+)}", lambda name: str(facts[name[1]])[:1_000], words)
    return Refusal(FailureKind.INVALID_REQUEST, message, violations=tuple(violations))


def _located(body: Any, path: Sequence[str | int]) -> str:
    """A path as text, with the types of the blocks on the way, but for those of types themselves."""
    names, value = list[str](), body
    for step, after in zip(path, (*path[1:], "type"), strict=False):
        names.append(str(step))
        value = value.get(step) if isinstance(value, Mapping) else value[int(step)] if isinstance(value, list) else None
        tagged = step in _UNIONS or (isinstance(step, int) and path[0] != "system")
        if after != "type" and tagged and isinstance(value, Mapping):
            tag = value.get("type") or ("custom" if path[0] == "tools" else None)
            names += [tag] if isinstance(tag, str) else []
    return ".".join(names)
