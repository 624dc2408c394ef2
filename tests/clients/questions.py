"""Prompts and checks for all clients, and the headers that choose an edition or a fault."""

from typing import Any, Protocol

PROMPT = "Write a few sentences about the harbour of a small town in autumn."
EDITIONS = ("documented", "observed")
EDITION = "X-Mockserver-Edition"
RATE_LIMITED = {"X-Mockserver-Fault": '{ kind = "error", error = "rate_limit" }'}
TIMEOUT = 30.0


class Server(Protocol):
    """The session's server, as the fixture `server` gives it: `url` has no slash at its end."""

    @property
    def url(self) -> str: ...


def middle_of(text: str) -> str:
    """Some characters from the middle of a text, to stop it there."""
    return text[len(text) // 2 :][:6]


def before(text: str, stop: str) -> str:
    """What is left of a text that ends where `stop` begins."""
    return text[: text.index(stop)]


def check_logprobs(choice: Any, tokens: int, alternatives: int) -> None:
    """The log-probabilities of a chat's choice, in OpenAI's shape, are those of so many tokens, which are its text."""
    found = choice.logprobs.content
    assert "".join(token.token for token in found) == choice.message.content
    assert len(found) == tokens
    for token in found:
        assert token.logprob <= 0
        assert token.bytes == list(token.token.encode())
        assert len(token.top_logprobs) == alternatives
