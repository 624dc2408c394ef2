"""Environment variables that point clients at a server: the vendors' own, and the openai client's."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from mockserver.core.dialects import Clients
from mockserver.core.installed import load_dialects
from mockserver.core.messages import unknown_name
from mockserver.core.secrets import masked_text

# LlamaIndex reads only the older name of the URL, and LangChain reads it first.
OPENAI_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
OPENAI_KEY = "OPENAI_API_KEY"
# A proxy in the environment cannot reach this machine's loopback interface.
_NO_PROXY = ("NO_PROXY", "no_proxy")
_LOOPBACK = "127.0.0.1,localhost,::1"
# The modules of clients, each with the variable from which it takes its URL when a client is made; those that take it
# in the code alone have none.
LIBRARIES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("openai", "litellm", "pydantic_ai", "agents", "haystack", "semantic_kernel"), OPENAI_URLS[0]),
        **dict.fromkeys(("langchain_openai", "llama_index.llms.openai"), OPENAI_URLS[1]),
        "anthropic": "ANTHROPIC_BASE_URL",
        "langchain_anthropic": "ANTHROPIC_API_URL",
        "cerebras.cloud.sdk": "CEREBRAS_BASE_URL",
        "langchain_cerebras": "CEREBRAS_API_BASE",
        "qstash": "QSTASH_URL",
        "friendli": "",
        "yandex_ai_studio_sdk": "",
        "llama_index.llms.cerebras": "",
        "llama_index.llms.anthropic": "",
    }
)
# The modules whose clients can be given another `base_url` after they are made.
_SETTABLE = ("openai", "anthropic", "cerebras.cloud.sdk")
# Clients of vendors that are not simulated.
STRANGERS = (
    "google.genai",
    "mistralai",
    "cohere",
    "groq",
    "ollama",
    "together",
    "boto3",
    "huggingface_hub",
    "replicate",
)


def clients_of(dialect: str) -> Clients:
    """How clients are directed to a dialect. Raises ValueError if there is no dialect of that name."""
    known = load_dialects()
    if dialect not in list(known):  # a list as a marker's dialect has no hash
        raise ValueError(unknown_name("dialect", dialect, known))
    return known[dialect].clients


def environment(url: str, key: str, openai_url: str) -> dict[str, str]:
    """The variables that direct every client to a server: its URL, a key for it, and where the openai client goes."""
    variables = dict.fromkeys(OPENAI_URLS, openai_url) | {OPENAI_KEY: key} | _urls(url)
    for dialect in load_dialects().values():
        clients = dialect.clients
        variables |= dict.fromkeys(clients.roots, url) | dict.fromkeys(clients.keys, key)
        variables |= clients.more
    return variables


def recorder_environment(url: str, dialect: str | None = None) -> dict[str, str]:
    """The variables that direct clients to a recorder, which needs the caller's own keys; those of the openai client
    only if it is known whose API it is to be forwarded to."""
    variables = {**sparing_loopback(), **_urls(url), "MOCKSERVER_URL": url}
    if dialect is not None:
        variables |= dict.fromkeys(OPENAI_URLS, f"{url}/{dialect}{clients_of(dialect).openai}")
    return variables


def _urls(url: str) -> dict[str, str]:
    """The variables of the vendors' own clients and of frameworks, each with the dialect's URL on a server."""
    variables: dict[str, str] = {}
    for name, dialect in load_dialects().items():
        base, clients = f"{url}/{name}", dialect.clients
        variables |= dict.fromkeys(clients.urls, f"{base}{clients.native}")
        variables |= {variable: f"{base}{path}" for variable, path in clients.bases.items()}
    return variables


def departures(variables: Mapping[str, str]) -> list[str]:
    """Why the clients that this process has imported may have gone to their vendors, although these variables were set:
    a line for each."""
    found = [_departure(module, name, variables) for module, name in LIBRARIES.items() if module in sys.modules]
    strange = [module for module in STRANGERS if module in sys.modules]
    return found + [f"{module} is the client of a vendor that is not simulated." for module in strange]


def _departure(module: str, name: str, variables: Mapping[str, str]) -> str:
    if not name:
        return f"{module} takes its URL in the code alone: give it the server's."
    value = os.environ.get(name)
    if value is None:
        return f"{module} goes to its vendor without {name}, which something has removed from the environment."
    if value != variables.get(name):
        return f"{module} goes where {name} says, which something has changed: it is {masked_text(value)}."
    other = " unless its base_url is set" if module in _SETTABLE else ""
    return f"{module} reads {name} when a client is made: one that was made before goes to its vendor{other}."


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
