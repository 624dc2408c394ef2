"""Requests that Anthropic refuses (facts A2 to A4, A10): bodies that break the contract, or ask for what a version of
the API or a family of models does not support (`contract/support.json`), fields that exclude each other, conversations
that no model could go on with. In `contract/refusals.json` is how it says so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby, pairwise
from typing import Any, NamedTuple

from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.dialects.anthropic.errors import WORDS, refused
from mockserver.dialects.anthropic.models import ClaudeFamily
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import parameters_fault
from mockserver.dialects.wordings import pydantic_words
from mockserver.model.schema import schema_fault, subschemas

# Violations with words of their own, by their paths and rules; the others are told as pydantic does.
_WORDINGS = {
    file: [(re.compile(path), rules, words) for path, rules, words in rows]
    for file, rows in WORDS["violations"].items()
}
# Whose members are told apart by a type, which paths name beside: those of lists, and these.
_UNIONS = ("thinking", "tool_choice", "source")


class CacheMark(NamedTuple):
    """A mark of a prompt's caching: where its block is, and whether the beginning up to there is to be kept for an hour
    rather than for five minutes."""

    path: tuple[str | int, ...]
    hour: bool


def blocks_of(content: object) -> Sequence[Body]:
    """The blocks of a content; a text stands for one, unless it is empty."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else ()


def thinks(body: Body) -> bool:
    """Whether a request asks for thinking."""
    return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")


def answer_format(body: Body) -> Body | None:
    """The format of the answer, in today's field or in that of a beta; None if any text will do."""
    return (body.get("output_config") or {}).get("format") or body.get("output_format")


def cache_marks(body: Body) -> Iterator[CacheMark]:
    """The marks in the order of the prompt, the automatic one last."""
    lists: dict[tuple[str | int, ...], Any] = {(name,): body.get(name) for name in ("tools", "system")}
    lists |= {("messages", number, "content"): each["content"] for number, each in enumerate(body["messages"])}
    placed = [((*path, place), each) for path, held in lists.items() for place, each in enumerate(blocks_of(held))]
    for path, block in (*placed, ((), body)):
        if block.get("cache_control"):
            yield CacheMark((*path, "cache_control"), block["cache_control"].get("ttl") == "1h")


def broken(body: Body, file: str, schema: str) -> Refusal | None:
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


def conflict(body: Body, family: ClaudeFamily) -> Refusal | None:
    """Why a request that keeps to the contract is refused nevertheless; None if it is not."""
    faults = chain(_field_faults(body), _turn_faults(body, family))
    return broken(body, "support", family.supports) or next(faults, None)


def _field_faults(body: Body) -> Iterator[Refusal]:
    """Fields that exclude each other, and schemas that no answer could be made to conform to."""
    tools, choice = body.get("tools") or (), body.get("tool_choice")
    form, marks = answer_format(body), [*cache_marks(body)]
    names = [tool.get("name") for tool in tools]
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
    found = (broken(part, "support", "StrictSchema") for part in subschemas(schema))
    return next(filter(None, found), None)


class Turn(NamedTuple):
    """What one side says before the other does: the path of its first message, and its blocks by their paths."""

    role: str
    path: str
    blocks: dict[str, Body]


def _turns_of(messages: Sequence[Body]) -> Iterator[Turn]:
    """The turns of a conversation, without its system messages."""
    told = [(f"messages.{number}", each) for number, each in enumerate(messages) if each["role"] != "system"]
    for role, group in groupby(told, key=lambda each: each[1]["role"]):
        said = [(path, blocks_of(message["content"])) for path, message in group]
        placed = {f"{path}.content.{n}": block for path, blocks in said for n, block in enumerate(blocks)}
        yield Turn(role, said[0][0], placed)


def _turn_faults(body: Body, family: ClaudeFamily) -> Iterator[Refusal]:
    """Turns that are empty, calls of tools without a result each in the next turn, and what cannot be gone on with."""
    turns, known, called = [*_turns_of(body["messages"])], set[str](), set[str]()
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
        results = after.blocks.values() if after is not None and calls else ()
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
