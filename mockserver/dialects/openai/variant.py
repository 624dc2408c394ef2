"""Vendors that speak OpenAI's wire and differ in little: a list of models, an error body, a field more.

`variant` makes a dialect of what differs. Whoever differs in more writes operations of its own, with the functions of
this package. What authors of dialects need is imported from here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from types import MappingProxyType
from typing import Any, NamedTuple, get_type_hints

import orjson

from mockserver.core.calls import Call, Headers
from mockserver.core.dialects import Clients, Dialect, Model, Operation, Preset, RequestScope, Schemas
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import (
    Choice,
    Generation,
    GenerationRequest,
    Output,
    Position,
    Prompt,
    Sampling,
    ToolCall,
    Unseen,
    Usage,
)
from mockserver.core.installed import mismatches
from mockserver.core.messages import unknown_name
from mockserver.core.quotas import Allowance, Limit, LimitState, QuotaPolicy, per_minute
from mockserver.core.seeding import alphanumerics, hex_digits, uuid4_text
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.contracts import Components, Contract, pydantic_words, reachable
from mockserver.dialects.openai.chats import read_chat
from mockserver.dialects.openai.checks import Adapt, RequestRules, Translate
from mockserver.dialects.openai.completions import read_completion
from mockserver.dialects.openai.dialect import (
    CHAT_COMPLETIONS,
    COMPLETIONS,
    CONTRACT,
    EMBEDDINGS,
    GET_MODEL,
    LIST_MODELS,
)
from mockserver.dialects.openai.embeddings import read_embedding
from mockserver.dialects.openai.errors import ErrorBody, error_table, limits_left, stream_error, usual_body
from mockserver.dialects.openai.models import UNKNOWN, Family, Row, get_model, list_models, listed, model_row
from mockserver.dialects.openai.read import Body, bearer
from mockserver.dialects.openai.refusals import explain, without_foreign_parts
from mockserver.dialects.openai.replies import SLOT, Flavour, Members, Rendering, Segment, body_reply, date_header
from mockserver.dialects.openai.variant_answers import CHAT, COMPLETION, OF_ANSWERS, FinishWords, Writer, writer

__all__ = [
    "CHAT", "COMPLETION", "SLOT", "Allowance", "Body", "Call", "Choice", "FailureKind", "GenerationRequest", "Limit",
    "LimitState", "Members", "Model", "Operation", "QuotaPolicy", "Refusal", "Rendering", "RequestScope", "Segment",
    "alphanumerics", "body_reply", "hex_digits", "model_row", "per_minute", "pydantic_words", "uuid4_text", "variant",
]  # fmt: skip

# A schema, the name that OpenAI has for a field, or None for one that there is not.
Fields = Mapping[str, Mapping[str, Any] | bool | str | None]
HeaderValues = Mapping[str, object]


def variant(
    name: str,
    *,
    title: str,
    models: Sequence[Model],
    hosts: Sequence[str] = (),
    prefix: str | Sequence[str] = "/v1",
    row: Row = model_row,
    listing: Callable[[Sequence[Members]], object] = listed,
    fields: Fields = MappingProxyType({}),
    strict: bool = False,
    translate: Translate | None = None,
    adapt: Adapt | None = None,
    errors: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    error_body: ErrorBody = usual_body,
    quotas: Mapping[str, Allowance] | QuotaPolicy | None = None,
    limit_headers: Callable[[LimitState, float], HeaderValues] | None = None,
    headers: Callable[[Call, RequestScope], HeaderValues] = lambda call, scope: {},
    answer_headers: Callable[[Rendering], HeaderValues] = lambda rendering: {},
    latency: str | None = None,
    finish_reason: FinishWords | None = None,
    chats: Flavour = CHAT,
    completions: Flavour | None = COMPLETION,
    embeddings: Mapping[str, int] = MappingProxyType({}),
    operations: Sequence[Operation] = (),
    **members: Any,
) -> Dialect:
    """A dialect that differs from OpenAI's in these parts. Before it is given back, it is tried.

    - `prefix`: what the paths begin with, and the base URL of clients ends with; of several, the first.
    - `row`: what is told of a model in the list of models; `listing`: the body that is made of all rows.
    - `fields`: JSON Schemas of further fields of requests, or of OpenAI's own, if they differ; a text is the name that
      OpenAI has for the field, and None removes one, which is then treated as any unknown one. `strict`: whether
      unknown fields are refused, rather than ignored.
    - `translate` puts a valid body into OpenAI's words, where the vendor has other names or values for the same, or
      refuses it; `adapt` makes of the body, and of the request that it would be without fields that OpenAI has not, the
      request to a model, or a refusal.
    - `errors`, `error_body`: as of `error_table`.
    - `quotas`: the vendor's tiers, or a whole policy; `limit_headers` makes the headers of a limit's state, given the
      time in Unix seconds, if they are not OpenAI's. `headers`: further headers of every answer, errors included;
      `answer_headers`: of those that a model has given.
    - `latency`: how fast its engine is, in the notation of users.
    - `finish_reason`: the word for why a choice has ended.
    - `chats`, `completions`: how answers are written; None for a vendor without completions. `embeddings`: the models
      that embed, each with the length of its vectors. `operations`: further ones.
    - `members`: further members of `Dialect`; or of `Flavour`, for chats, and for completions too if they are about the
      answer rather than its choices. What `around`, `opening_around`, `closing_around`, `counts` and `choice_members`
      give is added to the usual.

    Raises TypeError or ValueError if something does not fit, and what functions of the author raise.
    """
    given, hints = dict(locals()), get_type_hints(variant)
    del given["members"]
    known = {**get_type_hints(Flavour), **get_type_hints(Dialect), **hints}
    possible = known.keys() - {"contract", "error_schema", "members", "return"}
    faults = [unknown_name("part of a variant", each, sorted(possible)) for each in members.keys() - possible]
    given |= {each: value for each, value in members.items() if each in possible}
    faults += [fault for each, value in given.items() for fault in mismatches(value, known[each], each)]
    for model in models if not faults else ():
        faults += mismatches(row(model), Mapping[str, object], "what row gives")
        faults += mismatches(embeddings.get(model.id, 1), int, f"embeddings[{model.id!r}]")
    if faults:
        raise TypeError("; ".join(faults))
    table = error_table(errors, error_body)
    contract = cache(partial(_contract, fields, strict=strict, usual_errors=error_body is usual_body))
    reading = _Reading(fields, contract, translate, adapt)
    own = {each: members.pop(each) for each in [*members] if each in Flavour._fields}
    if own.get("thoughts", chats.thoughts):
        reading = reading._replace(shows_thoughts=True)
    headed = partial(_headed, answer_headers)
    writers = {"chat_completions": writer(headed(chats), own, finish_reason)}
    read, write = reading.by(read_chat, _CHATS), writers["chat_completions"].write
    served = [CHAT_COMPLETIONS._replace(read=read, write=write)]
    if completions is not None:
        shared = {each: own[each] for each in OF_ANSWERS if each in own}
        writers["completions"] = writer(headed(completions), shared, finish_reason)
        read, write = reading.by(read_completion, _COMPLETIONS), writers["completions"].write
        served.append(COMPLETIONS._replace(read=read, write=write))
    if embeddings:
        families = {each: UNKNOWN._replace(dimensions=length) for each, length in embeddings.items()}
        other = next(iter(families.values()))
        embed = reading.by(read_embedding, _EMBEDDINGS, lambda model: families.get(model, other))
        served.append(EMBEDDINGS._replace(read=embed))
    asked = len(served)
    of_models: dict[str, Any] = {"row": row, "dump": chats.dump}
    listed_schemas = LIST_MODELS.schemas if listing is listed else Schemas()
    served += [
        LIST_MODELS._replace(handler=partial(list_models, **of_models, listing=listing), schemas=listed_schemas),
        GET_MODEL._replace(handler=partial(get_model, **of_models)),
    ]
    prefixes = (prefix,) if isinstance(prefix, str) else prefix
    served = [
        each._replace(paths=tuple(each.paths[0].replace("/v1", start, 1) for start in prefixes)) for each in served
    ]
    policy = QuotaPolicy(quotas) if isinstance(quotas, Mapping) else quotas
    limited = frozenset(path for each in served[:asked] for path in each.paths)
    variable = name.upper().replace("-", "_")
    usual = {
        "credentials": bearer,
        "stream_error": stream_error,
        "clients": Clients(prefixes[0], prefixes[0], (f"{variable}_BASE_URL",), (f"{variable}_API_KEY",)),
    }
    if latency is not None:
        usual |= {"presets": {name: Preset(latency, f"as fast as {title}")}, "realistic": name}
    dialect = Dialect(
        name=name,
        title=title,
        hosts=tuple(hosts),
        operations=(*served, *operations),
        errors={"documented": table, "observed": table},
        contract={"documented": contract, "observed": contract},
        models=tuple(models),
        headers=lambda call, scope: (
            date_header(int(scope.now)),
            *_limits(policy if call.path in limited else None, limit_headers, scope),
            *_raw(headers(call, scope)),
        ),
        quotas=policy,
        **{**usual, **members},
    )
    reading.try_values()
    _try(dialect._replace(operations=tuple(served)), writers)
    return dialect


# --- requests ----------------------------------------------------------------------------------------------------

_CHATS, _COMPLETIONS, _EMBEDDINGS = _REQUESTS = ("ChatCompletionRequest", "CompletionRequest", "EmbeddingRequest")
# Fields that OpenAI has not, but our models obey, each with the value that changes nothing.
_SAMPLED = {
    name: getattr(Sampling(), name)
    for name in ("top_k", "min_p", "repetition_penalty", "length_penalty", "xtc_threshold", "xtc_probability")
}
_MESSAGES = [{"role": "user", "content": "Hi"}]
# What a field of a type may hold, if its schema lists no values.
_VALUES: Mapping[str, object] = {"boolean": True, "integer": 1, "number": 0.5}


class _Reading(NamedTuple):
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
        kept = {name: value for name, value in body.items() if self.fields.get(name, True) is not None}
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
        return adapted

    def try_values(self) -> None:
        """Raise ValueError for a value of a field which the vendor accepts and nobody puts into OpenAI's words."""
        own, usual, known = Contract(self.contract, _CHATS), Contract(_relaxed, _CHATS), _relaxed()["schemas"][_CHATS]
        for name, schema in self.fields.items():
            if name not in known["properties"] or not isinstance(schema, Mapping):
                continue
            types = schema.get("type", ())
            values = [_VALUES[each] for each in ([types] if isinstance(types, str) else types) if each in _VALUES]
            for value in (*schema.get("enum", ()), *values):
                body = {"model": "m", "messages": _MESSAGES, name: value}
                found = self.in_openais_words(usual, body) if own.accepts(body) else body
                if isinstance(found, Refusal) and found.violations:
                    raise ValueError(
                        f"fields: {name!r} may be {value!r}, of which OpenAI knows nothing: translate must put it into "
                        f"OpenAI's words, leave it out, or refuse it ({found.message})"
                    )


