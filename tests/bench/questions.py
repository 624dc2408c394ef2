"""Questions: the measured requests, each as bytes."""

from typing import Any

from tests.bench.load import Address
from tests.bench.servers import ask, events_of
from tests.bench.wire import NUMBER, request

PATH = "/cerebras/v1/completions"
_CHAT = "/cerebras/v1/chat/completions"
# The number makes every prompt a new one if it is filled in; otherwise it is plain text.
PROMPT = f"{NUMBER} " + "Explain how a suspension bridge carries its load. " * 6
# A conversation: how many turns it grows to, and what is said in each of them.
_TURNS = 16
_SAID = "The towers carry the main cables, from which hangers lead down to the deck, and anchors hold their ends. " * 4
_ASKED = "And what happens to the cables when a long train crosses the deck on a windy day in January?"
# How many events of a stream precede its first token (an empty one, as the vendor sends it).
BEFORE = 1


def plain(tokens: int, **more: Any) -> bytes:
    """The request of a completion of exactly so many tokens."""
    return request(PATH, _body(tokens) | more)


def stream(tokens: int, **more: Any) -> bytes:
    """The same as a stream."""
    return request(PATH, _body(tokens) | {"stream": True} | more)


def long_text(characters: int) -> str:
    """A prompt of so many characters, with a place for the number of the request, all of whose lines differ."""
    # A line has more than fifty characters.
    lines = (
        f"Line {n}: the bridge at {n * 37 % 1009} carries {n * 7919 % 100_003} tons, doesn't it?\n"
        for n in range(characters // 50 + 1)
    )
    return f"{NUMBER} {''.join(lines)}"[:characters]


def long(characters: int, tokens: int = 16) -> bytes:
    """The request of a completion of a long prompt, from a model with an unbounded context window."""
    return unbounded(long_text(characters), tokens)


def unbounded(prompt: str, tokens: int = 16) -> bytes:
    """The request of a completion from a model with an unbounded context window."""
    return request("/ovms/v3/completions", {"model": "llama3", "prompt": prompt, "max_tokens": tokens})


def bare_plain(tokens: int) -> bytes:
    """The same request of a plain answer for the bare server."""
    return request("/plain", _body(tokens))


def bare_stream(tokens: int) -> bytes:
    """The same request of a stream for the bare server."""
    return request("/stream", _body(tokens) | {"stream": True})


def conversation(tokens: int, path: str = _CHAT) -> list[bytes]:
    """The requests of a conversation, each a turn longer than the one before, with a place for its number."""
    messages = [{"role": "user", "content": PROMPT}]
    sent: list[bytes] = []
    for _ in range(_TURNS):
        body = {"model": "llama3.1-8b", "messages": messages, "max_tokens": tokens, "min_tokens": tokens}
        sent.append(request(path, body))
        messages += [{"role": "assistant", "content": _SAID}, {"role": "user", "content": _ASKED}]
    return sent


def bare_conversation(tokens: int) -> list[bytes]:
    """The same requests for the bare server."""
    return conversation(tokens, "/plain")


def answers(address: Address, tokens: int) -> tuple[bytes, bytes]:
    """The product's answers, plain and streamed: the bytes for the bare server to send."""
    return ask(address, plain(tokens)), events_of(ask(address, stream(tokens)))


def _body(tokens: int) -> dict[str, Any]:
    return {"model": "llama3.1-8b", "prompt": PROMPT, "max_tokens": tokens, "min_tokens": tokens}
