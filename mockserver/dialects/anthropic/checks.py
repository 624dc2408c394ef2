"""Requests that Anthropic refuses (facts A2 to A4, A10): bodies that break the contract, fields that a model does not
support or that exclude each other, conversations that no model could go on with. In `contract/refusals.json` is how it
says so."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.dialects.anthropic.errors import WORDS, refused
from mockserver.dialects.anthropic.models import ClaudeFamily
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import parameters_fault
from mockserver.dialects.wordings import pydantic_words
from mockserver.model.schema import schema_fault, subschemas

Block = Mapping[str, Any]
Faults = Iterator[Refusal]
# Violations with words of their own, by their paths and rules; the others are told as pydantic does.
_WORDINGS = [(re.compile(path), rules, words) for path, rules, words in WORDS["violations"]]
# Whose members are told apart by a type, which paths name beside: those of lists, and these.
_UNIONS = ("thinking", "tool_choice", "source")


class CacheMark(NamedTuple):
    """A mark of a prompt's caching: where its block is, and how long the beginning up to there is to be kept."""

    path: tuple[str | int, ...]
    lifetime: str


def blocks_of(content: object) -> Sequence[Block]:
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
    lists: list[tuple[tuple[str | int, ...], Any]] = [((name,), body.get(name)) for name in ("tools", "system")]
    lists += [(("messages", number, "content"), each["content"]) for number, each in enumerate(body["messages"])]
    blocks = [
        ((*path, place), each) for path, held in lists if isinstance(held, list) for place, each in enumerate(held)
    ]
    for path, block in (*blocks, ((), body)):
        if block.get("cache_control"):
            yield CacheMark((*path, "cache_control"), block["cache_control"].get("ttl") or "5m")


def explain(body: Body, violations: Sequence[Violation]) -> Refusal:
    """The refusal of a body that breaks the contract: the first violation in the vendor's order of fields, which was
    measured; unknown fields come last."""
    if not violations:
        # Two validators read the contract, and the strict one alone is asked for reasons.
        return Refusal(FailureKind.INVALID_REQUEST)
    known: list[object] = WORDS["order"]
    v = min(violations, key=lambda each: known.index(each.path[0]) if each.path[:1] and each.path[0] in known else 99)
    plain, said = ".".join(map(str, v.path)), (pydantic_words(v) or ("", "Invalid value"))[1]
    usual = "{path}: " + said.replace("a valid list", "a valid array").replace("a valid dictionary", "an object")
    words = next((words for path, rules, words in _WORDINGS if v.rule in rules and path.fullmatch(plain)), usual)
    tags = v.expected if isinstance(v.expected, list) else ()
    expected = ", ".join(f"'{tag}'" for tag in tags if tag is not None) or v.expected
    paths = {"path": _located(body, v.path), "parent": _located(body, v.path[:-1])}
    facts = {"found": v.found, "expected": expected, **paths}
    message = re.sub(r"{(found|expected|path|parent)}", lambda name: str(facts[name[1]])[:1_000], words)
    return Refusal(FailureKind.INVALID_REQUEST, message, violations=tuple(violations))


def _located(body: Any, path: Sequence[str | int]) -> str:
    """A path as text, with the types of the blocks on the way, but for those of types themselves."""
    names, value = list[str](), body
    for step, after in zip(path, (*path[1:], "type"), strict=False):
        names.append(str(step))
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            value = None
        if after != "type" and (isinstance(step, int) or step in _UNIONS) and isinstance(value, Mapping):
            tag = value.get("type") or ("custom" if path[0] == "tools" else None)
            names += [tag] if isinstance(tag, str) else []
    return ".".join(names)


# --- fields that exclude each other ------------------------------------------------------------------------------

# The fields of sampling, and their defaults.
SAMPLING = {"temperature": 1.0, "top_p": None, "top_k": None}
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")