def _contract(fields: Fields, *, strict: bool, usual_errors: bool) -> Components:
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


# --- headers -----------------------------------------------------------------------------------------------------


def _raw(headers: HeaderValues) -> RawHeaders:
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers are a mapping of names to values, not {headers!r:.80}")
    return tuple((name.lower().encode(), str(value).encode("latin-1", "replace")) for name, value in headers.items())


def _headed(answer_headers: Callable[[Rendering], HeaderValues], flavour: Flavour) -> Flavour:
    """The flavour with further headers of answers."""
    usual = flavour.headers
    return flavour._replace(
        headers=lambda rendering, around: (*usual(rendering, around), *_raw(answer_headers(rendering)))
    )


def _limits(
    policy: QuotaPolicy | None,
    limit_headers: Callable[[LimitState, float], HeaderValues] | None,
    scope: RequestScope,
) -> RawHeaders:
    """The headers of the caller's limits; where quotas are off, those of a new customer who has asked once, or too
    often."""
    states = scope.limit_states
    if not states and policy is not None and scope.refused in (None, FailureKind.RATE_LIMIT):
        allowance = next(iter(policy.tiers.values()), Allowance())
        states = tuple(
            LimitState(limit, spent=limit.amount if scope.refused else limit.measure == "requests")
            for limit in allowance.limits
        )
    if limit_headers is None:
        return limits_left(states)
    told: dict[bytes, bytes] = {}
    for state in states:
        # Of several limits with the same headers, the first counts.
        told |= {name: value for name, value in _raw(limit_headers(state, scope.now)) if name not in told}
    return tuple(told.items())


