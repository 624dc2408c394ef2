"""Contracts: the JSON Schemas of a dialect's requests, answers, chunks and errors, validation against them, and
violations in the words of pydantic.

A check takes about a microsecond (a compiled validator); only a body that fails is validated again, slowly, for the
reasons. Each dialect keeps its contract as OpenAPI components in its folder `contract/`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from mockserver.core.dialects import Edition
from mockserver.core.failures import Violation

if TYPE_CHECKING:
    from jsonschema import ValidationError

Components = Mapping[str, Any]
# A dialect's contract, by edition.
Editions = Mapping[Edition, Callable[[], Components]]


def components(package: str, name: str) -> Callable[[], Components]:
    """A loader of `contract/<name>.json` in a dialect's package: an object `{"schemas": {...}}`.

    Contracts are long, and needed only to compile a validator or to explain a violation, so they are not kept.
    """

    def load() -> Components:
        return orjson.loads((files(package) / f"contract/{name}.json").read_bytes())["components"]  # type: ignore[no-any-return]

    return load


def editions(package: str) -> Editions:
    """The contract of a dialect's package: `contract/documented.json` and `contract/observed.json`; or instead of that
    `contract/observed.patch.json`, a JSON merge patch of the first (RFC 7396), where they differ in little."""
    documented = components(package, "documented")
    if not (files(package) / "contract/observed.patch.json").is_file():
        return {"documented": documented, "observed": components(package, "observed")}
    patch = components(package, "observed.patch")
    return {"documented": documented, "observed": lambda: _patched(documented(), patch())}


def _patched(value: Any, patch: Any) -> Any:
    """A value of JSON with what a merge patch changes in it."""
    if not isinstance(patch, dict):
        return patch
    patched = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            patched.pop(name, None)
        else:
            patched[name] = _patched(patched.get(name), change)
    return patched


# Nobody reads more violations, and a body may have one for each of a hundred thousand tokens.
_MOST_ERRORS = 200


class Contract:
    """One named schema of a dialect's contract, compiled on first use."""

    def __init__(self, load: Callable[[], Components], name: str) -> None:
        self.name = name
        self._load = load

    def _document(self) -> dict[str, Any]:
        """The schema as a document of its own, with everything that it refers to."""
        root = {"$ref": f"#/components/schemas/{self.name}"}
        return {**root, "components": {"schemas": reachable(self._load()["schemas"], root)}}

    @cached_property
    def accepts(self) -> Callable[[object], bool]:
        """Whether a value conforms to the contract."""
        from jsonschema_rs import Draft202012Validator

        return Draft202012Validator(self._document()).is_valid

    def violations(self, value: object) -> tuple[Violation, ...]:
        """The violations of the contract, the first two hundred in the order of the fields; empty if it conforms."""
        if self.accepts(value):
            return ()
        errors = islice(self._explainer.iter_errors(value), _MOST_ERRORS)
        found = sorted(errors, key=lambda error: [(isinstance(part, str), part) for part in error.absolute_path])
        return tuple(islice((violation for error in found for violation in _violations(error)), _MOST_ERRORS))

    @cached_property
    def _explainer(self) -> Any:
        """A validator that names what is wrong: it examines choices no further than necessary, and what is valid in an
        array not at all, but lets compiled validators decide what is."""
        from jsonschema import Draft202012Validator, ValidationError  # slow to import, and rarely needed
        from jsonschema.validators import extend
        from jsonschema_rs import Draft202012Validator as Compiled

        document = self._document()
        common = {"components": document["components"]}
        # By identity: the schemas are parts of the document.
        compiled: dict[int, Callable[[object], bool]] = {}

        def fits(instance: object, branch: Mapping[str, Any]) -> bool:
            check = compiled.get(id(branch))
            if check is None:
                check = compiled[id(branch)] = Compiled({**branch, **common}).is_valid
            return check(instance)

        def items(validator: Any, each: Any, instance: object, schema: object) -> Iterator[Any]:
            for place, item in enumerate(instance if isinstance(instance, list) else ()):
                if not fits(item, each):
                    yield from validator.descend(item, each, path=place)

        def if_(validator: Any, condition: Any, instance: object, schema: Mapping[str, Any]) -> Iterator[Any]:
            branch = "then" if fits(instance, condition) else "else"
            if branch in schema:
                yield from validator.descend(instance, schema[branch], schema_path=branch)

        def any_of(validator: Any, branches: Sequence[Any], instance: object, schema: object) -> Iterator[Any]:
            if not any(fits(instance, branch) for branch in branches):
                yield ValidationError(f"{instance!r} is not valid under any of the given schemas")

        def one_of(validator: Any, branches: Sequence[Any], instance: object, schema: object) -> Iterator[Any]:
            fitting = [branch for branch in branches if fits(instance, branch)]
            if not fitting:
                yield ValidationError(f"{instance!r} is not valid under any of the given schemas")
            elif len(fitting) > 1:
                yield ValidationError(f"{instance!r} is valid under each of {', '.join(map(repr, fitting))}")

        rules = {"items": items, "if": if_, "anyOf": any_of, "oneOf": one_of}
        return extend(Draft202012Validator, rules)(document)  # type: ignore[no-untyped-call]


