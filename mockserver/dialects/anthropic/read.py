"""`POST /v1/messages` and `/v1/messages/count_tokens`: requests (facts A2, A3), what the model reads of their blocks
(A5), which counts tokens (A14), and which are refused (A4, A10): bodies that break the contract, or ask for what a
version of the API or a family of models does not support (`contract/support.json`), fields that exclude each other, and
conversations that no model could go on with. `contract/refusals.json` has the words.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Cacheable, Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.core.timeline import Reply
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
    parameters_fault,
    sampling,
    tool_choice,
    whole,
    with_media,
)
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.openai.responses.items import Thoughts
from mockserver.model.schema import schema_fault, subschemas

# Whoever sends this gets thoughts that are encrypted (the vendor's page on extended thinking).
_REDACT = (
    "ANTHROPIC_MAGIC_STRING_TRIGGER_REDACTED_THINKING_46C9A13E193C177646C7398A98432ECCCE4C1253D5E2D82641AC0E52CC2876CB"
)
# What counts tokens beside the texts: tools of any number, a call that is forced, a schema, thinking, a document whose
# pages are not read; an image has so many pixels for each token, if their number is unknown those of a square.
_TOOLS, _FORCED, _SCHEMA, _THINKING, _DOCUMENT, _PIXELS, _SIDES = 430, 100, 190, 20, 1_500, 750, (1_092, 1_092)


class CacheMark(NamedTuple):
    """A mark of a prompt's caching: where its block is, and whether the beginning up to there is to be kept for an hour
    rather than for five minutes."""

    path: tuple[str | int, ...]
    hour: bool


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
    of_betas = () if call.headers.get("anthropic-beta") else WORDS["unknown"]["without betas"]
    unknown = {*WORDS["unknown"][version], *of_betas}
    # Whatever is wrong with the value of an unknown field, the vendor only looks at its name.
    known = {name: value for name, value in body.items() if name not in unknown}
    refusal = _broken(known, "anthropic", schema) or _broken(known, "support", version)
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
    family, marks = family_of(model.id), [*_cache_marks(body)]
    faults = chain(_field_faults(body, marks), _turn_faults(body, family))
    refusal = _broken(body, "support", family.supports) or next(faults, None)
    return refusal or message_request(body, model.id, family, min(model.context, family.context), marks)


def count_tokens(call: Call, scope: RequestScope) -> Reply | Refusal:
    """How many tokens the prompt of a request has."""
    request = read_message(call, scope, "CountTokensRequest")
    return request if isinstance(request, Refusal) else body_reply({"input_tokens": request.prompt_tokens})


def message_request(
    body: Body, model: str, family: ClaudeFamily, context: int, marks: Sequence[CacheMark] = ()
) -> GenerationRequest | Refusal:
    """A valid body as a request to a model of a family with a context of so many tokens; the beginning of its prompt up
    to the last of the marks may be cached."""
    form, tools, choice = _answer_format(body), body.get("tools") or (), body.get("tool_choice") or {"type": "auto"}
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


def _answer_format(body: Body) -> Body | None:
    """The format of the answer, in today's field or in that of a beta; None if any text will do."""
    return (body.get("output_config") or {}).get("format") or body.get("output_format")


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
        found.append({"role": "system", "content": _text(_blocks(body["system"]))})
    for message in body["messages"]:
        if isinstance(message["content"], str):
            found.append({"role": message["role"], "content": message["content"]})
            continue
        blocks = _blocks(message["content"])
        results = [
            {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _text(_blocks(block.get("content")))}
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


def _blocks(content: object) -> Sequence[Body]:
    """The blocks of a content; a text stands for one, unless it is empty."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else ()


def _text(blocks: Sequence[Body]) -> str:
    """What blocks say, documents included; of earlier thoughts and of the vendor's own tools nothing."""
    said = []
    for block in blocks:
        source = block.get("source")
        if block["type"] == "text":
            said.append(block["text"])
        elif block["type"] == "search_result":
            said.append(f"{block['title']}\n{_text(_blocks(block['content']))}\n")
        elif block["type"] == "document" and isinstance(source, Mapping) and source["type"] in ("text", "content"):
            text = source.get("data") or _text(_blocks(source.get("content")))
            said.append(f"{block.get('title') or ''}\n{text}\n")
    return "".join(said)


def _media(blocks: Sequence[Body], most: int) -> Iterator[tuple[str, str, int]]:
    """The images, and the documents that are no text, with the tokens that they count."""
    for block in blocks:
        kind, source = block["type"], block.get("source")
        if kind == "tool_result":
            yield from _media(_blocks(block.get("content")), most)
        elif kind in ("image", "document") and isinstance(source, Mapping):
            yield from _media(_blocks(source.get("content")), most)
            place = next((str(source[key]) for key in ("data", "url", "file_id") if source.get(key)), "")
            if kind == "image":
                width, height = image_size(f"data:;base64,{place}" if "data" in source else place) or _SIDES
                yield kind, place, min(-(-width * height // _PIXELS), most)
            elif source["type"] not in ("text", "content"):
                yield kind, place, _DOCUMENT


# --- refusals ---------------------------------------------------------------------------------------------------

# Violations with words of their own, by their paths and rules; the others are told as pydantic does.
_WORDINGS = {file: [(re.compile(path), *told) for path, *told in rows] for file, rows in WORDS["violations"].items()}
# Whose members are told apart by a type, which paths name beside: those of lists, and these.
_UNIONS = ("thinking", "tool_choice", "source")


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
        if after != "type" and (isinstance(step, int) or step in _UNIONS) and isinstance(value, Mapping):
            tag = value.get("type") or ("custom" if path[0] == "tools" else None)
            names += [tag] if isinstance(tag, str) else []
    return ".".join(names)


def _cache_marks(body: Body) -> Iterator[CacheMark]:
    """The marks in the order of the prompt, the automatic one last."""
    placed: dict[tuple[str | int, ...], Any] = {("tools",): body.get("tools"), ("system",): body.get("system")}
    placed |= {("messages", number, "content"): each["content"] for number, each in enumerate(body["messages"])}
    for path, blocks in placed.items():
        for place, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if block.get("cache_control"):
                yield CacheMark((*path, place, "cache_control"), block["cache_control"].get("ttl") == "1h")
    if body.get("cache_control"):
        yield CacheMark(("cache_control",), body["cache_control"].get("ttl") == "1h")


def _field_faults(body: Body, marks: Sequence[CacheMark]) -> Iterator[Refusal]:
    """Fields that exclude each other, and schemas that no answer could be made to conform to."""
    tools, choice = body.get("tools") or (), body.get("tool_choice")
    form, names = _answer_format(body), [tool.get("name") for tool in tools]
    if choice and choice["type"] == "tool" and choice["name"] not in names:
        yield refused("unknown_tool", name=choice["name"])
    if len({*names}) < len(names):
        yield refused("equal_names")
    for number, tool in enumerate(tools):
        # The vendor's own tools have none.
        schema = tool["input_schema"] if isinstance(tool.get("input_schema"), Mapping) else {}
        fault = _strict_fault(schema) if tool.get("strict") else None
        if fault is not None:
            yield refused("tool_not_strict", number=number, fault=fault.message)
        if parameters_fault({"parameters": schema}) is not None:
            yield refused("tool_schema", number=number)
    budget, most = (body.get("thinking") or {}).get("budget_tokens"), body.get("max_tokens")
    if budget is not None and most is not None and budget >= most:
        yield refused("budget")
    if form is not None:
        fault = _strict_fault(form["schema"])
        said = schema_fault(form["schema"]) if fault is None else fault.message
        if said is not None:
            yield refused("format_schema", fault=said)
    if len(marks) > 4:
        yield refused("marks", found=len(marks))
    for before, mark in pairwise(marks):
        if mark.hour and not before.hour:
            yield refused("mark_order", path=".".join(map(str, mark.path)))
    for number, (message, after) in enumerate(pairwise(body["messages"])):
        directive = not message["content"] and message.get("output_config")
        if message["role"] == "system" and after["role"] == "user" and not directive:
            yield refused("system_place", path=f"messages.{number}")


def _strict_fault(schema: Body) -> Refusal | None:
    found = (_broken(part, "support", "StrictSchema") for part in subschemas(schema))
    return next(filter(None, found), None)


class Turn(NamedTuple):
    """What one side says before the other does: the path of its first message, and its blocks by their paths."""

    role: str
    path: str
    blocks: dict[str, Body]


def _turns_of(messages: Sequence[Body]) -> list[Turn]:
    """The turns of a conversation, without its system messages."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if not turns or turns[-1].role != message["role"]:
            turns.append(Turn(message["role"], f"messages.{number}", {}))
        for place, block in enumerate(_blocks(message["content"])):
            turns[-1].blocks[f"messages.{number}.content.{place}"] = block
    return turns


def _turn_faults(body: Body, family: ClaudeFamily) -> Iterator[Refusal]:
    """Turns that are empty, calls of tools without a result each in the next turn, and what cannot be gone on with."""
    turns, known, called = _turns_of(body["messages"]), set[str](), set[str]()
    for turn, after in zip(turns, (*turns[1:], None), strict=True):
        if not turn.blocks and (turn.role == "user" or after is not None):
            yield refused(f"{turn.role}_empty", path=turn.path)
        calls, answered = dict[str, str](), set[str]()
        for path, block in turn.blocks.items():
            if block["type"] == "tool_use":
                if block["id"] in known:
                    yield refused("equal_ids", path=path)
                known.add(block["id"])
                calls[block["id"]] = path.partition(".content")[0]
            elif block["type"] == "tool_result":
                id_ = block["tool_use_id"]
                if id_ not in called or id_ in answered:
                    yield refused("doubled_result" if id_ in answered else "orphaned_result", path=path, id=id_)
                answered.add(id_)
        if calls:
            results = after.blocks.values() if after is not None else ()
            found = {block["tool_use_id"] for block in results if block["type"] == "tool_result"}
            missing = [id_ for id_ in calls if id_ not in found]
            if missing:
                yield refused("missing_result", path=calls[missing[0]], ids=", ".join(missing))
        called = {*calls}
    *_, before, last = Turn("", "", {}), Turn("", "", {}), *turns
    said = [*last.blocks.values()]
    if last.role == "assistant" and said and said[-1]["type"] == "text":
        if not family.prefilled:
            yield refused("prefill")
        if said[-1]["text"] != said[-1]["text"].rstrip():
            yield refused("prefill_blank")
    if (body.get("thinking") or {}).get("type") == "enabled" and any(block["type"] == "tool_result" for block in said):
        path, first = next(iter(before.blocks.items()))
        if first["type"] not in ("thinking", "redacted_thinking"):
            yield refused("thought_missing", path=path, kind=first["type"])