# --- trial -------------------------------------------------------------------------------------------------------

_SAID = Choice(0, 0, (1, 2), ("Hi", "!"), "stop", Prompt("Hi", "Hi", 1), positions=(Position(-0.1), Position(-0.2)))
_CALLED = _SAID._replace(
    ids=(), texts=(), positions=(), finish_reason="tool_calls", calls=(ToolCall("f", (1,), ("{}",)),), thoughts=("Hm",)
)
_TRIALS: Mapping[str, tuple[Body, Sequence[tuple[Choice, Usage]]]] = {
    "chat_completions": (
        {"messages": _MESSAGES},
        ((_SAID, Usage(1, 2)), (_CALLED, Usage(1, 3, unseen=Unseen(1)))),
    ),
    "completions": ({"prompt": "Hi"}, ((_SAID, Usage(1, 2)),)),
}


def _try(dialect: Dialect, writers: Mapping[str, Writer]) -> None:
    """Have lists be made, and a text and a call be written, plain and streamed, so that what functions of the author's
    raise is known before a server runs."""
    model = dialect.models[0].id if dialect.models else "m"
    scope = RequestScope("observed", 0.0, 0, models=dialect.models, variables={"id": model})
    for operation in dialect.operations:
        body, answers = _TRIALS.get(operation.name, ({}, ()))
        call = Call(operation.method, operation.paths[0], Headers(()), orjson.dumps({"model": model, **body}), "", 0.0)
        dialect.headers(call, scope)
        request = operation.handler(call, scope) if operation.handler else operation.read(call, scope)
        for (choice, usage), streams in product(answers, (False, True)):
            if isinstance(request, GenerationRequest):
                asked = request._replace(output=Output(streams, include_usage=True, logprobs=0))
                writers[operation.name].try_out(Generation(asked, (choice,), usage), scope)
