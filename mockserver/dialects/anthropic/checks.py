"""Requests that Anthropic refuses, in its words (facts A2 to A4, A10): bodies that break the contract, fields that a
model does not support or that exclude each other, conversations that no model could go on with."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from mockserver.core.failures import Refusal, Violation
from mockserver.dialects.anthropic.errors import invalid
from mockserver.dialects.anthropic.models import Family
from mockserver.dialects.anthropic.prompts import Block, blocks_of, cache_marks
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.tools import parameters_fault
from mockserver.dialects.wordings import pydantic_words
from mockserver.model.schema import schema_fault

# The order in which fields are looked at (measured); then come unknown ones.
_ORDER = (
    "model", "tool_choice", "tools", "messages", "system", "thinking", "output_config", "cache_control", "max_tokens",
    "metadata", "stop_sequences", "temperature", "service_tier", "top_k", "top_p", "stream", "container",
    "inference_geo",
)  # fmt: skip
# Violations with words of their own, by their paths and rules; the others are told as pydantic does.
_WORDS = tuple((re.compile(path), rules, words) for path, rules, words in (
    (r"messages\.\d+\.role", "enum", 'messages: Unexpected role "{found}". Allowed roles are "user" or "assistant"'),
    (r"messages", "minItems", "messages: at least one message is required"),
    (r"messages.*\.text", "minLength", "messages: text content blocks must be non-empty"),
    (r"messages.*\.(text|content)", "pattern", "messages: text content blocks must contain non-whitespace text"),
    (r"messages.*\.signature", "pattern", "{parent}: Invalid `signature` in `thinking` block"),
    (r"max_tokens", "minimum", "{path}: must be greater than or equal to 0"),
    (r"temperature|top_p", "minimum, maximum", "{path}: range: 0..1"),
    (r"inference_geo", "enum", "{path}: must be one of ['global', 'us']"),
    (r"stop_sequences\..*", "minLength", "stop_sequences: each stop sequence must be non-empty"),
    (r"stop_sequences\..*", "pattern", "stop_sequences: each stop sequence must contain non-whitespace"),
    (r".*", "additionalProperties", "{path}: Extra inputs are not permitted"),
    (r".*", "pattern", "{path}: String should match pattern '{expected}'"),
    (r".*", "maxLength", "{path}: String should have at most {expected} characters"),
    (r"(.*\.)?content|system", "type", "{path}: Input should be a valid array"),
    (r"(.*\.\d+|thinking|tool_choice|.*source)\.type", "enum",
     "{parent}: Input tag '{found}' found using 'type' does not match any of the expected tags: {expected}"),
))  # fmt: skip
# Whose members are told apart by a type, which paths name beside: those of lists, and these.
_UNIONS = ("thinking", "tool_choice", "source")
_LONGEST = 1_000


def explain(body: Body, violations: Sequence[Violation]) -> Refusal:
    """The refusal of a body that breaks the contract: the first violation in the vendor's order."""
    if not violations:
        # Two validators read the contract, and the strict one alone is asked for reasons.
        return invalid("Invalid request")
    v = min(violations, key=_place)
    path, parent = _located(body, v.path)[:_LONGEST], _located(body, v.path[:-1])[:_LONGEST]
    plain = ".".join(map(str, v.path))
    words = next((words for known, rules, words in _WORDS if v.rule in rules and known.fullmatch(plain)), None)
    if words is None:
        said = (pydantic_words(v) or ("", "Invalid value"))[1]
        words = "{path}: " + said.replace("a valid list", "a valid array").replace("a valid dictionary", "an object")
    expected = ", ".join(f"'{tag}'" for tag in v.expected) if isinstance(v.expected, list) else v.expected
    facts = {"found": str(v.found)[:_LONGEST], "expected": expected, "path": path, "parent": parent}
    return invalid(re.sub(r"{(found|expected|path|parent)}", lambda name: str(facts[name[1]]), words))._replace(
        violations=tuple(violations)
    )


def _place(violation: Violation) -> tuple[bool, int]:
    name = violation.path[0] if violation.path else ""
    unknown = violation.rule == "additionalProperties" and len(violation.path) == 1
    return unknown, _ORDER.index(name) if name in _ORDER else len(_ORDER)


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

_SAMPLING = {"temperature": 1.0, "top_p": None, "top_k": None}
_USE_ADAPTIVE = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
_BAD_SCHEMA = (
    "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn "
    "more about tool use at https://docs.claude.com/en/docs/tool-use."
)
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")


def conflict(body: Body, family: Family, model: str, version: str) -> Refusal | None:
    """Why a request whose fields are valid one by one is refused nevertheless; None if it is not."""
    thinking = (body.get("thinking") or {}).get("type")
    looks = (
        _tool_faults(body, family, thinking),
        _thinking_faults(body, family, thinking),
        _cache_faults(body),
        _number_faults(body, family, thinking, model),
        _conversation_faults(body, family, thinking, version),
    )
    reason = next(chain.from_iterable(looks), None)
    return None if reason is None else invalid(reason)


