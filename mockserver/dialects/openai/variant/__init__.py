"""Vendors that speak OpenAI's wire and differ in little: a list of models, an error body, a field more.

`variant` makes a dialect of what differs. Whoever differs in more writes operations of its own, with the functions of
this package. What authors of dialects need is imported from here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any, get_type_hints

from mockserver.core.dialects import Clients, Dialect, Model, Operation, Preset, PromptCaching, RequestScope, Schemas
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Choice, Constraint, Generation, GenerationRequest, Usage
from mockserver.core.http import Call, RawHeaders, Reply, TokenTiming
from mockserver.core.installed import mismatches
from mockserver.core.messages import unknown_name
from mockserver.core.quotas import Allowance, Limit, LimitState, QuotaPolicy, Refused, per_minute
from mockserver.core.seeding import alphanumerics, hex_digits, uuid4_text
from mockserver.dialects.contracts import pydantic_words
from mockserver.dialects.openai.chats import read_chat
from mockserver.dialects.openai.checks import Adapt, Translate
from mockserver.dialects.openai.completions import read_completion
from mockserver.dialects.openai.dialect import CHAT_COMPLETIONS, COMPLETIONS, EMBEDDINGS, GET_MODEL, LIST_MODELS
from mockserver.dialects.openai.embeddings import read_embedding
from mockserver.dialects.openai.errors import ErrorBody, error_table, limits_left, stream_error, usual_body
from mockserver.dialects.openai.models import UNKNOWN, Row, get_model, list_models, listed, model_row
from mockserver.dialects.openai.read import Body, bearer
from mockserver.dialects.openai.replies import SLOT, Flavour, Members, Rendering, Segment, body_reply, date_header
from mockserver.dialects.openai.variant.answers import CHAT, COMPLETION, FinishWords, of_completions, writer
from mockserver.dialects.openai.variant.requests import Fields, Reading, contract_of, whole, with_members
from mockserver.dialects.openai.variant.trial import Trial

__all__ = [
    "CHAT", "COMPLETION", "SLOT", "Allowance", "Body", "Call", "Choice", "Clients", "Constraint", "FailureKind",
    "Generation", "GenerationRequest", "Limit", "LimitState", "Members", "Model", "Operation", "PromptCaching",
    "QuotaPolicy", "Refusal", "Refused", "Rendering", "Reply", "RequestScope", "Segment", "TokenTiming", "Usage",
    "Violation", "alphanumerics", "body_reply", "hex_digits", "model_row", "per_minute", "pydantic_words",
    "uuid4_text", "variant",
]  # fmt: skip

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
    json_word: bool = False,
    errors: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    error_body: ErrorBody = usual_body,
    quotas: Mapping[str, Allowance] | QuotaPolicy | None = None,
    limit_headers: Callable[[LimitState, float], HeaderValues] | None = None,
    headers: Callable[[Call, RequestScope], HeaderValues] = lambda call, scope: {},
    answer_headers: Callable[[Rendering], HeaderValues] = lambda rendering: {},
    latency: str | None = None,
    finish_reason: FinishWords | None = None,
    comment: str = "",
    chats: Flavour = CHAT,
    completions: Flavour = COMPLETION,
    embeddings: Mapping[str, int] = MappingProxyType({}),
    operations: Sequence[Operation] = (),
    without: Sequence[str] = (),
    **members: Any,
) -> Dialect:
    """A dialect that differs from OpenAI's in these parts. Before it is given back, it is tried.

    - `prefix`: what the paths begin with, and the base URL of clients ends with; of several, the first.
    - `row`: what is told of a model in the list of models; `listing`: the body that is made of all rows.
    - `fields`: JSON Schemas of further fields of requests, or of OpenAI's own, if they differ; a text is the name that
      OpenAI has for the field, with a schema of its own in a tuple; None removes one, which is then treated as any
      unknown one. `strict`: whether unknown fields are refused, rather than ignored. `json_word`: whether a chat must
      say "json" to be answered with a JSON object.
    - `translate` puts a valid body into OpenAI's words, where the vendor has other names or values for the same, or
      refuses it; `adapt` makes of the body, and of the request that it would be without fields that OpenAI has not, the
      request to a model, or a refusal.
    - `errors`, `error_body`: as of `error_table`.
    - `quotas`: the vendor's tiers, or a whole policy; `limit_headers` makes the headers of a limit's state, given the
      time in Unix seconds, if they are not OpenAI's. `headers`: further headers of every answer, errors included;
      `answer_headers`: of those that a model has given.
    - `latency`: how fast its engine is, in the notation of users.
    - `finish_reason`: the word for why a choice has ended. `comment`: a line that goes ahead of streams.
    - `chats`, `completions`: how answers are written. `embeddings`: the models that embed, each with the length of its
      vectors. `operations`: further ones; `without`: the names of those that there are not.
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
    usual_operations = ("chat_completions", "completions", "embeddings", "models", "model")
    faults += [unknown_name("operation", each, usual_operations) for each in without if each not in usual_operations]
    for model in models if not faults else ():
        faults += mismatches(row(model), Mapping[str, object], "what row gives")
        faults += mismatches(embeddings.get(model.id, 1), int, f"embeddings[{model.id!r}]")
    if faults:
        raise TypeError("; ".join(faults))
    table = error_table(errors, error_body)
    fields = whole(fields)
    contract = cache(partial(contract_of, fields, strict=strict, usual_errors=error_body is usual_body))
    reading = Reading(fields, contract, translate, adapt, json_word)
    own = {each: members.pop(each) for each in [*members] if each in Flavour._fields}
    if own.get("thoughts", chats.thoughts):
        reading = reading._replace(shows_thoughts=True)
    headed = partial(_headed, answer_headers)
    writers = {
        "chat_completions": writer(headed(chats), own, finish_reason, comment),
        "completions": writer(headed(completions), of_completions(own), finish_reason, comment),
    }
    served = [
        operation._replace(read=reading.by(read, schema), write=writers[operation.name].write)
        for operation, read, schema in (
            (CHAT_COMPLETIONS, read_chat, "ChatCompletionRequest"),
            (COMPLETIONS, read_completion, "CompletionRequest"),
        )
    ]
    if embeddings:
        families = {each: UNKNOWN._replace(dimensions=length) for each, length in embeddings.items()}
        other = next(iter(families.values()))
        embed = reading.by(read_embedding, "EmbeddingRequest", lambda model: families.get(model, other))
        served.append(EMBEDDINGS._replace(read=embed))
    of_models: dict[str, Any] = {"row": row, "dump": chats.dump}
    listed_schemas = LIST_MODELS.schemas if listing is listed else Schemas()
    served += [
        LIST_MODELS._replace(handler=partial(list_models, **of_models, listing=listing), schemas=listed_schemas),
        GET_MODEL._replace(handler=partial(get_model, **of_models)),
    ]
    prefixes = (prefix,) if isinstance(prefix, str) else prefix
    served = [
        each._replace(paths=tuple(each.paths[0].replace("/v1", start, 1) for start in prefixes))
        for each in served
        if each.name not in without
    ]
    policy = QuotaPolicy(quotas) if isinstance(quotas, Mapping) else quotas
    charged = frozenset(path for each in served if each.handler is None for path in each.paths)

    def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
        limits = _limits(policy, limit_headers, scope, charged=call.path in charged)
        # Of several headers of a name, the author's own counts.
        return tuple(dict((date_header(int(scope.now)), *limits, *_raw(headers(call, scope)))).items())

    clients = _clients_of(name, prefixes[0], members.pop("clients", Clients()))
    usual = {"credentials": bearer, "stream_error": stream_error, "clients": clients}
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
        headers=every_answer,
        quotas=policy,
        **{**usual, **members},
    )
    told = Trial(dialect._replace(operations=tuple(served)), reading, writers).run()
    whole_contract = cache(partial(with_members, contract, told))
    return dialect._replace(contract={"documented": whole_contract, "observed": whole_contract})