def reachable(schemas: Mapping[str, Any], document: Any) -> dict[str, Any]:
    """The schemas to which a document refers, directly or by way of others, in their order."""
    found: set[str] = set()
    waiting = _references(document)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting |= _references(schemas[name])
    return {name: schema for name, schema in schemas.items() if name in found}


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {str(value["$ref"]).rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


def by_edition(contract: Editions, name: str) -> Mapping[Edition, Contract]:
    """The schema of that name in each edition."""
    return {edition: Contract(load, name) for edition, load in contract.items()}


def _violations(error: "ValidationError") -> Iterator[Violation]:
    """One error of the validator as violations: one for each field that is missing or unknown, else a single one."""
    path, rule = tuple(error.absolute_path), str(error.validator)
    instance: Any = error.instance
    if rule == "required":
        missing = re.match(r"'(.*)' is a required property", error.message, re.DOTALL)
        yield Violation((*path, missing[1] if missing else ""), rule, error.message, error.validator_value)
    elif rule == "additionalProperties" and isinstance(error.schema, Mapping):
        known = error.schema.get("properties", {})
        for extra in sorted(name for name in instance if name not in known):
            yield Violation((*path, extra), rule, error.message, found=instance[extra])
    else:
        yield Violation(path, rule, error.message, error.validator_value, instance)


# --- violations in pydantic's words, as Cerebras answers, and as is assumed of Upstash and FriendliAI -----------------

# A code, like `int_type`, and a sentence, like "Input should be a valid integer".
Words = tuple[str, str]

# A schema's type in pydantic's errors: its code, and its name.
_TYPES = {
    "string": ("string_type", "a valid string"),
    "integer": ("int_type", "a valid integer"),
    "number": ("float_type", "a valid number"),
    "boolean": ("bool_type", "a valid boolean"),
    "array": ("list_type", "a valid list"),
    "object": ("dict_type", "a valid dictionary"),
}


# What the other rules are told as; `limit` is what they expect, `length` that of the list that is found.
_WORDINGS: Mapping[str, Words] = {
    "required": ("missing", "Field required"),
    "additionalProperties": ("extra_forbidden", "Extra inputs are not permitted"),
    "minItems": ("too_short", "List should have at least {limit} item{s} after validation, not {length}"),
    "maxItems": ("too_long", "List should have at most {limit} item{s} after validation, not {length}"),
    "minLength": ("string_too_short", "String should have at least {limit} character{s}"),
    "maxLength": ("string_too_long", "String should have at most {limit} character{s}"),
    "pattern": ("string_pattern_mismatch", "String should match pattern '{limit}'"),
    "minimum": ("greater_than_equal", "Input should be greater than or equal to {limit}"),
    "maximum": ("less_than_equal", "Input should be less than or equal to {limit}"),
    "exclusiveMinimum": ("greater_than", "Input should be greater than {limit}"),
    "exclusiveMaximum": ("less_than", "Input should be less than {limit}"),
}


def pydantic_words(violation: Violation) -> Words | None:
    """The code and the message of a violation; None if its rule is none of those that pydantic has of its own."""
    rule, limit, found = violation.rule, violation.expected, violation.found
    if rule in ("type", "enum"):
        # No message tells of null.
        allowed = [each for each in (limit if isinstance(limit, list) else [limit]) if each not in ("null", None)]
        if not allowed:
            return "none_required", "Input should be None"
        return _wrong_type(allowed, found) if rule == "type" else _wrong_value(allowed)
    if rule not in _WORDINGS:
        return None
    code, words = _WORDINGS[rule]
    shown, length = f"{limit:g}" if isinstance(limit, float) else limit, len(found) if isinstance(found, list) else 0
    return code, words.format(limit=shown, s="" if limit == 1 else "s", length=length)


def _wrong_type(allowed: Sequence[Any], found: object) -> Words:
    types = [_TYPES[name] for name in allowed]
    if types[0][0] == "int_type" and isinstance(found, float):
        return "int_from_float", "Input should be a valid integer, got a number with a fractional part"
    return types[0][0], f"Input should be {' or '.join(noun for _, noun in types)}"


def _wrong_value(allowed: Sequence[object]) -> Words:
    *most, last = map(repr, allowed)
    return "literal_error", f"Input should be {' or '.join(filter(None, (', '.join(most), last)))}"


def custom_words(message: str) -> Words:
    """The code and the message of a check that pydantic leaves to the application."""
    return "value_error", f"Value error, {message}"