def _tool_faults(body: Body, family: Family, thinking: str | None) -> Iterator[str]:
    tools, choice = body.get("tools") or (), body.get("tool_choice") or {}
    names, kind = [tool.get("name") for tool in tools], choice.get("type")
    if kind in ("any", "tool"):
        if not tools:
            yield f"tool_choice.{kind} may only be specified while providing tools"
        elif kind == "tool" and choice["name"] not in names:
            yield f"Tool '{choice['name'][:_LONGEST]}' not found in provided tools"
        if not family.forced:
            yield 'tool_choice: type "tool" and "any" are not supported for this model.'
        if thinking == "enabled":
            yield "Thinking may not be enabled when tool_choice forces tool use."
    if len({*names}) < len(names):
        yield "tools: Tool names must be unique."
    for number, tool in enumerate(tools):
        schema, where = tool.get("input_schema"), f"tools.{number}.custom"
        fault = _strict_fault(schema) if tool.get("strict") else None
        if fault is not None:
            yield f"{where}: {fault}"
        if isinstance(schema, Mapping) and parameters_fault({"parameters": schema}) is not None:
            yield f"{where}.input_schema: {_BAD_SCHEMA}"


def _thinking_faults(body: Body, family: Family, thinking: str | None) -> Iterator[str]:
    config, most = body.get("output_config") or {}, body.get("max_tokens")
    effort, form = config.get("effort"), config.get("format") or body.get("output_format")
    if thinking is not None and thinking not in family.thinking:
        use = f" {_USE_ADAPTIVE}" if thinking == "enabled" else ""
        yield f'"thinking.type.{thinking}" is not supported for this model.{use}'
    if thinking == "enabled" and most is not None and body["thinking"]["budget_tokens"] >= most:
        yield "`max_tokens` must be greater than `thinking.budget_tokens`."
    if effort is not None and effort not in family.efforts:
        levels = f" Supported levels: {', '.join(sorted(family.efforts))}." if family.efforts else ""
        yield f"This model does not support effort level '{effort}'.{levels}"
    fault = None if form is None else _strict_fault(form["schema"]) or schema_fault(form["schema"])
    if fault is not None:
        yield f"output_config.format.schema: {fault}"


def _strict_fault(schema: Any) -> str | None:
    """Why a schema is not one of those that answers can be made to conform to."""
    if isinstance(schema, Mapping):
        kind = schema.get("type")
        if kind == "object" and schema.get("additionalProperties") is not False:
            return "For 'object' type, 'additionalProperties' must be explicitly set to false"
        bound = next((word for word in _BOUNDS if isinstance(schema.get(word), int | float)), None)
        if bound is not None:
            return f"For '{kind}' type, property '{bound}' is not supported"
    parts = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    return next(filter(None, map(_strict_fault, parts)), None)


def _cache_faults(body: Body) -> Iterator[str]:
    marks, short = [*cache_marks(body)], False
    if len(marks) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}."
    for path, lifetime in marks:
        if short and lifetime == "1h":
            yield (
                f"{path}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note "
                "that blocks are processed in the following order: `tools`, `system`, `messages`."
            )
        short = short or lifetime == "5m"


def _number_faults(body: Body, family: Family, thinking: str | None, model: str) -> Iterator[str]:
    most, limit = body.get("max_tokens") or 0, family.max_output
    if most > limit:
        allowed = "which is the maximum allowed number of output tokens for"
        yield f"max_tokens: {most} > {limit}, {allowed} {model[:_LONGEST]}"
    given = {name: body[name] for name in _SAMPLING if name in body}
    for name, value in given.items():
        if not family.sampled and value != _SAMPLING[name]:
            yield f"`{name}` is deprecated for this model."
    if family.either and "temperature" in given and "top_p" in given:
        yield "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    if thinking in ("enabled", "adaptive"):
        if given.get("temperature", 1) != 1:
            yield "`temperature` may only be set to 1 when thinking is enabled."
        if "top_k" in given:
            yield "`top_k` must be unset when thinking is enabled or in adaptive mode"
        if given.get("top_p", 1) < 0.95:
            yield "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
    types = [str(tool.get("type")) for tool in body.get("tools") or ()]
    if body.get("container") is not None and not any("code_execution" in type_ for type_ in types):
        yield "container: Container identifier can only be provided when using the code execution tool"


# --- conversations -----------------------------------------------------------------------------------------------

# Who alone may say a block of a type.
_SPEAKERS = dict.fromkeys(("tool_use", "thinking", "redacted_thinking"), "assistant") | {"tool_result": "user"}
_NO_PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
_FIRST_THOUGHT = (
    "When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost "
    "set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To "
    "avoid this requirement, disable `thinking`. Please consult our documentation at "
    "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
)


