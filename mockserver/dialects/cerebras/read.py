"""`POST /v1/completions` becomes a request to a model, or is refused; and what chats read alike: headers, lengths, and
bodies in JSON or MessagePack, either of them optionally gzipped (vendor note A1)."""

import json
from io import BytesIO
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, GenerationRequest, Limits, Output, Stops
from mockserver.core.json_values import MOST_VALUES, has_more_values
from mockserver.dialects.cerebras.errors import exclusive, explain, refused
from mockserver.dialects.cerebras.models import find_model
from mockserver.dialects.contracts import by_edition, editions
from mockserver.dialects.openai.read import Body, json_object, sampling, stop_texts, text_prompts, whole

CONTRACT = editions(__package__)
_REQUEST = by_edition(CONTRACT, "CompletionRequest")
# Fields that the service obeys but the page does not name: the documented edition accepts and ignores them.
_SERVICE_FIELDS = ("n", "best_of", "frequency_penalty", "presence_penalty", "logit_bias")


def read(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request of `POST /v1/completions`, or why Cerebras refuses it."""
    sent = sent_object(call)
    if isinstance(sent, Refusal):
        return sent
    contract = _REQUEST[scope.edition]
    if not contract.accepts(sent):
        return explain(contract.violations(sent), sent)
    body = sent if scope.edition == "observed" else {k: v for k, v in sent.items() if k not in _SERVICE_FIELDS}
    refusal = _conflict(body)
    if refusal is not None:
        return refusal
    model = find_model(body["model"], scope)
    if isinstance(model, Refusal):
        return model
    root = body.get("grammar_root")
    request = GenerationRequest(
        model=body["model"],
        prompts=text_prompts(body.get("prompt", "")),
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=True,
            echo=bool(body.get("echo")),
            logprobs=whole(body.get("logprobs")),
            token_ids=bool(body.get("return_raw_tokens")),
        ),
        limits=Limits(
            whole(body.get("max_tokens")), least_tokens(body.get("min_tokens"), model.context), context=model.context
        ),
        stops=Stops(stop_texts(body.get("stop"))),
        sampling=sampling(body),
        constraint=None if root is None else Constraint("grammar", root),
        n=whole(body.get("n")) or 1,
        best_of=whole(body.get("best_of")) or 1,
        patience=patience(call),
    )
    return fitting(request)


def _conflict(body: Body) -> Refusal | None:
    if body.get("echo") and body.get("return_raw_tokens"):
        # "Incompatible with return_raw_tokens=true."
        return exclusive("echo", "return_raw_tokens")
    n, best_of = body.get("n") or 1, body.get("best_of")
    # The best of several results cannot be streamed; 1 is the default.
    if best_of is not None and best_of > 1 and body.get("stream"):
        return exclusive("best_of", "stream")
    if best_of is not None and best_of < n:
        return refused("best_of must be greater than or equal to n", "best_of")
    return None


def patience(call: Call) -> float | None:
    """The header `queue_threshold`, "50-20000 ms", in seconds: a request that would wait longer is refused at once."""
    text = call.headers.get("queue_threshold") or ""
    return int(text) / 1000 if text.isdecimal() and len(text) <= 5 and 50 <= int(text) <= 20_000 else None


def least_tokens(value: float | None, context: int) -> int:
    """The minimum length of an answer, in tokens; by the page, -1 is the longest sequence."""
    least = whole(value) or 0
    return context if least < 0 else least


def fitting(request: GenerationRequest) -> GenerationRequest | Refusal:
    """The request, or its refusal if one of its prompts is longer than the model's context window."""
    length, limit = max([prompt.token_count for prompt in request.prompts]), request.limits.context
    if length <= limit:
        return request
    return Refusal(
        FailureKind.CONTEXT_LENGTH,
        f"Please reduce the length of the messages or completion. Current length is {length} while limit is {limit}",
    )


# --- bodies ------------------------------------------------------------------------------------------------------

_MESSAGE_PACK = "application/vnd.msgpack"
_PLAIN = ("", "identity")
_GZIP = ("gzip", "x-gzip")

# How large a body may be once it is unpacked, in bytes.
_LONGEST_BODY = 64 * 1024 * 1024


def sent_object(call: Call) -> dict[str, Any] | Refusal:
    """The object in the body of a call, or why there is none. Any content type but MessagePack's is read as JSON."""
    data, encoding = call.body, (call.headers.get("content-encoding") or "").strip().lower()
    if encoding not in _PLAIN:
        unpacked = _inflated(data) if encoding in _GZIP else Refusal(FailureKind.UNSUPPORTED_MEDIA_TYPE)
        if isinstance(unpacked, Refusal):
            return unpacked
        data = unpacked
    kind = (call.headers.get("content-type") or "").partition(";")[0].strip().lower()
    if kind == _MESSAGE_PACK:
        return _message_pack_object(data)
    # The size of a body that was not packed has been checked on arrival.
    if data is not call.body and has_more_values(data):
        return Refusal(FailureKind.BODY_TOO_LARGE)
    found = json_object(data)
    if isinstance(found, Refusal) and found.kind is FailureKind.MALFORMED_JSON:
        from mockserver.dialects.cerebras.json_faults import json_fault  # few bodies are broken

        # Recorded: `: Invalid JSON: invalid escape at line 1 column 26527`. No field leads that line.
        return found._replace(message=f": Invalid JSON: {json_fault(data)}")
    return found


def _inflated(data: bytes) -> bytes | Refusal:
    """The unpacked body, unless it is damaged, truncated or followed by something else."""
    import gzip  # few clients pack their bodies
    import zlib

    try:
        with gzip.open(BytesIO(data)) as packed:
            body = packed.read(_LONGEST_BODY + 1)
    except (OSError, EOFError, zlib.error):
        return Refusal(FailureKind.MALFORMED_JSON, ": the request is not valid gzip")
    return body if len(body) <= _LONGEST_BODY else Refusal(FailureKind.BODY_TOO_LARGE)


class _TooManyError(Exception):
    """A body has more values than any reasonable request."""


def _message_pack_object(data: bytes) -> dict[str, Any] | Refusal:
    from msgpack import unpackb  # few clients pack their bodies

    values = 0

    def counted(value: Any) -> Any:
        nonlocal values
        values += len(value) + 1
        if values > MOST_VALUES:
            raise _TooManyError
        return value

    try:
        value = unpackb(
            data, list_hook=counted, object_hook=counted, max_array_len=MOST_VALUES, max_map_len=MOST_VALUES
        )
        # MessagePack has NaN and infinity, which are an error here; orjson would turn them into null.
        json.dumps(value, allow_nan=False)
        return json_object(orjson.dumps(value))
    except _TooManyError:
        return Refusal(FailureKind.BODY_TOO_LARGE)
    except (ValueError, TypeError, RecursionError) as error:
        if "exceeds max_" in str(error) and len(data) > MOST_VALUES:
            return Refusal(FailureKind.BODY_TOO_LARGE)
        # Not MessagePack, or something in it that JSON does not have.
        return Refusal(FailureKind.MALFORMED_JSON, ": the request is not valid MessagePack")
