"""What no schema says of valid fields: which exclude each other, and which schemas, patterns and tools are refused. And
what formats ask for.

`contract/checks.json` has the checks in their order: with or without what fields are refused, the message, and these
fields. A name there stands for the checks of that name, or for one that is a function.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import orjson

from mockserver.core.dialects import EDITIONS, Edition
from mockserver.core.failures import Violation
from mockserver.core.generation import Constraint
from mockserver.core.json_values import is_shallow
from mockserver.dialects.contracts import components
from mockserver.dialects.friendli.models import TRAITS
from mockserver.dialects.openai.read import Body, parameters_fault, tool_choice
from mockserver.model.schema import (
    InvalidSchemaError,
    SchemaLimitError,
    UnsatisfiableSchemaError,
    check_schema,
    is_recursive,
    schema_fault,
    subschemas,
)

# What is wrong between valid fields, and the fields without which nothing can be.
Check = tuple[frozenset[str], Callable[[Body], Iterable[Violation]]]
_TABLE = components(__package__, "checks")()
# The default values of fields, which conflict with nothing.
_DEFAULTS: Body = _TABLE["defaults"]


def conflicts(body: Body, checks: Iterable[Check]) -> list[Violation]:
    """All incompatibilities of valid fields, in the order of the checks."""
    found: list[Violation] = []
    for fields, check in checks:
        if not fields.isdisjoint(body):
            found += check(body)
    return found


def _checks(name: str) -> Iterator[Check]:
    """The checks of that name in the table."""
    for row in _TABLE[name]:
        if not isinstance(row, str):
            yield _refused(*row)
        elif row in _TABLE:
            yield from _checks(row)
        else:
            check, *fields = _FUNCTIONS[row]
            yield frozenset(fields), check


def _refused(when: str, message: str, *fields: str) -> Check:
    """Each of the fields that is set is refused, with or without another that is set, or a kind of body."""
    word, _, other = when.partition(" ")

    def check(body: Body) -> Iterator[Violation]:
        is_so = _KINDS[other](body) if other in _KINDS else _is_set(body, other)
        for name in fields if is_so == (word == "with") else ():
            if _is_set(body, name):
                yield _conflict(name, message.format(name))

    return frozenset(fields), check


def _is_set(body: Body, name: str) -> bool:
    return body.get(name) is not None and body[name] != _DEFAULTS.get(name)


def _conflict(name: str, message: str) -> Violation:
    return Violation((name,), "conflict", message)


# --- of formats -------------------------------------------------------------------------------------------------------

_SCHEMA = ("response_format", "schema")
_JSON_SCHEMA = ("response_format", "json_schema", "schema")
# Our own wording of what the service refuses: see `_has_several_branches`.
_BRANCHES = "oneOf with several branches is not supported"
# The pieces of a pattern with a meaning of their own: an escape, a whole class, a lookaround, an anchor.
_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]?|\(\?<?[=!]|[\^$]", re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"\\[NpP]")
# "Lookaheads/lookbehinds (e.g., `\a`, `\z`, `^`, `$`, `(?=)`, `(?!)`, `(?<=...)`, `(?<!...)`) are not supported."
_LOOKS = {"^", "$", r"\A", r"\a", r"\Z", r"\z", "(?=", "(?!", "(?<=", "(?<!"}


def _fault_of_pattern(pattern: str) -> str:
    """Why the vendor refuses a pattern; empty if it accepts it."""
    # Imported with the first pattern: most servers never see one.
    from mockserver.model.regex import fault_in
    from mockserver.model.regex.sizes import PatternError
    from mockserver.model.regex.syntax import read_pattern

    pieces = _PIECE.findall(pattern)
    if _LOOKS.intersection(pieces):
        return "lookaheads, lookbehinds and anchors are not supported in a regex"
    # "Unicode escape patterns (e.g., `\N`, `\p`, `\P`) are not supported."
    if any(_UNICODE_ESCAPE.search(piece) for piece in pieces):
        return "Unicode escape patterns are not supported in a regex"
    if not fault_in(pattern):
        return ""
    try:
        read_pattern(pattern)
    except PatternError:
        return "schema is not a valid regular expression"
    return "no text that could be generated matches the regex"


def format_violations(body: Body, edition: Edition) -> list[Violation]:
    """What the page or the service forbids in a format."""
    wanted = body.get("response_format") or {}
    kind, written, fault = wanted.get("type"), wanted.get("schema"), ""
    if kind == "json_schema":
        return schema_violations(wanted["json_schema"]["schema"], _JSON_SCHEMA)
    if kind == "regex":
        fault = _fault_of_pattern(str(written))
    elif kind == "json_object" and written is not None and edition == "documented":
        # "For { "type": "json_object" }, schema should be a serialized string of JSON schema."
        try:
            schema = orjson.loads(written)
        except orjson.JSONDecodeError:
            return [Violation(_SCHEMA, "json", "Invalid JSON, schema should be a serialized JSON schema")]
        fault = _fault_of_schema(schema)
        if not fault and is_recursive(schema):
            # "Recursive definitions are not supported."
            fault = "recursive definitions are not supported in a schema"
    return [Violation(_SCHEMA, "conflict", fault)] if fault else []


def schema_violations(schema: object, place: tuple[str, ...]) -> list[Violation]:
    """What the service forbids in the schema of an answer, which stands at a place of the body."""
    fault = _fault_of_schema(schema)
    for part in subschemas(schema) if isinstance(schema, Mapping) and not fault else ():
        # A definition to which nothing refers is not checked, and may hold anything.
        properties, required = part.get("properties"), part.get("required", [])
        first = next(iter(properties), None) if isinstance(properties, dict) else None
        if first is not None and isinstance(required, list) and first not in required:
            # The guide to structured outputs demands that the first property of an object be required.
            fault = "the first property of an object must be required"
    return [Violation(place, "conflict", fault)] if fault else []


def _fault_of_schema(value: object) -> str:
    """Why a value is not a JSON Schema, or not a satisfiable one; empty if it is."""
    if not isinstance(value, dict) or not is_shallow(value):
        return "schema is not a JSON schema"
    try:
        check_schema(value)
    except SchemaLimitError as error:
        return f"schema is too complex: {error}"
    except InvalidSchemaError:
        return "schema is not a JSON schema"
    except UnsatisfiableSchemaError:
        return "nothing can satisfy the schema"
    return ""


def branch_violations(body: Body, schema: object, place: tuple[str, ...]) -> list[Violation]:
    """The unions that the vendor's own engine refuses, unlike vLLM: in a tool's parameters, or in the schema of the
    answer, which stands at a place of the body."""
    if TRAITS[body.get("model") or ""].by_vllm:
        return []
    found = []
    for number, row in enumerate(body.get("tools") or ()):
        function = row.get("function") or (row if row.get("type") == "function" else {})
        if _has_several_branches(function.get("parameters")):
            where = ("tools", number, *(() if function is row else ("function",)), "parameters")
            found.append(Violation(where, "conflict", f"invalid tools: {_BRANCHES}"))
    return [*found, Violation(place, "conflict", _BRANCHES)] if _has_several_branches(schema) else found


def _has_several_branches(schema: object) -> bool:
    """Whether any part of the schema has a `oneOf` of several branches.

    The service refuses it, as the vendor's own tools and a gateway for coding agents note; none of them quotes it.
    """
    parts = subschemas(schema) if isinstance(schema, Mapping) else ()
    return any(isinstance(branches := part.get("oneOf"), list) and len(branches) > 1 for part in parts)


# A schema without any of these keywords allows any value.
_SHAPING = frozenset(
    ("type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if", "properties", "required")
)


def read_format(body: Mapping[str, Any], edition: Edition) -> Constraint | None:
    """The constraint that a valid body puts on its answer; None if any text will do."""
    wanted = body.get("response_format") or {}
    kind, written = wanted.get("type", "text"), wanted.get("schema")
    if kind == "text":
        return None
    if kind == "regex":
        return Constraint("regex", written)
    if kind == "json_schema":
        return Constraint("json_schema", _obeyed(wanted["json_schema"]["schema"]))
    if edition == "observed" or written is None:
        return Constraint("json_object")
    schema = orjson.loads(written)
    if not schema.keys() & _SHAPING:
        # A schema that allows any value still means an object, by the name of the format.
        return Constraint("json_object")
    # "All properties of { "type": "object" } are generated regardless of whether they are listed in [...] `required`."
    return Constraint("json_complete", schema)


def _obeyed(schema: Any) -> Any:
    """The schema as the service obeys it: "`additionalProperties` ignored (false)", unless that is unsatisfiable."""
    closed: Any = deepcopy(schema)
    part: Any
    for part in subschemas(closed):
        if part.get("additionalProperties"):
            part["additionalProperties"] = False
    return schema if schema_fault(closed) else closed


# --- of texts ---------------------------------------------------------------------------------------------------------

# "Encoder-decoder models like T5 or BlenderBot"; mT5, ByT5 and CodeT5 are such, GPT5 is not.
_ENCODER = re.compile("(?<!gp)t5|blenderbot", re.IGNORECASE)


def _has_encoder(body: Body) -> bool:
    """Whether the model is an encoder-decoder model, by its name; any other is a decoder-only one."""
    return _ENCODER.search(body.get("model") or "") is not None


def _seeds(body: Body) -> Iterator[Violation]:
    # "You can pass a list of seed values to control all of the independent generations."
    seeds, n = body.get("seed"), body.get("n") or 1
    if isinstance(seeds, list) and len(seeds) not in (0, 1, n):
        yield _conflict("seed", f"the number of seeds should be that of the choices, {n:g}")


_VECTORS = ("token_index_to_replace", "embedding_to_replace")


def _embeddings(body: Body) -> Iterator[Violation]:
    places, vectors = body.get("token_index_to_replace") or [], body.get("embedding_to_replace") or []
    if bool(places) != bool(vectors):
        given, missing = _VECTORS if places else reversed(_VECTORS)
        yield _conflict(given, f"{given} needs {missing}")
    elif places and len(vectors) % len(places):
        # "A list of flattened embedding vectors", one for each index.
        yield _conflict("embedding_to_replace", "embedding_to_replace should hold one vector for each index")
    tokens = body.get("tokens")
    if tokens and any(place >= len(tokens) for place in places):
        yield _conflict("token_index_to_replace", f"the prompt has only {len(tokens)} tokens")


def _positions(body: Body) -> Iterator[Violation]:
    # "Each prompt token's position id will be interpreted as this value."
    tokens, positions = body.get("tokens"), body.get("position_ids")
    if tokens and positions and len(tokens) != len(positions):
        yield _conflict("position_ids", f"position_ids should have one entry for each of {len(tokens)} tokens")


def is_deterministic(body: Body) -> bool:
    """Whether a body asks for the standard beam search."""
    return body.get("num_beams") is not None and (body.get("beam_search_type") or "DETERMINISTIC") == "DETERMINISTIC"


# --- of chats ---------------------------------------------------------------------------------------------------------


def _tools(body: Body) -> Iterator[Violation]:
    rows = [(place, row["function"]) for place, row in enumerate(body.get("tools") or ())]
    # A choice among no tools is tolerated.
    wanted = tool_choice(body.get("tool_choice")).names if rows else ()
    functions = [(row["name"], row.get("parameters"), ("tools", at, "function", "parameters")) for at, row in rows]
    yield from tool_conflicts(functions, wanted)


def tool_conflicts(
    functions: Sequence[tuple[str, object, tuple[str | int, ...]]], wanted: Iterable[str]
) -> Iterator[Violation]:
    """Parameters that no arguments fit, of functions on offer, each with its name, its parameters and their place in
    the body; and the choice of a function that is not on offer."""
    for _, parameters, place in functions:
        reason = parameters_fault({"parameters": parameters})
        if reason:
            yield Violation(place, "conflict", f"invalid tools: parameters {reason}")
    names = {name for name, _, _ in functions}
    for name in wanted:
        if name not in names:
            yield _conflict("tool_choice", f"tool_choice names a function that is not among the tools: {name!r}")


def _branches(body: Body) -> list[Violation]:
    wanted = body.get("response_format") or {}
    schema = wanted["json_schema"]["schema"] if wanted.get("type") == "json_schema" else None
    return branch_violations(body, schema, _JSON_SCHEMA)


# --- the tables -------------------------------------------------------------------------------------------------------

# Kinds of bodies, and checks that are functions, each with the fields that it is about.
_KINDS: Mapping[str, Callable[[Body], bool]] = {"an encoder": _has_encoder, "the standard search": is_deterministic}
_FUNCTIONS: Mapping[str, tuple[Any, ...]] = {
    "seeds": (_seeds, "seed"),
    "vectors": (_embeddings, *_VECTORS),
    "positions": (_positions, "position_ids"),
    "tools": (_tools, "tools"),
    "the page's format": (partial(format_violations, edition="documented"), "response_format"),
    "today's format": (partial(format_violations, edition="observed"), "response_format"),
    "branches": (_branches, "tools", "response_format"),
}
CHECKS = {edition: tuple(_checks(f"{edition} completions")) for edition in EDITIONS}
CHAT_CHECKS = {edition: tuple(_checks(f"{edition} chats")) for edition in EDITIONS}
# The fields without which a chat has no conflicts.
CHAT_FIELDS = frozenset().union(*[fields for checks in CHAT_CHECKS.values() for fields, _ in checks])
