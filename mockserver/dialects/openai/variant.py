"""Vendors that speak OpenAI's wire and differ in little: a list of models, an error body, a field more.

`variant` makes a dialect of chats, completions and models from what differs. Whoever differs in more writes operations
of its own, with the functions of this package.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Clients, Dialect, ErrorTable, Model, RequestScope
from mockserver.core.timeline import RawHeaders
from mockserver.dialects.contracts import Components, Contract
from mockserver.dialects.openai import flavour
from mockserver.dialects.openai.bodies import date_header
from mockserver.dialects.openai.chats import CHAT as _OPENAI_CHAT
from mockserver.dialects.openai.chats import Adapt, read_chat
from mockserver.dialects.openai.completions import COMPLETION as _OPENAI_COMPLETION
from mockserver.dialects.openai.completions import read_completion
from mockserver.dialects.openai.dialect import CHAT_COMPLETIONS, COMPLETIONS, CONTRACT, GET_MODEL, LIST_MODELS
from mockserver.dialects.openai.errors import ERRORS
from mockserver.dialects.openai.families import UNKNOWN
from mockserver.dialects.openai.fields import bearer

_MEMBERS = ("id", "object", "created", "model", "choices", "usage")
# What most of these vendors write: compact bodies without OpenAI's tiers, fingerprints and padding.
CHAT = _OPENAI_CHAT._replace(body=_MEMBERS, chunk=_MEMBERS, plain=None, obfuscates=lambda rendering: False)
COMPLETION = _OPENAI_COMPLETION._replace(
    body=_MEMBERS, chunk=_MEMBERS, plain=None, headers=lambda rendering, around: ()
)


def dated(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer: its date."""
    return (date_header(scope.now),)


def variant(
    name: str,
    *,
    title: str,
    models: Sequence[Model],
    errors: ErrorTable = ERRORS,
    error_schema: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] = MappingProxyType({}),
    adapt: Adapt | None = None,
    chats: flavour.Flavour = CHAT,
    completions: flavour.Flavour = COMPLETION,
    hosts: Sequence[str] = (),
    prefix: str = "/v1",
    strict: bool = False,
    headers: Callable[[Call, RequestScope], RawHeaders] = dated,
    **members: Any,
) -> Dialect:
    """A dialect that differs from OpenAI's in these parts.

    - `errors`: a row for each kind of failure (`errors.error_table` makes them); `error_schema` is their JSON Schema.
    - `fields`: JSON Schemas of further fields of requests; `adapt` makes of a body that has them, and of the request
      that it would be without them, the request to a model, or a refusal.
    - `chats`, `completions`: how answers are written.
    - `strict`: whether unknown fields are refused, rather than ignored.
    - `prefix`: what the paths begin with; `members` are further members of `Dialect`.
    """
    contract = cache(lambda: _contract(fields, error_schema, strict=strict))
    asked: dict[str, Any] = {"family_of": lambda model: UNKNOWN, "adapt": adapt}
    chat_operation = CHAT_COMPLETIONS._replace(
        paths=(f"{prefix}/chat/completions",),
        read=partial(read_chat, contract=Contract(contract, "ChatCompletionRequest"), **asked),
        write=partial(flavour.write, chats),
    )
    completion_operation = COMPLETIONS._replace(
        paths=(f"{prefix}/completions",),
        read=partial(read_completion, contract=Contract(contract, "CompletionRequest"), **asked),
        write=partial(flavour.write, completions),
    )
    usual = {
        "credentials": bearer,
        "clients": Clients(native=prefix, openai=prefix, keys=(f"{name.upper()}_API_KEY",)),
    }
    return Dialect(
        name=name,
        title=title,
        hosts=tuple(hosts),
        operations=(
            chat_operation,
            completion_operation,
            LIST_MODELS._replace(paths=(f"{prefix}/models",)),
            GET_MODEL._replace(paths=(f"{prefix}/models/{{id}}",)),
        ),
        errors={"documented": errors, "observed": errors},
        contract={"documented": contract, "observed": contract},
        models=tuple(models),
        headers=headers,
        **{**usual, **members},
    )


def _contract(fields: Mapping[str, Any], error_schema: Mapping[str, Any] | None, *, strict: bool) -> Components:
    """OpenAI's contract with further fields, and without what only its own answers always have."""
    schemas: dict[str, Any] = {**CONTRACT()["schemas"]}
    for name in ("ChatCompletionRequest", "CompletionRequest"):
        known = {**schemas[name]["properties"], **fields}
        schemas[name] = {**schemas[name], "properties": known, "additionalProperties": not strict}
    for name in ("ChatCompletion", "ChatCompletionChunk", "Completion"):
        known = {**schemas[name]["properties"], "id": {"type": "string"}}
        schemas[name] = {"type": "object", "required": ["object", "choices"], "properties": known}
    return {"schemas": schemas if error_schema is None else {**schemas, "ErrorResponse": error_schema}}