def conflict(body: Body, family: ClaudeFamily, model: str, version: str) -> Refusal | None:
    """Why a request whose fields are valid one by one is refused nevertheless; None if it is not."""
    thinking = (body.get("thinking") or {}).get("type")
    looks = (
        _tool_faults(body, family, thinking),
        _thinking_faults(body, family, thinking),
        _number_faults(body, family, model),
        _system_faults(body["messages"], family),
        _turn_faults(_turns_of(body["messages"]), family, thinking, version),
    )
    return next(chain.from_iterable(looks), None)


def _tool_faults(body: Body, family: ClaudeFamily, thinking: str | None) -> Faults:
    tools, choice = body.get("tools") or (), body.get("tool_choice") or {}
    names, kind = [tool.get("name") for tool in tools], choice.get("type")
    if kind in ("any", "tool"):
        if not tools:
            yield refused("choice_without_tools", kind=kind)
        if kind == "tool" and choice["name"] not in names:
            yield refused("unknown_tool", name=choice["name"])
        if not family.forced:
            yield refused("no_forcing")
        if thinking == "enabled":
            yield refused("forced_thinking")
    if len({*names}) < len(names):
        yield refused("equal_names")
    for number, tool in enumerate(tools):
        schema = tool.get("input_schema")
        if not isinstance(schema, Mapping):
            # The vendor's own tools have none.
            continue
        fault = _strict_fault(schema) if tool.get("strict") else None
        if fault is not None:
            yield refused("tool_not_strict", number=number, fault=fault.message)
        if parameters_fault({"parameters": schema}) is not None:
            yield refused("tool_schema", number=number)


def _thinking_faults(body: Body, family: ClaudeFamily, thinking: str | None) -> Faults:
    most, form, effort = body.get("max_tokens"), answer_format(body), (body.get("output_config") or {}).get("effort")
    if thinking is not None and thinking not in family.thinking:
        yield refused("thinking_enabled" if thinking == "enabled" else "thinking_type", kind=thinking)
    if thinking == "enabled" and most is not None and body["thinking"]["budget_tokens"] >= most:
        yield refused("budget")
    if effort is not None and effort not in family.efforts:
        levels = ", ".join(sorted(family.efforts))
        yield refused("effort" if levels else "no_effort", effort=effort, levels=levels)
    if form is not None:
        fault = _strict_fault(form["schema"])
        said = schema_fault(form["schema"]) if fault is None else fault.message
        if said is not None:
            yield refused("format_schema", fault=said)


def _strict_fault(schema: Mapping[str, Any]) -> Refusal | None:
    """Why a schema is not one of those that answers can be made to conform to."""
    for part in subschemas(schema):
        kind = part.get("type")
        if kind == "object" and part.get("additionalProperties") is not False:
            return refused("open_object")
        bound = next((word for word in _BOUNDS if isinstance(part.get(word), int | float)), None)
        if bound is not None:
            return refused("bound", kind=kind, word=bound)
    return None


def _number_faults(body: Body, family: ClaudeFamily, model: str) -> Faults:
    marks, most = [*cache_marks(body)], body.get("max_tokens") or 0
    if len(marks) > 4:
        yield refused("marks", found=len(marks))
    for place, mark in enumerate(marks):
        if mark.lifetime == "1h" and any(each.lifetime == "5m" for each in marks[:place]):
            yield refused("mark_order", path=".".join(map(str, mark.path)))
    if most > family.max_output:
        yield refused("max_tokens", found=most, most=family.max_output, model=model)
    given = {name: body[name] for name in SAMPLING if name in body}
    changed = [name for name, value in given.items() if value != SAMPLING[name]]
    if changed and not family.sampled:
        yield refused("deprecated", name=changed[0])
    if family.either and "temperature" in given and "top_p" in given:
        yield refused("either")
    if thinks(body):
        if given.get("temperature", 1) != 1:
            yield refused("thinking_temperature")
        if "top_k" in given:
            yield refused("thinking_top_k")
        if given.get("top_p", 1) < 0.95:
            yield refused("thinking_top_p")
    types = " ".join(str(tool.get("type")) for tool in body.get("tools") or ())
    if body.get("container") is not None and "code_execution" not in types:
        yield refused("container")


# --- conversations -----------------------------------------------------------------------------------------------

# Who alone may say a block of a type.
_SPEAKERS = dict.fromkeys(("tool_use", "thinking", "redacted_thinking"), "assistant") | {"tool_result": "user"}


