"""`POST /v1/messages` and `/v1/messages/count_tokens`: requests (facts A2 to A4, A10), which are refused since they
break the contract, or ask for what a version of the API or a family of models does not support
(`contract/support.json`), in the words of `contract/refusals.json`; and what is Anthropic's own of answers (A6 to A9).
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import GenerationRequest
from mockserver.core.http import Call, Reply
from mockserver.core.seeding import alphanumerics
from mockserver.dialects.anthropic.checks import faults
from mockserver.dialects.anthropic.errors import WORDS, betas_of, headers_fault, refused
from mockserver.dialects.anthropic.models import SNAPSHOTS, family_of
from mockserver.dialects.contracts import Contract, components, pydantic_words
from mockserver.dialects.messages import CacheMark, MessageFlavour, Writing, cache_marks, message_request, write
from mockserver.dialects.openai.read import Body, json_object
from mockserver.dialects.openai.replies import Members, body_reply

# The beta that binds thoughts to their conversations.
_BINDING = "thinking-binding-controls"


def read_message(call: Call, scope: RequestScope, schema: str = "MessageRequest") -> GenerationRequest | Refusal:
    """The request, or why Anthropic refuses it: headers, form, fields, model, what they exclude, length."""
    body = headers_fault(call) or json_object(call.body)
    if isinstance(body, Refusal):
        return _malformed(call.body) if body.kind is FailureKind.MALFORMED_JSON else body
    version = call.headers["anthropic-version"]
    betas = betas_of(call)
    unknown = {*WORDS["unknown"][version], *(() if betas else WORDS["unknown"]["without betas"])}
    # Whatever is wrong with the value of an unknown field, the vendor only looks at its name.
    known = {name: value for name, value in body.items() if name not in unknown}
    refusal = _broken(known, "anthropic", schema) or _broken(known, "support", version)
    refusal = refusal or (None if betas else _broken(known, "support", "NoBetas"))
    if refusal is not None:
        return refusal
    if len(known) < len(body):
        return refused("extra", name=min(body.keys() & unknown))
    thinking = body.get("thinking") or {}
    if thinking.get("block_binding") is not None and _BINDING not in betas:
        return refused("extra", name=f"thinking.{thinking['type']}.block_binding")
    if body.get("thread") is not None:
        # The SDK's loop of tools goes on without threads when it is told so.
        return refused("thread")._replace(code="thread_unsupported_request")
    model = scope.model(body["model"])
    if model is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, model=body["model"])
    family, marks = family_of(model.id), list[CacheMark]()
    refusal = _broken(body, "support", family.supports)
    # Most conversations are texts that end with the user's: nothing in them excludes anything else.
    is_plain = _contract("support", "Plain").accepts(body) and body["messages"][-1]["role"] == "user"
    if refusal is None and not is_plain:
        marks = [*cache_marks(body)]
        refusal = next(faults(body, marks, family), None)
    return refusal or message_request(
        body, model.id, model.context, marks, shown=family.shown, cached=family.cached, pixels=family.pixels
    )


def _malformed(body: bytes) -> Refusal:
    """Why a body is no JSON; the service reads it as we do, and tells its parser's words (users posted dozens)."""
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:
        return refused("malformed", fault=str(error))._replace(kind=FailureKind.MALFORMED_JSON)
    return Refusal(FailureKind.MALFORMED_JSON)


def count_tokens(call: Call, scope: RequestScope) -> Reply | Refusal:
    """How many tokens the prompt of a request has."""
    request = read_message(call, scope, "CountTokensRequest")
    return request if isinstance(request, Refusal) else body_reply({"input_tokens": request.prompt_tokens})


# --- refusals ---------------------------------------------------------------------------------------------------

# Violations with words of their own, by their paths and rules; the others are told as pydantic does.
_WORDINGS = {file: [(re.compile(path), *told) for path, *told in rows] for file, rows in WORDS["violations"].items()}
# Whose members are told apart by a type, which paths name beside: those of lists but `system`, and these.
_UNIONS = ("thinking", "tool_choice", "source", "cache_control")


def _broken(body: Body, file: str, schema: str) -> Refusal | None:
    """Why a body is refused that breaks a schema of `contract/<file>.json`; None if it keeps to it."""
    contract = _contract(file, schema)
    return None if contract.accepts(body) else _explained(body, contract.violations(body), file)


@cache
def _contract(file: str, schema: str) -> Contract:
    return Contract(components(__package__, file), schema)


