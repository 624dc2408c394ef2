"""Which Messages are refused though they keep to the contract (facts A4, A10): fields that exclude each other, schemas
that no answer could conform to, conversations that no model could go on with, and media for what they hold.
`contract/refusals.json` has the words."""

from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

from mockserver.core.failures import Refusal
from mockserver.dialects.anthropic.errors import WORDS, refused
from mockserver.dialects.anthropic.models import ClaudeFamily
from mockserver.dialects.messages import CacheMark, answer_format, blocks_of
from mockserver.dialects.openai.read import Body, image_size, parameters_fault
from mockserver.model.schema import schema_fault, subschemas


def faults(body: Body, marks: Sequence[CacheMark], family: ClaudeFamily) -> Iterator[Refusal]:
    """Why a body is refused, in the order in which the service finds out."""
    yield from _field_faults(body, marks)
    for find in (_said_faults, _citation_faults, _media_faults):
        yield from find(body)
    yield from _turn_faults(body, family)
    types = (str(tool.get("type")) for tool in body.get("tools") or ())
    if body.get("container") is not None and not any("code_execution" in type_ for type_ in types):
        yield refused("container")


def _schema_of(tool: Body) -> Body:
    """The schema of a tool's input; the vendor's own tools have none."""
    schema = tool.get("input_schema")
    return schema if isinstance(schema, Mapping) else {}


def _tool_faults(tools: Sequence[Body], choice: Body | None) -> Iterator[Refusal]:
    """Tools that are not told apart or that no call could fit, and the choice of one that is not there."""
    names = [tool.get("name") for tool in tools]
    if choice and choice["type"] == "tool" and choice["name"] not in names:
        yield refused("unknown_tool", name=choice["name"])
    if len({*names}) < len(names):
        yield refused("equal_names")
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield refused("all_deferred")
    for number, tool in enumerate(tools):
        schema = _schema_of(tool)
        if schema.keys() & {"oneOf", "allOf", "anyOf"}:
            yield refused("tool_combined", number=number)
        fault = _strict_fault(schema) if schema and tool.get("strict") else None
        if fault is not None:
            yield refused("tool_not_strict", number=number, fault=fault)
        if parameters_fault({"parameters": schema}) is not None:
            yield refused("tool_schema", number=number)


def _field_faults(body: Body, marks: Sequence[CacheMark]) -> Iterator[Refusal]:
    """Fields that exclude each other, and schemas that no answer could be made to conform to."""
    tools, choice, form = body.get("tools") or (), body.get("tool_choice"), answer_format(body)
    yield from _tool_faults(tools, choice)
    budget, most = (body.get("thinking") or {}).get("budget_tokens"), body.get("max_tokens")
    if budget is not None and most is not None and budget >= most:
        yield refused("budget")
    if most == 0:
        # Such a request does no more than fill the cache.
        forced = choice is not None and choice["type"] in ("any", "tool")
        excluded = {"stream": body.get("stream"), "output_config.format": form, "tool_choice": forced}
        yield from (refused("nothing_said", name=name) for name, given in excluded.items() if given)
    if form is not None:
        fault = _strict_fault(form["schema"]) or schema_fault(form["schema"])
        if fault is not None:
            yield refused("format_schema", fault=fault)
    strict = [schema for tool in tools if tool.get("strict") and (schema := _schema_of(tool))]
    fault = _limits_fault(strict, form and form["schema"])
    if fault is not None:
        yield refused("strict_limits", fault=fault)
    if len(marks) > 4:
        yield refused("marks", found=len(marks))
    for before, mark in pairwise(marks):
        if mark.hour and not before.hour:
            yield refused("mark_order", path=".".join(map(str, mark.path)))


def _said_faults(body: Body) -> Iterator[Refusal]:
    """Contents without any text to read, and system messages that are out of place."""
    messages, system = body["messages"], body.get("system")
    if isinstance(system, list):
        yield from _text_faults("system", system, "system.{}")
    for number, message in enumerate(messages):
        if message["role"] != "system":
            yield from _text_faults("messages", message["content"], f"messages.{number}.content.{{}}.text")
        elif message["content"] or not message.get("output_config"):
            yield from _system_faults(messages, number)


def _citation_faults(body: Body) -> Iterator[Refusal]:
    """Sources of which a message cites some alone, or whose citations an answer in a format could not have; results
    that have others beside sources, or refer to tools that nobody has defined (measured in August 2026)."""
    cited, names = set[bool](), {tool.get("name") for tool in body.get("tools") or ()}
    for number, message in enumerate(body["messages"]):
        path, blocks = f"messages.{number}.content", message["content"]
        if isinstance(blocks, str):
            continue
        for place, block in enumerate(blocks):
            held = blocks_of(block.get("content")) if block["type"] == "tool_result" else ()
            referred = [inner["tool_name"] for inner in held if inner["type"] == "tool_reference"]
            yield from (refused("unknown_reference", name=name) for name in referred if name not in names)
            kinds = {inner["type"] for inner in held}
            if "search_result" in kinds and len(kinds) > 1:
                yield refused("mixed_result", path=f"{path}.{place}.tool_result")
        for kind in ("document", "search_result"):
            found = {bool((block.get("citations") or {}).get("enabled")) for block in blocks if block["type"] == kind}
            if len(found) > 1:
                yield refused("mixed_citations", path=path, kind=kind)
            cited |= found
    if True in cited and answer_format(body) is not None:
        yield refused("format_citations")