class PlacedBlock(NamedTuple):
    """A block, its type, and its path, which refusals name; `message` is that of its message, `id` that of a call."""

    type: str
    block: Block
    message: str
    path: str
    id: str


class Turn(NamedTuple):
    """What one side says before the other does: consecutive messages of the same role count as one."""

    role: str
    path: str
    said: list[PlacedBlock]

    def of(self, kind: str) -> list[PlacedBlock]:
        """Its blocks of a type."""
        return [each for each in self.said if each.type == kind]


def _turns_of(messages: Sequence[Body]) -> list[Turn]:
    """The turns of a conversation, without its system messages."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        where = f"messages.{number}"
        if message["role"] == "system":
            continue
        if not turns or turns[-1].role != message["role"]:
            turns.append(Turn(message["role"], where, []))
        for place, block in enumerate(blocks_of(message["content"])):
            id_ = str(block.get("tool_use_id") or block.get("id"))
            turns[-1].said.append(PlacedBlock(block["type"], block, where, f"{where}.content.{place}", id_))
    return turns


def _turn_faults(turns: Sequence[Turn], family: ClaudeFamily, thinking: str | None, version: str) -> Faults:
    for turn in turns:
        if not turn.said and (turn.role == "user" or turn is not turns[-1]):
            yield refused(f"{turn.role}_empty", path=turn.path)
        for each in turn.said:
            speaker = _SPEAKERS.get(each.type, turn.role)
            if speaker != turn.role:
                yield refused("speaker", path=each.message, kind=each.type, speaker=speaker)
            if version > "2026" and (turn.role, each.type) == ("assistant", "document"):
                yield refused("assistant_document", path=each.path)
            if version > "2026" and turn.role == "user" and each.type == "text" and each.block.get("citations"):
                yield refused("user_citations", path=each.path)
    yield from _pairing_faults(turns)
    *_, before, last = None, Turn("", "", []), *turns
    if last is not None and last.role == "assistant" and last.said and last.said[-1].type == "text":
        text = last.said[-1].block["text"]
        if not family.prefilled:
            yield refused("prefill")
        if text != text.rstrip():
            yield refused("prefill_blank")
    if thinking == "enabled" and before is not None and last is not None and last.of("tool_result"):
        first = before.said[0]
        if first.type not in ("thinking", "redacted_thinking"):
            yield refused("thought_missing", path=first.path, kind=first.type)


def _system_faults(messages: Sequence[Body], family: ClaudeFamily) -> Faults:
    for number, message in enumerate(messages):
        blocks, path = blocks_of(message["content"]), f"messages.{number}"
        if message["role"] != "system":
            continue
        if not family.instructed:
            yield refused("no_system")
        if not blocks and message.get("output_config"):
            continue
        if not number:
            yield refused("system_first", path=path)
        if not blocks:
            yield refused("system_empty", path=path)
        if not all(block.get("text", "x").strip() for block in blocks):
            yield refused("system_blank", path=path)
        if number + 1 < len(messages) and messages[number + 1]["role"] == "user":
            yield refused("system_place", path=path)


def _pairing_faults(turns: Sequence[Turn]) -> Faults:
    """How the calls of tools and their results do not match: every call has one result, in the next turn."""
    known: set[str] = set()
    calls, results = [turn.of("tool_use") for turn in turns], [turn.of("tool_result") for turn in turns]
    for before, made, given, after in zip(([], *calls), calls, results, (*results[1:], []), strict=False):
        called, answered = {each.id for each in before}, set[str]()
        for each in made:
            if each.id in known:
                yield refused("equal_ids", path=each.path)
            known.add(each.id)
        for each in given:
            if each.id not in called or each.id in answered:
                name = "orphaned_result" if each.id not in called else "doubled_result"
                yield refused(name, path=each.path, id=each.id)
            answered.add(each.id)
        found = {each.id for each in after}
        missing = [each for each in made if each.id not in found]
        if missing:
            yield refused("missing_result", path=missing[0].message, ids=", ".join(each.id for each in missing))