class Said(NamedTuple):
    """A block and its type, the number of its message and its path, which refusals name."""

    type: str
    block: Block
    message: int
    path: str


class Turn(NamedTuple):
    """What one side says before the other does: consecutive messages of the same role count as one."""

    role: str
    first: int
    said: list[Said]


def turns_of(messages: Sequence[Body]) -> list[Turn]:
    """The turns of a conversation, without its system messages."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        if message["role"] != "system":
            if not turns or turns[-1].role != message["role"]:
                turns.append(Turn(message["role"], number, []))
            for place, block in enumerate(blocks_of(message["content"])):
                turns[-1].said.append(Said(block["type"], block, number, f"messages.{number}.content.{place}"))
    return turns


def _conversation_faults(body: Body, family: Family, thinking: str | None, version: str) -> Iterator[str]:
    messages = body["messages"]
    turns = turns_of(messages)
    yield from _system_faults(messages, family)
    for turn in turns:
        where = f"messages.{turn.first}"
        if not turn.said and turn.role == "user":
            yield f"{where}: user messages must have non-empty content"
        elif not turn.said and turn is not turns[-1]:
            yield f"{where}: all messages must have non-empty content except for the optional final assistant message"
        for each in turn.said:
            speaker = _SPEAKERS.get(each.type, turn.role)
            if speaker != turn.role:
                yield f"messages.{each.message}: `{each.type}` blocks can only be in `{speaker}` messages"
            if version > "2026" and each.type == "document" and turn.role == "assistant":
                yield f"{each.path}: `document` blocks are not permitted in assistant messages"
            if version > "2026" and each.type == "text" and turn.role == "user" and each.block.get("citations"):
                yield f"{each.path}.text.citations: `citations` are not permitted in user messages"
    yield from tool_faults(turns)
    *_, before, last = None, None, *turns
    if last is not None and last.role == "assistant" and last.said and last.said[-1].type == "text":
        text = last.said[-1].block["text"]
        if not family.prefilled:
            yield _NO_PREFILL
        elif text != text.rstrip():
            yield "messages: final assistant content cannot end with trailing whitespace"
    if thinking == "enabled" and before is not None and last is not None and last.said[0].type == "tool_result":
        first = before.said[0]
        if first.type not in ("thinking", "redacted_thinking"):
            expected = f"Expected `thinking` or `redacted_thinking`, but found `{first.type}`."
            yield f"{first.path}.type: {expected} {_FIRST_THOUGHT}"


def _system_faults(messages: Sequence[Body], family: Family) -> Iterator[str]:
    for number, message in enumerate(messages):
        blocks, where = blocks_of(message["content"]), f"messages.{number}"
        if message["role"] != "system":
            continue
        if not family.instructed:
            yield "role 'system' is not supported on this model"
        if not blocks and message.get("output_config"):
            continue
        if not number:
            yield (
                f"{where}: use the top-level 'system' parameter for the initial system prompt; the directive-only form "
                "(content: [] with output_config) is accepted at any position"
            )
        if not blocks:
            yield f"{where}: system content must contain at least one block"
        if not all(block.get("text", "x").strip() for block in blocks):
            yield f"{where}: system text blocks must contain non-whitespace text"
        if number + 1 < len(messages) and messages[number + 1]["role"] == "user":
            yield f"{where}: role 'system' must precede an 'assistant' message or end the array"


def tool_faults(turns: Sequence[Turn]) -> Iterator[str]:
    """How the calls of tools and their results do not match: every call has one result, in the next turn."""
    known: set[str] = set()
    for before, turn, after in zip((None, *turns), turns, (*turns[1:], None), strict=False):
        called = [each.block.get("id") for each in before.said if each.type == "tool_use"] if before else []
        answered: set[str] = set()
        for each in turn.said:
            id_ = str(each.block.get("tool_use_id") or each.block.get("id"))[:_LONGEST]
            if each.type == "tool_use":
                if id_ in known:
                    yield f"{each.path}: `tool_use` ids must be unique"
                known.add(id_)
            elif each.type == "tool_result":
                if id_ not in called:
                    yield (
                        f"{each.path}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. Each "
                        "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                    )
                if id_ in answered:
                    found = f"Found multiple `tool_result` blocks with id: {id_}"
                    yield f"{each.path}: each `tool_use` must have a single result. {found}"
                answered.add(id_)
        results = {each.block["tool_use_id"] for each in after.said if each.type == "tool_result"} if after else set()
        missing = [each for each in turn.said if each.type == "tool_use" and each.block.get("id") not in results]
        if missing:
            yield (
                f"messages.{missing[0].message}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {', '.join(str(each.block.get('id'))[:_LONGEST] for each in missing)}. Each `tool_use` block "
                "must have a corresponding `tool_result` block in the next message."
            )
