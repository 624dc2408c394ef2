"""Environment variables that point clients at a server: the vendors' own, and the openai client's."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Protocol

from mockserver.core.dialects import Clients, Dialect, load_dialects
from mockserver.core.messages import unknown_name

# LlamaIndex reads only the older name of the URL, and LangChain reads it first.
OPENAI_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
OPENAI_KEY = "OPENAI_API_KEY"
# A proxy in the environment cannot reach this machine's loopback interface.
_NO_PROXY = ("NO_PROXY", "no_proxy")
_LOOPBACK = "127.0.0.1,localhost,::1"


class Destination(Protocol):
    """Where clients are directed."""

    @property
    def url(self) -> str: ...

    @property
    def api_key(self) -> str: ...

    def base_url(self, dialect: str | None = None) -> str: ...

    def openai_base_url(self, dialect: str | None = None) -> str: ...


def clients_of(dialect: str) -> Clients:
    """How clients are directed to a dialect. Raises ValueError if there is no dialect of that name."""
    known = _dialects()
    if dialect not in list(known):  # a list as a marker's dialect has no hash
        raise ValueError(unknown_name("dialect", dialect, known))
    return known[dialect].clients


def environment(place: Destination) -> dict[str, str]:
    """The variables that direct every client to a destination."""
    variables = dict.fromkeys(OPENAI_URLS, place.openai_base_url()) | {OPENAI_KEY: place.api_key}
    for name, dialect in _dialects().items():
        clients = dialect.clients
        variables |= dict.fromkeys(clients.urls, place.base_url(name)) | _bases(f"{place.url}/{name}", clients)
        variables |= dict.fromkeys(clients.roots, place.url) | dict.fromkeys(clients.keys, place.api_key)
        variables |= clients.more
    return variables


def recorder_environment(url: str, dialect: str | None = None) -> dict[str, str]:
    """The variables that direct clients to a recorder, which needs the caller's own keys; those of the openai client
    only if it is known whose API it is to be forwarded to."""
    variables: dict[str, str] = {}
    for name, known in _dialects().items():
        clients, base = known.clients, f"{url}/{name}"
        variables |= dict.fromkeys(clients.urls, f"{base}{clients.native}") | _bases(base, clients)
    if dialect is not None:
        variables |= dict.fromkeys(OPENAI_URLS, f"{url}/{dialect}{clients_of(dialect).openai}")
    return {**sparing_loopback(), **variables, "MOCKSERVER_URL": url}


def _bases(url: str, clients: Clients) -> dict[str, str]:
    """The variables of frameworks' clients, for a dialect at a URL."""
    return {variable: f"{url}{path}" for variable, path in clients.bases.items()}


def sparing_loopback() -> dict[str, str]:
    """The variables that exclude loopback from proxying, in addition to what they already exclude."""
    return {name: ",".join(filter(None, (os.environ.get(name), _LOOPBACK))) for name in _NO_PROXY}


@contextmanager
def patched(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables in the environment temporarily, and exclude loopback from proxying."""
    wanted = {**sparing_loopback(), **variables}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@cache
def _dialects() -> Mapping[str, Dialect]:
    return load_dialects()