def _explained(body: Body, violations: Sequence[Violation], file: str) -> Refusal:
    """The refusal for the first violation in the vendor's order of fields, which was measured; unknown fields come
    last."""
    known: list[object] = WORDS["order"]
    if not violations:
        # Two validators read the contract, and the strict one alone is asked for reasons.
        return Refusal(FailureKind.INVALID_REQUEST)
    v = min(violations, key=lambda each: known.index(each.path[0]) if each.path[:1] and each.path[0] in known else 99)
    # What kind of object it is comes before its other fields.
    v = next((each for each in violations if each.path and each.path == (*v.path[:-1], "type")), v)
    plain, said = ".".join(map(str, v.path)), (pydantic_words(v) or ("", "Invalid value"))[1]
    usual = "{path}: " + said.replace("a valid list", "a valid array").replace("a valid dictionary", "an object")
    words = next((words for path, rules, words in _WORDINGS[file] if v.rule in rules and path.fullmatch(plain)), usual)
    model = str(body.get("model"))
    values = [f"{each}" for each in v.expected if each is not None] if isinstance(v.expected, list) else []
    facts = {
        "found": v.found,
        "expected": ", ".join(f"'{each}'" for each in values) or v.expected,
        "values": ", ".join(values),
        "model": SNAPSHOTS.get(model, model),
        "type": body.get("type"),
        "path": _located(body, v.path),
        "parent": _located(body, v.path[:-1]),
        "message": _located(body, v.path[:2]),
    }
    message = re.sub(r"{(\w+)}", lambda name: str(facts[name[1]])[:1_000], words)
    return Refusal(FailureKind.INVALID_REQUEST, message, violations=tuple(violations))


def _located(body: Any, path: Sequence[str | int]) -> str:
    """A path as text, with the types of the blocks on the way, but for those of types themselves."""
    names, value = list[str](), body
    for step, after in zip(path, (*path[1:], "type"), strict=False):
        names.append(str(step))
        value = value.get(step) if isinstance(value, Mapping) else value[int(step)] if isinstance(value, list) else None
        tagged = step in _UNIONS or (isinstance(step, int) and path[0] != "system")
        if after != "type" and tagged and isinstance(value, Mapping):
            tag = value.get("type") or ("custom" if path[0] == "tools" else None)
            names += [tag] if isinstance(tag, str) else []
    return ".".join(names)


# --- answers -----------------------------------------------------------------------------------------------------


def _around(writing: Writing) -> Members:
    model, id_ = writing.generation.request.model, f"msg_011{alphanumerics(writing.scope.identity, 21, 'id')}"
    return {"model": SNAPSHOTS.get(model, model), "id": id_, "container": None, "diagnostics": None}


def _usage(writing: Writing, when: str) -> Members:
    """The tokens that are neither read from the cache nor written to it are counted apart from these; which members
    there are depends on the model (recorded in August 2026)."""
    usage, request = writing.generation.usage, writing.generation.request
    family = family_of(request.model)
    read, made, said = usage.cached_tokens, usage.written_tokens, usage.completion_tokens
    hour = made if request.cacheable is not None and request.cacheable.lifetime > 300 else 0
    members = {
        "input_tokens": max(usage.prompt_tokens - read - made, 0),
        "cache_creation_input_tokens": made,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": made - hour, "ephemeral_1h_input_tokens": hour},
        "output_tokens": min(said, 1) if when == "start" else said,
        "output_tokens_details": {"thinking_tokens": usage.unseen.reasoning if usage.unseen else 0},
        "service_tier": "standard",
        "inference_geo": "global" if family.located else "not_available",
    }
    lacking = {"cache_creation", "service_tier", "inference_geo"} if when == "end" else set[str]()
    if when == "start" or not (family.counted or writing.options.thoughts):
        lacking.add("output_tokens_details")
    return {name: value for name, value in members.items() if name not in lacking}


write_message = partial(
    write,
    MessageFlavour(
        message=(
            *("model", "id", "type", "role", "content", "container"),
            *("stop_reason", "stop_sequence", "stop_details", "usage", "diagnostics"),
        ),
        ending=("stop_reason", "stop_sequence", "stop_details", "container"),
        around=_around,
        usage=_usage,
        call_id=lambda writing, place: f"toolu_01{alphanumerics(writing.scope.identity, 22, 'call', place)}",
        calling={"caller": {"type": "direct"}},
        pings=True,
        pads=True,
        tidies=True,
    ),
)
