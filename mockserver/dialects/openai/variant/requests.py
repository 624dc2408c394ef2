"""Requests to vendors that differ a little: read by their own contract, then, in OpenAI's words, by OpenAI's."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, Form, GenerationRequest, Sampling
from mockserver.core.http import Call
from mockserver.core.messages import unknown_name
from mockserver.dialects.contracts import Components, Contract, reachable
from mockserver.dialects.openai.checks import Adapt, RequestRules, Translate
from mockserver.dialects.openai.dialect import CONTRACT
from mockserver.dialects.openai.models import UNKNOWN, Family
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.refusals import explain, without_foreign_parts

# A schema, the name that OpenAI has for a field, both, or None for one that there is not.
Fields = Mapping[str, Mapping[str, Any] | bool | str | tuple[str, Mapping[str, Any]] | None]
_REQUESTS = ("ChatCompletionRequest", "CompletionRequest", "EmbeddingRequest")
# Fields that OpenAI has not, but our models obey, each with the value that changes nothing.
_SAMPLED = {
    name: getattr(Sampling(), name)
    for name in ("top_k", "min_p", "repetition_penalty", "length_penalty", "xtc_threshold", "xtc_probability")
}
# Bounds of OpenAI's fields: the upper ones are the vendor's, where it has any, and lists and texts may be empty.
_MOST = ("maximum", "maxItems", "maxLength", "maxProperties")
_LEAST = ("minItems", "minLength", "minProperties")


class Reading(NamedTuple):
    """How requests are read: by the vendor's contract, then, in OpenAI's words, by OpenAI's."""

    fields: Fields
    contract: Callable[[], Components]
    translate: Translate | None
    adapt: Adapt | None
    json_word: bool
    shows_thoughts: bool = False

    def by(
        self, read: Callable[..., Any], name: str, family_of: Callable[[str], Family] = lambda model: UNKNOWN
    ) -> Callable[[Call, RequestScope], GenerationRequest | Refusal]:
        """The `read` of an operation whose requests have the schema of that name."""
        usual = Contract(partial(_relaxed, self.fields), name)
        words = partial(self.in_openais_words, usual) if self.fields or self.translate else None
        own = Contract(self.contract, name)
        rules = RequestRules(own, family_of, words, self.adapted, typed=False, json_word=self.json_word)
        return lambda call, scope: read(call, scope, rules)

    def in_openais_words(self, usual: Contract, body: Body) -> Body | Refusal:
        """A valid body in OpenAI's words; a refusal if these have no place for what it holds. Raises ValueError for
        what only `translate` has put into it."""
        # Null is the default, also where OpenAI would refuse it.
        kept = {
            name: value for name, value in body.items() if value is not None and self.fields.get(name, True) is not None
        }
        names = {theirs: name for name, theirs in _renamed(self.fields).items() if name in kept}
        for theirs, name in names.items():
            kept[theirs] = kept.pop(name)
        sent = {*kept}
        found = kept if self.translate is None else self.translate(kept)
        if isinstance(found, Refusal):
            return found._replace(model=found.model or body["model"])
        if not isinstance(found, Mapping) or usual.accepts(found):
            return found
        found = without_foreign_parts(found)
        if usual.accepts(found):
            return found
        violations = usual.violations(found)
        for each in violations:
            if each.path and each.path[0] not in sent:
                raise ValueError(f"translate gives a value of {each.field} that OpenAI refuses: {each.message}")
        # Blamed are the fields that were sent.
        blamed = [(names.get(str(each.path[0]), each.path[0]), *each.path[1:]) for each in violations]
        return explain([each._replace(path=path) for each, path in zip(violations, blamed, strict=True)])

    def adapted(self, body: Body, request: GenerationRequest) -> GenerationRequest | Refusal:
        """The request with what OpenAI has no fields for."""
        sampled = {
            name: max(body[name], 0) or usual
            for name, usual in _SAMPLED.items()
            if name in self.fields and isinstance(body.get(name), int | float)
        }
        if "top_k" in sampled:
            sampled["top_k"] = int(sampled["top_k"])
        request = request._replace(sampling=request.sampling._replace(**sampled)) if sampled else request
        if self.shows_thoughts and request.effort not in (None, "none"):
            request = request._replace(output=request.output._replace(reasoning=True))
        adapted = request if self.adapt is None else self.adapt(body, request)
        if not isinstance(adapted, GenerationRequest | Refusal):
            raise TypeError(f"adapt must give a GenerationRequest or a Refusal, not {adapted!r:.80}")
        if isinstance(adapted, Refusal):
            return adapted._replace(model=adapted.model or request.model)
        if adapted.constraint is request.constraint:
            return adapted
        fault = _constraint_fault(adapted.constraint)
        return Refusal(FailureKind.INVALID_REQUEST, fault) if fault else adapted


