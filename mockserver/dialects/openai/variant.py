"""Vendors that speak OpenAI's wire and differ in little: a list of models, an error body, a field more.

`variant` makes a dialect of chats, completions and models from what differs. Whoever differs in more writes operations
of its own, with the functions of this package.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cache, partial
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from mockserver.core.calls import Call
from mockserver.core.dialects import Clients, Dialect, ErrorTable, Model, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import Choice, Generation, GenerationRequest
from mockserver.core.installed import mismatches
from mockserver.core.timeline import FrameBatch, LazyFrames, RawHeaders, Reply, TokenTiming
from mockserver.dialects.contracts import Components, Contract, reachable
from mockserver.dialects.openai.chats import CHAT as _OPENAI_CHAT
from mockserver.dialects.openai.chats import read_chat
from mockserver.dialects.openai.checks import Adapt, RequestRules, Translate
from mockserver.dialects.openai.completions import COMPLETION as _OPENAI_COMPLETION
from mockserver.dialects.openai.completions import read_completion
from mockserver.dialects.openai.dialect import CHAT_COMPLETIONS, COMPLETIONS, CONTRACT, GET_MODEL, LIST_MODELS
from mockserver.dialects.openai.errors import ERRORS, limits_left, stream_error
from mockserver.dialects.openai.models import UNKNOWN, Row, get_model, list_models, model_row
from mockserver.dialects.openai.read import Body, bearer, json_object
from mockserver.dialects.openai.replies import Flavour, Rendering, date_header, ordered, usage_object, write

_MEMBERS = ("id", "object", "created", "model", "choices", "usage")
# What most of these vendors write: compact bodies without OpenAI's tiers, fingerprints, refusals, annotations, details
# of the usage and padding, and first of all the role.
CHAT = _OPENAI_CHAT._replace(
    opening=lambda rendering, choice: (
        _OPENAI_CHAT.opening(rendering, choice) or ({"delta": {"role": "assistant", "content": None}},)
    ),
    counts=lambda rendering: usage_object(rendering.generation.usage),
    body=_MEMBERS,
    chunk=_MEMBERS,
    message=("role", "content", "tool_calls", "function_call"),
    plain=None,
    padding=lambda rendering: None,
)
COMPLETION = _OPENAI_COMPLETION._replace(
    body=_MEMBERS, chunk=_MEMBERS, plain=None, headers=lambda rendering, around: ()
)


def usual_headers(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer: its date, and how the caller's quotas stand, if there are any."""
    return (date_header(int(scope.now)), *limits_left(scope.limit_states))


def variant(
    name: str,
    *,
    title: str,
    models: Sequence[Model],
    errors: ErrorTable = ERRORS,
    error_schema: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] = MappingProxyType({}),
    translate: Translate | None = None,
    adapt: Adapt | None = None,
    row: Row = model_row,
    chats: Flavour = CHAT,
    completions: Flavour | None = COMPLETION,
    hosts: Sequence[str] = (),
    prefix: str = "/v1",
    strict: bool = False,
    headers: Callable[[Call, RequestScope], RawHeaders] = usual_headers,
    **members: Any,
) -> Dialect:
    """A dialect that differs from OpenAI's in these parts.

    - `errors`: a row for each kind of failure (`errors.error_table` makes them); `error_schema` is their JSON Schema,
      without which bodies of the vendor's own may be anything.
    - `fields`: JSON Schemas of further fields of requests, or of OpenAI's own, if they differ; None instead of a schema
      removes a field, which is then treated as any unknown one.
    - `translate` puts a valid body into OpenAI's words, where the vendor has other names or values for the same;
      `adapt` makes of the body, and of the request that it would be without fields that OpenAI has not, the request to
      a model, or a refusal.
    - `row`: what is told of a model in the list of models.
    - `chats`, `completions`: how answers are written; None for a vendor without completions.
    - `strict`: whether unknown fields are refused, rather than ignored.
    - `prefix`: what the paths begin with, and the base URL of clients ends with.
    - `members`: further members of `Dialect`.

    Raises TypeError if something is not of its type.
    """
    given, hints = dict(locals()), get_type_hints(variant)
    faults = [fault for each, value in given.items() for fault in mismatches(value, hints[each], each)]
    for model in models if not faults else ():
        faults += mismatches(row(model), Mapping[str, object], "what row gives")
    if faults:
        raise TypeError("; ".join(faults))
    shown, named = chats.thoughts, chats.message
    if shown and named and shown not in named:
        chats = chats._replace(message=(*named[:2], shown, *named[2:]))
    if error_schema is None and errors is not ERRORS:
        # Any: nothing is known of it.
        error_schema = {}
    contract = cache(lambda: _contract(fields, error_schema, strict=strict))
    own, removed = frozenset(fields), {name for name, schema in fields.items() if schema is None}

    def in_openais_words(body: Body) -> Body:
        kept = {name: value for name, value in body.items() if name not in removed}
        return kept if translate is None else translate(kept)

    words = in_openais_words if removed else translate
    rules = RequestRules(Contract(contract, "ChatCompletionRequest"), lambda model: UNKNOWN, words, adapt, typed=False)
    listed: dict[str, Any] = {"row": row, "dump": chats.dump}
    chat_operation = CHAT_COMPLETIONS._replace(
        paths=(f"{prefix}/chat/completions",),
        read=partial(_read, read_chat, rules, own),
        write=partial(write_checked, chats),
    )
    completion_operation = COMPLETIONS._replace(
        paths=(f"{prefix}/completions",),
        read=partial(_read, read_completion, rules._replace(contract=Contract(contract, "CompletionRequest")), own),
        write=partial(write_checked, completions or COMPLETION),
    )
    usual = {
        "credentials": bearer,
        "stream_error": stream_error,
        "clients": Clients(native=prefix, openai=prefix, keys=(f"{name.upper()}_API_KEY",)),
    }
    return Dialect(
        name=name,
        title=title,
        hosts=tuple(hosts),
        operations=(
            chat_operation,
            *((completion_operation,) if completions else ()),
            LIST_MODELS._replace(paths=(f"{prefix}/models",), handler=partial(list_models, **listed)),
            GET_MODEL._replace(paths=(f"{prefix}/models/{{id}}",), handler=partial(get_model, **listed)),
        ),
        errors={"documented": errors, "observed": errors},
        contract={"documented": contract, "observed": contract},
        models=tuple(models),
        headers=headers,
        **{**usual, **members},
    )


