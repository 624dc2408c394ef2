"""The fields and credentials of requests in OpenAI's format, as all APIs that descend from it have them."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Prompt, Sampling
from mockserver.core.json_values import DEEPEST, is_shallow
from mockserver.model import tokens
from mockserver.model.tokens import token_count

# The body of a request, or an object in it, by the names of its fields.
Body = Mapping[str, Any]


def json_object(body: bytes) -> dict[str, Any] | Refusal:
    """The body as a JSON object, or why it is none; what nests absurdly deep counts as malformed."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Refusal(FailureKind.MALFORMED_JSON)
    if not isinstance(value, dict):
        return Refusal(FailureKind.NOT_AN_OBJECT)
    # Each level has a bracket: few bodies have so many.
    if body.count(b"[") + body.count(b"{") > DEEPEST and not is_shallow(value):
        return Refusal(FailureKind.MALFORMED_JSON)
    return value


def bearer(call: Call) -> str | None:
    """The key of an `Authorization: Bearer` header, None if there is none."""
    scheme, _, key = (call.headers.get("authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def stop_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """A `stop` field as a tuple: one text, several, or none."""
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def whole(value: float | None) -> int | None:
    """An integer as an int: JSON Schema accepts 3.0 as one too."""
    return None if value is None else int(value)


def number_or(value: float | None, default: float) -> float:
    """The number, or the default if there is none."""
    return default if value is None else value


_SAMPLING_FIELDS = {"seed", "temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias"}
_USUAL = Sampling()


def sampling(body: Mapping[str, Any]) -> Sampling:
    """How the tokens are drawn, by the fields that OpenAI has for it; null stands for the default."""
    if _SAMPLING_FIELDS.isdisjoint(body):
        return _USUAL
    seed = whole(body.get("seed"))
    return Sampling(
        seeds=() if seed is None else (seed,),
        temperature=number_or(body.get("temperature"), 1.0),
        top_p=number_or(body.get("top_p"), 1.0),
        frequency_penalty=number_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=number_or(body.get("presence_penalty"), 0.0),
        logit_bias=token_biases(body.get("logit_bias")),
    )


def token_biases(value: Mapping[str, float] | None) -> tuple[tuple[int, float], ...]:
    """A `logit_bias` field as (token, bias); keys that are no token's id are ignored."""
    return tuple((int(key), float(bias)) for key, bias in (value or {}).items() if _is_token(key))


def _is_token(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < tokens.VOCABULARY_SIZE


def text_prompt(value: str | Sequence[int]) -> Prompt:
    """A prompt to be continued, given as text or as token ids."""
    if isinstance(value, str):
        return Prompt(value, value, token_count(value))
    ids = tuple(int(token) for token in value)
    text = tokens.decode(ids)
    return Prompt(text, text, len(ids), ids=ids)


def text_prompts(value: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]) -> tuple[Prompt, ...]:
    """The `prompt` field of a completions request: a text, texts, token ids, or lists of them."""
    if isinstance(value, str) or not value or isinstance(value[0], int | float):
        return (text_prompt(value),)  # type: ignore[arg-type]
    return tuple(text_prompt(item) for item in value)  # type: ignore[arg-type]