def _constraint_fault(constraint: Constraint | None) -> str:
    """Why no answer could obey a constraint of the author's; empty if one can. Raises ValueError for an unknown one."""
    # Imported on first use: few vendors have formats of their own.
    from mockserver.model.regex import fault_in
    from mockserver.model.schema import schema_fault

    if constraint is not None and constraint.kind not in (known := get_args(Form)):
        raise ValueError(f"adapt: {unknown_name('kind of constraint', constraint.kind, known)}")
    if constraint is None or constraint.kind not in ("json_schema", "regex"):
        return ""
    if constraint.kind == "json_schema":
        return schema_fault(constraint.schema) or ""
    return fault_in(constraint.schema) if isinstance(constraint.schema, str) else "a regular expression is a text"


def contract_of(fields: Fields, *, strict: bool, usual_errors: bool) -> Components:
    """OpenAI's contract with further fields, and without what only its own answers always or never have. Raises
    ValueError."""
    from jsonschema_rs import meta  # slow to import

    schemas = CONTRACT()["schemas"]
    requests = [{"$ref": name} for name in schemas if name.endswith("Request")]
    asked = {"ErrorResponse", *reachable(schemas, requests)}
    schemas = {name: schema if name in asked else _open(schema) for name, schema in schemas.items()}
    theirs = set[str]().union(*(schemas[name]["properties"] for name in _REQUESTS))
    for name, schema in fields.items():
        if schema is None and name not in theirs:
            raise ValueError(f"fields: OpenAI has no {name} that could be removed")
        renamed = _renamed({name: schema}).get(name)
        if renamed is not None and renamed not in theirs:
            raise ValueError(f"fields: {name!r}: {unknown_name('field of OpenAI', renamed, sorted(theirs))}")
        own = schema[1] if isinstance(schema, tuple) else schema
        try:
            meta.validate(dict(own) if isinstance(own, Mapping) else {})
        except ValueError as error:
            raise ValueError(f"fields: {name!r} is no JSON Schema: {getattr(error, 'message', error)}") from None
    for name in _REQUESTS:
        known = schemas[name]["properties"]
        own = {each: _schema_of(schema, known, fields) for each, schema in fields.items()}
        properties = {each: schema for each, schema in {**known, **own}.items() if schema is not None}
        schemas[name] = {**schemas[name], "properties": properties, "additionalProperties": not strict}
    # Of a body of errors that is not OpenAI's, nothing is known.
    return {"schemas": schemas if usual_errors else {**schemas, "ErrorResponse": {}}}


def with_members(contract: Callable[[], Components], told: Mapping[str, Sequence[object]]) -> Components:
    """A contract in which schemas of answers have the members of some values too, by the schemas' names."""
    schemas = dict(contract()["schemas"])
    for name, values in told.items():
        for value in values:
            schemas[name] = _with_members(schemas[name], value, schemas)
    return {"schemas": schemas}


def _with_members(schema: Mapping[str, Any], value: object, schemas: dict[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        schemas[name] = _with_members(schemas[name], value, schemas)
    elif isinstance(value, Mapping) and "anyOf" not in schema:
        known = schema.get("properties", {})
        members = {name: _with_members(known.get(name, {}), each, schemas) for name, each in value.items()}
        return {"type": "object", **schema, "properties": {**known, **members}}
    elif isinstance(value, list) and value and "anyOf" not in schema:
        return {"type": "array", **schema, "items": _with_members(schema.get("items", {}), value[0], schemas)}
    return schema


def whole(fields: Fields) -> Fields:
    """The fields, and those of OpenAI's that go by another name alone as fields that there are not."""
    return {**fields, **dict.fromkeys(theirs for theirs in _renamed(fields).values() if theirs not in fields)}


def _renamed(fields: Fields) -> Mapping[str, str]:
    """The names that OpenAI has for fields."""
    named = {name: own[0] if isinstance(own, tuple) else own for name, own in fields.items()}
    return {name: theirs for name, theirs in named.items() if isinstance(theirs, str)}


def _schema_of(own: Any, known: Mapping[str, Any], fields: Fields) -> Any:
    """The schema of a field, None if there is none. Another name for a field has the schema that the field has."""
    if isinstance(own, tuple):
        return own[1] if own[0] in known else None
    if isinstance(own, str):
        return fields[own] if isinstance(fields.get(own), Mapping) else known.get(own)
    return own


def _relaxed(fields: Fields) -> Components:
    """OpenAI's contract of requests with further fields, and with the bounds of the vendor's own."""
    schemas = dict(CONTRACT()["schemas"])
    for name in _REQUESTS:
        known = dict(schemas[name]["properties"])
        for each, own in fields.items():
            theirs, schema = own if isinstance(own, tuple) else (each, own)
            if theirs in known and isinstance(schema, Mapping):
                usual = {key: value for key, value in known[theirs].items() if key not in _LEAST}
                known[theirs] = usual | {key: schema[key] for key in _MOST if key in usual and key in schema}
        schemas[name] = {**schemas[name], "properties": known, "additionalProperties": True}
    return {"schemas": schemas}


def _open(schema: Any) -> Any:
    """A schema of answers that says what the members are that it knows, but allows others, none, and other words."""
    if isinstance(schema, list):
        return [*map(_open, schema)]
    if not isinstance(schema, Mapping):
        return schema
    closing = ("required", "additionalProperties", "pattern", "enum", "minItems")
    return {key: _open(value) for key, value in schema.items() if key not in closing}
