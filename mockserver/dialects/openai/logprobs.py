"""Log-probabilities in the two formats of completions and of chats."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from mockserver.core.generation import Choice, Position
from mockserver.model import tokens

# Chats state the log-probabilities of tokens in so many first ranks, and this one for all others.
_RANKS = 20
_UNLIKELY = -9999.0


def legacy_logprobs(
    texts: Sequence[str], positions: Sequence[Position], offset: int, *, with_top: bool = True
) -> dict[str, Any]:
    """Log-probabilities as completions have them: four parallel lists; offsets count characters from `offset`."""
    rows: dict[str, Any] = {
        "text_offset": list(accumulate(map(len, texts), initial=offset))[: len(texts)],
        "token_logprobs": [position.logprob for position in positions],
        "tokens": list(texts),
    }
    if with_top:
        rows["top_logprobs"] = [
            {text: logprob for _, text, logprob in position.top} | {own: position.logprob}
            for own, position in zip(texts, positions, strict=True)
        ]
    return rows


def chat_logprobs(choice: Choice, start: int = 0, stop: int | None = None) -> list[dict[str, Any]]:
    """Log-probabilities as chats have them: one object per token, with its bytes and its alternatives."""
    kept = slice(start, stop)
    return [
        {**_chat_logprob(token, text, _stated(position)), "top_logprobs": [_chat_logprob(*row) for row in position.top]}
        for token, text, position in zip(choice.ids[kept], choice.texts[kept], choice.positions[kept], strict=True)
    ]


def _stated(position: Position) -> float:
    """The log-probability "if it is within the top 20 most likely tokens. Otherwise, the value -9999.0"."""
    return position.logprob if position.rank < _RANKS else _UNLIKELY


def _chat_logprob(token: int, text: str, logprob: float) -> dict[str, Any]:
    return {"token": text, "logprob": logprob, "bytes": list(_shown_bytes(token, text))}


def _shown_bytes(token: int, text: str) -> bytes:
    """The token's own bytes, which may be part of a character, unless a stop has cut its text short."""
    whole, shown = tokens.token_bytes(token), text.encode()
    return shown if shown and whole.startswith(shown) else whole