def _read(
    read: Callable[..., GenerationRequest | Refusal],
    rules: RequestRules,
    own: Set[str],
    call: Call,
    scope: RequestScope,
) -> GenerationRequest | Refusal:
    """The request of a call. Raises TypeError, for the author, if it cannot be read for what fields of the vendor's
    `own` hold, which `translate` should have put into OpenAI's words."""
    try:
        return read(call, scope, rules)
    except Exception:
        body: Body | Refusal = json_object(call.body)
        body = body if rules.translate is None or isinstance(body, Refusal) else rules.translate(body)
        found = Contract(CONTRACT, rules.contract.name).violations(body)
        told = "; ".join(f"{each.field}: {each.message}" for each in found if each.path and each.path[0] in own)
        if told:
            raise TypeError(f"translate must put what OpenAI has not into its words: {told}") from None
        raise


def write_checked(flavour: Flavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The same as `write`. Raises TypeError, for the author, if a function of the flavour gives what it must not."""
    rendering = Rendering(flavour, generation, pace, scope)
    with _explained(rendering):
        reply = write(flavour, generation, pace, scope)
    if not reply.streamed:
        return reply

    def frames() -> Iterator[FrameBatch]:
        with _explained(rendering):
            yield from reply.frames

    return reply._replace(frames=LazyFrames(frames))


@contextmanager
def _explained(rendering: Rendering) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        defects = [*_defects_of(rendering)]
        if defects:
            raise TypeError("; ".join(defects)) from error
        raise


def _defects_of(rendering: Rendering) -> Iterator[str]:
    """What is wrong with what the functions of the flavour give. Those that raise say so themselves."""
    flavour = rendering.flavour
    given = {Rendering: rendering, Choice: rendering.generation.choices[0], int: 0}
    for name, hint in get_type_hints(Flavour).items():
        taken, *kind = get_args(hint) or (None,)
        if not isinstance(taken, list) or not set(taken) <= given.keys():
            continue
        try:
            found = getattr(flavour, name)(*map(given.__getitem__, taken))
        except Exception:
            continue
        place = f"what {name} gives"
        defects = [*mismatches(found, kind[0], place)]
        yield from defects
        if defects:
            continue
        if name == "segments":
            texts = [each.delta for each in found if each.texts and not callable(each.delta)]
            names, slot = flavour.message, flavour.dump(flavour.slot)
            seen = [each if names is None else ordered(names, each) for each in texts]
            lost = [each for each, members in zip(texts, seen, strict=True) if slot not in flavour.dump(members)]
            where = "" if names is None else f" in one of {', '.join(names)}"
            yield from (f"{place} has no SLOT for the texts{where}: {each!r:.80}" for each in lost)
        elif "delta" in flavour.part and name in ("opening", "closing"):
            parts = [each for each in (found if name == "opening" else (found,)) if each]
            yield from (f"{place} has no 'delta': {each!r:.80}" for each in parts if "delta" not in each)


def _contract(fields: Mapping[str, Any], error_schema: Mapping[str, Any] | None, *, strict: bool) -> Components:
    """OpenAI's contract with further fields, and without what only its own answers always or never have. Raises
    ValueError."""
    from jsonschema_rs import meta  # slow to import

    schemas = CONTRACT()["schemas"]
    requests = [{"$ref": name} for name in schemas if name.endswith("Request")]
    asked = {"ErrorResponse", *reachable(schemas, requests)}
    schemas = {name: schema if name in asked else _open(schema) for name, schema in schemas.items()}
    named = ("ChatCompletionRequest", "CompletionRequest")
    unknown = {name for name, schema in fields.items() if schema is None}.difference(
        *(schemas[name]["properties"] for name in named)
    )
    if unknown:
        raise ValueError(f"fields: OpenAI has no {' and no '.join(sorted(unknown))} that could be removed")
    for name, schema in fields.items():
        try:
            meta.validate({} if schema is None else schema)
        except ValueError as error:
            raise ValueError(f"fields: {name!r} is no JSON Schema: {getattr(error, 'message', error)}") from None
    for name in named:
        known = {**schemas[name]["properties"], **fields}
        known = {field: schema for field, schema in known.items() if schema is not None}
        schemas[name] = {**schemas[name], "properties": known, "additionalProperties": not strict}
    return {"schemas": schemas if error_schema is None else {**schemas, "ErrorResponse": error_schema}}


def _open(schema: Any) -> Any:
    """A schema of answers that says what the members are that it knows, but allows others, none, and other words."""
    if isinstance(schema, list):
        return [*map(_open, schema)]
    if not isinstance(schema, Mapping):
        return schema
    closing = ("required", "additionalProperties", "pattern", "enum", "minItems")
    return {key: _open(value) for key, value in schema.items() if key not in closing}