def _clients_of(name: str, prefix: str, given: Clients) -> Clients:
    """What points clients to a vendor: what its author says of them, else variables named after it."""
    variable = name.upper().replace("-", "_")
    usual = Clients(prefix, prefix, (f"{variable}_BASE_URL",), (f"{variable}_API_KEY",))
    every = zip(Clients._fields, given, Clients(), strict=True)
    stated: dict[str, Any] = {field: value for field, value, default in every if value != default}
    return usual._replace(**stated)


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
    *,
    charged: bool,
) -> RawHeaders:
    """The headers of the caller's limits; where quotas are off, those of a new customer who has asked once, if the call
    is charged, or too often."""
    states = scope.limit_states
    if not states and policy is not None:
        allowance, over = next(iter(policy.tiers.values()), Allowance()), scope.refused is FailureKind.RATE_LIMIT
        once = charged and scope.refused is None
        states = tuple(
            LimitState(each, spent=each.amount if over else once and each.measure == "requests")
            for each in allowance.limits
        )
    if limit_headers is None:
        return limits_left(states)
    told: dict[bytes, bytes] = {}
    for state in states:
        # Of several limits with the same headers, the first counts.
        told |= {name: value for name, value in _raw(limit_headers(state, scope.now)) if name not in told}
    return tuple(told.items())
