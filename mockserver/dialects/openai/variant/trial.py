"""A variant is tried before it is given back, so that what its author's functions raise, or give and must not, is known
before a server runs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import product
from math import inf
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Dialect, Operation, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import (
    Choice,
    Generation,
    GenerationRequest,
    Output,
    Position,
    Prompt,
    ToolCall,
    Unseen,
    Usage,
)
from mockserver.core.http import Call, Headers, RawHeaders, Reply
from mockserver.core.installed import mismatches
from mockserver.core.messages import unknown_name
from mockserver.core.quotas import LimitState, Refused
from mockserver.dialects.contracts import Contract
from mockserver.dialects.openai.chats import CHAT
from mockserver.dialects.openai.completions import COMPLETION
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import Flavour
from mockserver.dialects.openai.variant.answers import Writer
from mockserver.dialects.openai.variant.requests import Reading

_SAID = Choice(0, 0, (1, 2), ("Hi", "!"), "stop", Prompt("Hi", "Hi", 1), positions=(Position(-0.1), Position(-0.2)))
_CALLED = _SAID._replace(
    ids=(), texts=(), positions=(), finish_reason="tool_calls", calls=(ToolCall("f", (1,), ("{}",)),), thoughts=("Hm",)
)
# Of an operation that asks a model, a body, and what may be generated for it.
_TRIALS: Mapping[str, tuple[Body, Sequence[tuple[Choice, Usage]]]] = {
    "chat_completions": (
        {"messages": [{"role": "user", "content": "Hi"}]},
        ((_SAID, Usage(1, 2)), (_CALLED, Usage(1, 3, unseen=Unseen(1)))),
    ),
    "completions": ({"prompt": "Hi"}, ((_SAID, Usage(1, 2)),)),
    "embeddings": ({"input": "Hi"}, ()),
}
_OBJECT = {"type": "object", "properties": {}, "additionalProperties": False}
_TOOLS = {"tools": [{"type": "function", "function": {"name": "f", "parameters": _OBJECT}}]}
# What chats have whose fields refer to other schemas.
_ASKED: Sequence[tuple[str, Body]] = (
    ("response_format", {"response_format": {"type": "text"}}),
    ("response_format", {"response_format": {"type": "json_object"}}),
    ("response_format", {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": _OBJECT}}}),
    ("tools", _TOOLS),
    ("tool_choice", {**_TOOLS, "tool_choice": "required"}),
    ("tool_choice", {**_TOOLS, "tool_choice": {"type": "function", "function": {"name": "f"}}}),
)
# What every usage has, what messages may have, and the flavours whose members are known.
_TOTALS = ("prompt_tokens", "completion_tokens", "total_tokens")
_MESSAGE = ("role", "content", "refusal", "annotations", "tool_calls", "function_call")
_USUAL = {"chat_completions": CHAT, "completions": COMPLETION}
# How like another one a name is that is taken for a slip.
_NEAR = 0.7
# What a field of a type may hold, whatever else its schema says.
_VALUES: Mapping[str, Sequence[object]] = {
    "boolean": (True, False),
    "integer": (1,),
    "number": (0.5,),
    "string": ("a",),
}
# Ways in which a body may be invalid: a value that is missing, one of another type, and one that has none of several
# forms.
_VIOLATIONS = (
    Violation(("model",), "required", "'model' is a required property", ["model"]),
    Violation(("messages", 0, "content"), "type", "7 is not of type 'string'", "string", 7),
    Violation(("stop",), "anyOf", "{} is not valid under any of the given schemas", [{"type": "string"}], {}),
)


class Trial(NamedTuple):
    """What is tried: the operations of a dialect that its author has not written, how they read, and how they write."""

    dialect: Dialect
    reading: Reading
    writers: Mapping[str, Writer]

    def run(self) -> Mapping[str, Sequence[object]]:
        """Have lists be made, requests with each field be read, a text and a call be written, plain and streamed, and
        each kind of failure be told: these answers, by the names of their schemas. Raises what fails, and TypeError or
        ValueError for what is not as it must be."""
        told: defaultdict[str, list[object]] = defaultdict(list)
        self._refuse_limits()
        model = self.dialect.models[0].id if self.dialect.models else "m"
        scope = RequestScope("observed", 0.0, 1, models=self.dialect.models, variables={"id": model})
        for operation in self.dialect.operations:
            body, answers = _TRIALS.get(operation.name, ({}, ()))
            body = {"model": model, **body}
            call = Call(operation.method, operation.paths[0], Headers(()), orjson.dumps(body), "", 0.0)
            headers = self.dialect.headers(call, scope)
            request = operation.handler(call, scope) if operation.handler else operation.read(call, scope)
            if isinstance(request, Refusal) and request.violations:
                raise ValueError(f"translate: OpenAI refuses what it makes of {body}: {request.message}")
            response, chunk = operation.schemas.response, operation.schemas.chunk
            if isinstance(request, Reply) and response:
                told[response] += _values_in(frame for run in request.frames for frame in run.data)
            for (choice, usage), streams in product(answers, (False, True)):
                if isinstance(request, GenerationRequest):
                    asked = request._replace(output=Output(streams, include_usage=True, logprobs=0))
                    writer = self.writers[operation.name]
                    reply, frames = writer.try_out(Generation(asked, (choice,), usage), scope)
                    _no_header_twice(reply.headers, headers)
                    values = _values_in(frames)
                    told[str(chunk if streams else response)] += values
                    for value in () if streams else values:
                        _look_at(value, writer.flavour, _USUAL[operation.name])
            if operation.name == "chat_completions":
                self._read_fields(operation, call, scope, body)
            told[self.dialect.error_schema] += self._refuse(call, scope, model)
        return told

    def _read_fields(self, operation: Operation, call: Call, scope: RequestScope, usual: Body) -> None:
        own = Contract(self.reading.contract, "ChatCompletionRequest")
        properties = self.reading.contract()["schemas"][own.name]["properties"]
        fields, _, translate, adapt, *_ = self.reading
        # Where no function of the author's reads requests, fields of OpenAI's own are as good as tried.
        reads = bool(translate or adapt)
        tried = {name: each for name, each in properties.items() if name not in usual and (reads or name in fields)}
        single = [(name, {name: value}) for name, schema in tried.items() for value in _values_of(schema)]
        models = [("model", {"model": each.id}) for each in self.dialect.models]
        for name, more in (*models, *_ASKED, *single) if reads else single:
            body = {**usual, **more}
            if not own.accepts(body):
                continue
            found = operation.read(call._replace(body=orjson.dumps(body)), scope)
            if isinstance(found, Refusal) and found.violations:
                raise ValueError(
                    f"fields: {name!r} may be {more[name]!r}, of which OpenAI knows nothing: translate must put it "
                    f"into OpenAI's words, leave it out, or refuse it ({found.message})"
                )
            for fault in mismatches(found, GenerationRequest | Refusal, "what adapt gives") if adapt else ():
                raise TypeError(fault)

    def _refuse_limits(self) -> None:
        policy = self.dialect.quotas
        if policy is None:
            return
        limits = [limit for allowance in policy.tiers.values() for limit in allowance.limits]
        over = [LimitState(each, each.amount, wait=wait, cost=1) for each in limits for wait in (1.0, inf)]
        for refused in (Refused(concurrent=1), *(Refused((state,)) for state in over)):
            for fault in mismatches(policy.refuse(refused, 0.0), Refusal, "what refuse gives"):
                raise TypeError(fault)

    def _refuse(self, call: Call, scope: RequestScope, model: str) -> list[object]:
        told = []
        for kind, row in self.dialect.errors["observed"].items():
            self.dialect.headers(call, scope._replace(refused=kind))
            refusal = Refusal(kind, identity=1, call=call)
            refusals = [refusal, refusal._replace(key="key", model=model)]
            if kind is FailureKind.INVALID_REQUEST:
                refusals.append(refusal._replace(violations=_VIOLATIONS))
            for each in refusals:
                body = row.body(each, row.message)
                told += _values_in([body if isinstance(body, bytes) else orjson.dumps(body)])
        return told


def _values_of(schema: Any) -> list[object]:
    """Values that a schema may allow."""
    if not isinstance(schema, Mapping):
        return []
    kinds = schema.get("type", ())
    found = [*schema.get("enum", ()), *(schema[name] for name in ("const", "minimum", "maximum") if name in schema)]
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        found += _VALUES.get(kind, ())
        if kind == "array":
            found += [[], *([each] for each in _values_of(schema.get("items"))[:1])]
        elif kind == "object":
            members = {name: _values_of(each) for name, each in schema.get("properties", {}).items()}
            found += [{}, {name: first for name, (first, *_) in members.items()} if all(members.values()) else {}]
    return found + [value for name in ("anyOf", "oneOf") for each in schema.get(name, ()) for value in _values_of(each)]


def _values_in(frames: Iterable[bytes]) -> list[object]:
    """The values of JSON that bodies and events are."""
    found = []
    for frame in frames:
        with suppress(orjson.JSONDecodeError):
            found.append(orjson.loads(frame.removeprefix(b"data: ")))
    return found


def _look_at(body: Any, flavour: Flavour, usual: Flavour) -> None:
    """Raise ValueError where an answer has not what every client needs, and for names that are likely misspelt, and
    TypeError for ids and finish reasons that are no texts."""
    choices, usage = body.get("choices") or [{}], body.get("usage")
    text = "message" if "message" in usual.choice else "text"
    lost = [] if usage is None else [("counts", name) for name in _TOTALS if name not in usage]
    lost += [("choice_members", text) for each in body.get("choices", ()) if text not in each]
    for function, name in lost:
        raise ValueError(
            f"answers have no {name}: what {function} gives is added to the usual if it is a part of the variant, but "
            "takes its place in chats=CHAT._replace and completions=COMPLETION._replace"
        )
    ids = [
        ("around", "id", body.get("id", "")),
        ("finish_reason", "finish_reason", choices[0].get("finish_reason", "")),
    ]
    ids += [("call_id", "id", call["id"]) for call in choices[0].get("message", {}).get("tool_calls") or ()]
    for function, name, value in ids:
        if not isinstance(value, str):
            raise TypeError(f"what {function} gives: {name} is {value!r:.80}, not a str")
    seen = {"body": body, "choice": choices[0], "message": choices[0].get("message", {})}
    for table, given in seen.items():
        known = [*given, *(getattr(usual, table) or _MESSAGE)]
        for name in getattr(flavour, table) or ():
            if name not in known and get_close_matches(name, known, 1, _NEAR):
                raise ValueError(f"{table}: {unknown_name('member', name, known)}")


def _no_header_twice(*given: RawHeaders) -> None:
    names = [name for headers in given for name, _ in headers]
    twice = next((name.decode() for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"answers would have the header {twice} twice: leave it out of headers or of answer_headers")
