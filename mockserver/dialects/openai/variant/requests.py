"""Requests to vendors that differ a little: read by their own contract, then, in OpenAI's words, by OpenAI's."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Sampling
from mockserver.core.http import Call
from mockserver.core.messages import unknown_name
from mockserver.dialects.contracts import Components, Contract, reachable
from mockserver.dialects.openai.checks import Adapt, RequestRules, Translate
from mockserver.dialects.openai.dialect import CONTRACT
from mockserver.dialects.openai.models import UNKNOWN, Family
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.refusals import explain, without_foreign_parts

# A schema, the name that OpenAI has for a field, or None for one that there is not.
Fields = Mapping[str, Mapping[str, Any] | bool | str | None]
_CHAT, *_ = _REQUESTS = ("ChatCompletionRequest", "CompletionRequest", "EmbeddingRequest")
# Fields that OpenAI has not, but our models obey, each with the value that changes nothing.
_SAMPLED = {
    name: getattr(Sampling(), name)
    for name in ("top_k", "min_p", "repetition_penalty", "length_penalty", "xtc_threshold", "xtc_probability")
}
# What a field of a type may hold, if its schema lists no values.
_VALUES: Mapping[str, object] = {"boolean": True, "integer": 1, "number": 0.5}


class Reading(NamedTuple):
    """How requests are read: by the vendor's contract, then, in OpenAI's words, by OpenAI's."""

    fields: Fields
    contract: Callable[[], Components]
    translate: Translate | None
    adapt: Adapt | None
    shows_thoughts: bool = False

    def by(
        self, read: Callable[..., Any], name: str, family_of: Callable[[str], Family] = lambda model: UNKNOWN
    ) -> Callable[[Call, RequestScope], GenerationRequest | Refusal]:
        """The `read` of an operation whose requests have the schema of that name."""
        words = partial(self.in_openais_words, Contract(_relaxed, name)) if self.fields or self.translate else None
        rules = RequestRules(Contract(self.contract, name), family_of, words, self.adapted, typed=False)
        return lambda call, scope: read(call, scope, rules)

    def in_openais_words(self, usual: Contract, body: Body) -> Body | Refusal:
        """A valid body in OpenAI's words; a refusal if these have no place for what it holds."""
        # Null is the default, also where OpenAI would refuse it.
        kept = {
            name: value for name, value in body.items() if value is not None and self.fields.get(name, True) is not None
        }
        for name, theirs in self.fields.items():
            if isinstance(theirs, str) and name in kept:
                kept[theirs] = kept.pop(name)
        found = kept if self.translate is None else self.translate(kept)
        if isinstance(found, Refusal) or not isinstance(found, Mapping) or usual.accepts(found):
            return found
        found = without_foreign_parts(found)
        return found if usual.accepts(found) else explain(usual.violations(found))

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
        if isinstance(adapted, Refusal) or adapted.constraint is request.constraint:
            return adapted
        fault = _constraint_fault(adapted.constraint)
        return Refusal(FailureKind.INVALID_REQUEST, fault) if fault else adapted

    def try_values(self) -> None:
        """Raise ValueError for a value of a field which the vendor accepts and nobody puts into OpenAI's words."""
        own, usual, known = Contract(self.contract, _CHAT), Contract(_relaxed, _CHAT), _relaxed()["schemas"][_CHAT]
        for name, schema in self.fields.items():
            if name not in known["properties"] or not isinstance(schema, Mapping):
                continue
            types = schema.get("type", ())
            values = [_VALUES[each] for each in ([types] if isinstance(types, str) else types) if each in _VALUES]
            for value in (*schema.get("enum", ()), *values):
                body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], name: value}
                found = self.in_openais_words(usual, body) if own.accepts(body) else body
                if isinstance(found, Refusal) and found.violations:
                    raise ValueError(
                        f"fields: {name!r} may be {value!r}, of which OpenAI knows nothing: translate must put it into "
                        f"OpenAI's words, leave it out, or refuse it ({found.message})"
                    )


def _constraint_fault(constraint: Constraint | None) -> str:
    """Why no answer could obey a constraint of the author's; empty if one can."""
    # Imported on first use: few vendors have formats of their own.
    from mockserver.model.regex import fault_in
    from mockserver.model.schema import schema_fault

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
        if isinstance(schema, str) and schema not in theirs:
            raise ValueError(f"fields: {name!r}: {unknown_name('field of OpenAI', schema, sorted(theirs))}")
        try:
            meta.validate(dict(schema) if isinstance(schema, Mapping) else {})
        except ValueError as error:
            raise ValueError(f"fields: {name!r} is no JSON Schema: {getattr(error, 'message', error)}") from None
    for name in _REQUESTS:
        known = schemas[name]["properties"]
        own = {each: known.get(schema) if isinstance(schema, str) else schema for each, schema in fields.items()}
        properties = {each: schema for each, schema in {**known, **own}.items() if schema is not None}
        schemas[name] = {**schemas[name], "properties": properties, "additionalProperties": not strict}
    # Of a body of errors that is not OpenAI's, nothing is known.
    return {"schemas": schemas if usual_errors else {**schemas, "ErrorResponse": {}}}


@cache
def _relaxed() -> Components:
    """OpenAI's contract of requests with further fields."""
    schemas = CONTRACT()["schemas"]
    return {"schemas": {**schemas, **{name: {**schemas[name], "additionalProperties": True} for name in _REQUESTS}}}


def _open(schema: Any) -> Any:
    """A schema of answers that says what the members are that it knows, but allows others, none, and other words."""
    if isinstance(schema, list):
        return [*map(_open, schema)]
    if not isinstance(schema, Mapping):
        return schema
    closing = ("required", "additionalProperties", "pattern", "enum", "minItems")
    return {key: _open(value) for key, value in schema.items() if key not in closing}