def _text_faults(field: str, content: object, path: str) -> Iterator[Refusal]:
    """No text may be empty; whitespace is let pass beside anything else (measured in April 2026)."""
    blocks = blocks_of(content)
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if "" in texts:
        marked = (place for place, block in enumerate(blocks) if block.get("text") == "" and block.get("cache_control"))
        yield from (refused("mark_empty", path=path.format(place)) for place in marked)
        yield refused("text_empty", field=field)
    if texts and len(texts) == len(blocks) and not "".join(texts).strip():
        yield refused("text_blank", field=field)


def _system_faults(messages: Sequence[Body], number: int) -> Iterator[Refusal]:
    """A system message stands, alone or among others, after the user's, and before the assistant's or at the end."""
    path, content = f"messages.{number}", messages[number]["content"]
    blocks = blocks_of(content)
    if not content:
        yield refused("system_empty", path=path)
    if any(block["type"] not in ("text", "tool_addition", "tool_removal") for block in blocks):
        yield refused("system_blocks", path=path)
    before = messages[number - 1]
    # What a tool of the vendor's own has found.
    found = any(block["type"].endswith("_tool_result") for block in blocks_of(before["content"])[-1:])
    if number == 0:
        yield refused("system_first", path=path)
    elif before["role"] == "assistant" and not found:
        yield refused("system_after", path=path)
    if number + 1 < len(messages) and messages[number + 1]["role"] == "user":
        yield refused("system_before", path=path)
    if not all(block["text"].strip() for block in blocks if block["type"] == "text"):
        yield refused("system_blank", path=path)


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
        for place, block in enumerate(blocks_of(message["content"])):
            turns[-1].blocks[f"messages.{number}.content.{place}"] = block
    return turns


def _turn_faults(body: Body, family: ClaudeFamily) -> Iterator[Refusal]:
    """Turns that are empty, calls of tools without a result each in the next turn, and ends that cannot be gone on
    with."""
    turns, known, called = _turns_of(body["messages"]), set[str](), set[str]()
    for turn, after in zip(turns, (*turns[1:], None), strict=True):
        # Newer models take no notice of an assistant that says nothing (measured in September 2026).
        if not turn.blocks and (turn.role == "user" or (after is not None and family.prefilled)):
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
    yield from _end_faults(turns, body, family)


def _end_faults(turns: Sequence[Turn], body: Body, family: ClaudeFamily) -> Iterator[Refusal]:
    """Answers that are begun where none may be, and results of a call that no thoughts have led to."""
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


# --- images and documents, refused for what they hold (recorded in 2026) -----------------------------------------

# The most characters of an image, the longest side of one, how many are many, and the longest side of one of these.
_MOST_CHARACTERS, _LONGEST_SIDE, _MANY_IMAGES, _LONGEST_OF_MANY = 10_485_760, 8_000, 20, 2_000
_STARTS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def _media_faults(body: Body) -> Iterator[Refusal]:
    """Why the images and documents of a conversation are refused."""
    said = enumerate(body["messages"])
    found = [medium for number, each in said for medium in _media(each["content"], f"messages.{number}.content")]
    many = [block["type"] for _, block in found].count("image") > _MANY_IMAGES
    for path, block in found:
        source = block["source"]
        if source.get("type") == "base64":
            name = _image_fault(source, many) if block["type"] == "image" else _pdf_fault(source)
            most = _LONGEST_OF_MANY if many else _LONGEST_SIDE
            facts = {"found": len(source["data"]), "type": source["media_type"], "most": most}
            yield from [refused(name, path=path, which=" for many-image requests" * many, **facts)] if name else ()


def _media(content: object, path: str) -> Iterator[tuple[str, Body]]:
    """The images and documents in a content, by their paths."""
    for place, block in enumerate(blocks_of(content)):
        if block["type"] == "tool_result":
            yield from _media(block.get("content"), f"{path}.{place}.tool_result.content")
        elif block["type"] in ("image", "document"):
            yield f"{path}.{place}", block


def _image_fault(source: Body, many: bool) -> str | None:
    data = source["data"]
    decoded = _decoded(data)
    start = decoded or b""
    is_webp = start[:4] == b"RIFF" and start[8:12] == b"WEBP"
    found = next((type_ for begins, type_ in _STARTS.items() if start.startswith(begins)), is_webp and "image/webp")
    faults = {
        "image_empty": not data,
        "image_large": len(data) > _MOST_CHARACTERS,
        "image_encoding": decoded is None,
        "image_unknown": not found,
        "image_type": found != source["media_type"],
        "image_sides": max(image_size(f"data:;base64,{data}") or (0,)) > (_LONGEST_OF_MANY if many else _LONGEST_SIDE),
    }
    return next((name for name, holds in faults.items() if holds), None)


def _pdf_fault(source: Body) -> str | None:
    if not source["data"]:
        return "pdf_empty"
    return None if b"%PDF" in (_decoded(source["data"]) or b"")[:1_024] else "pdf_invalid"


def _decoded(data: str) -> bytes | None:
    """What a text in base64 stands for, though it may lack its padding or be divided into lines."""
    text = "".join(data.split()).rstrip("=")
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None


# --- schemas of strict tools and of formats ----------------------------------------------------------------------

# The service makes a grammar of them: what it does not support, and its limits, in its words (recorded and measured by
# public projects from April to October 2026).
_STRICT_WORDS: Mapping[str, str] = WORDS["strict"]
# Keywords without a meaning for the grammar, those that stand beside them in a choice, those that are not supported for
# values of a type (in the order in which they are named), formats of texts, and limits.
_GRAMMAR = WORDS["grammar"]
_ANNOTATIONS = frozenset(_GRAMMAR["annotations"])
_BESIDE_CHOICES = _ANNOTATIONS.union(_GRAMMAR["beside choices"])


def _strict_fault(schema: Body) -> str | None:
    """What of a schema is not supported; None if all is."""
    parts = [*subschemas(schema)]
    return next(filter(None, map(_part_fault, parts)), None) or _circle_fault(schema, parts)


def _limits_fault(tools: Sequence[Body], form: Body | None) -> str | None:
    """Which limit the schemas of strict tools and of a format exceed together."""
    parts = [part for schema in (*tools, *([form] if form is not None else [])) for part in subschemas(schema)]
    named = [part for part in parts if isinstance(part.get("properties"), Mapping)]
    found = {
        "tools": len(tools),
        "optional": sum(len(part["properties"].keys() - _names(part.get("required"))) for part in named),
        "unions": sum(isinstance(part.get("type"), list) or "anyOf" in part for part in parts),
    }
    exceeded = ((name, most) for name, most in _GRAMMAR["most"].items() if found[name] > most)
    return next((_STRICT_WORDS[name].format(found=found[name], most=most) for name, most in exceeded), None)


def _part_fault(part: Body) -> str | None:
    """What a schema says itself that is not supported; its inner schemas are looked at on their own."""
    types, form = part.get("type"), part.get("format")
    kind = next((each for each in _names(types if isinstance(types, list) else [types]) if each != "null"), "")
    properties = part.get("properties") if kind == "object" else None
    beside = sorted(part.keys() - _BESIDE_CHOICES) if part.keys() & {"anyOf", "allOf"} else []
    extra = [word for word in _GRAMMAR["unsupported"].get(kind, ()) if word in part]
    faults = {
        "empty": not part.keys() - _ANNOTATIONS,
        "oneOf": "oneOf" in part,
        "not": "not" in part,
        "beside": beside,
        "enum": part.get("enum") == [],
        "keyword": len(extra) == 1,
        "keywords": extra,
        "open": kind == "object" and part.get("additionalProperties") is not False,
        "boolean": isinstance(properties, Mapping) and any(isinstance(each, bool) for each in properties.values()),
        "tuple": kind == "array" and isinstance(part.get("items"), list),
        "least_items": kind == "array" and part.get("minItems") not in (None, 0, 1),
        "format": kind == "string" and isinstance(form, str) and form not in _GRAMMAR["formats"],
    }
    words = next((_STRICT_WORDS[name] for name, holds in faults.items() if holds), "")
    return words.format(type=kind, names=", ".join(beside or extra), name=form) or None


def _circle_fault(schema: Body, parts: Sequence[Body]) -> str | None:
    """That definitions refer to themselves, or to each other in a circle."""
    held = [each for key in ("definitions", "$defs") if isinstance(each := schema.get(key), Mapping)]
    named = {name: each for definitions in held for name, each in definitions.items() if isinstance(each, Mapping)}
    refers = {name: _referred(subschemas(each)) for name, each in named.items()}
    try:
        TopologicalSorter({"#": _referred(parts), **refers}).prepare()
    except CycleError as error:
        return _STRICT_WORDS["circle"].format(names=" -> ".join(reversed(error.args[1])))
    return None


def _referred(parts: Sequence[Body] | Iterator[Body]) -> list[str]:
    """The names of the definitions that schemas refer to, `#` for the whole."""
    found = [ref for part in parts if isinstance(ref := part.get("$ref"), str)]
    return [ref.rpartition("/")[2] for ref in found if ref == "#" or ref.startswith(("#/$defs/", "#/definitions/"))]


def _names(found: object) -> list[str]:
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
