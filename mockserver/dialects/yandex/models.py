"""The models: their URIs (vendor note A1), the engines behind them (A3, A4), and the list of those on offer."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.generation import Generation
from mockserver.core.timeline import RawHeaders, Reply
from mockserver.dialects.openai.bodies import body_reply

_FORM = re.compile(r"(?:gpt|emb)://[^/\s]+/[^/\s]+(?:/[^/\s]+)?")
# "version `latest` (default)"
_DEFAULT_VERSION = "latest"
# "`latest` | `rc` | `deprecated`; tuned: `.../<version>@<suffix>`"
_VERSION = re.compile(r"(?:latest|rc|deprecated)(?:@.+)?")


class ModelUri(NamedTuple):
    """The parts of a model URI; the folder is the customer's account, not the model's."""

    scheme: str
    folder: str
    name: str
    version: str = _DEFAULT_VERSION

    def __str__(self) -> str:
        return f"{self.scheme}://{self.folder}/{self.name}/{self.version}"

    @property
    def without_folder(self) -> str:
        """The form in which vLLM's answers state the model."""
        return f"{self.scheme}://{self.name}/{self.version}"

    @property
    def model(self) -> tuple[str, str, str]:
        """The identity of the model, whichever folder it is called from."""
        return self.scheme, self.name, self.version

    @property
    def has_known_version(self) -> bool:
        """Whether the version has a valid form."""
        return _VERSION.fullmatch(self.version) is not None


def parse_uri(text: str) -> ModelUri | None:
    """The parts of a URI, with the default version if it states none; None if the text is not a model URI."""
    if not _FORM.fullmatch(text):
        return None
    scheme, _, rest = text.partition("://")
    return ModelUri(scheme, *rest.split("/"))


# --- backends --------------------------------------------------------------------------------------------------------


class Backend(NamedTuple):
    """How one engine differs from the others.

    `id_prefix` precedes the UUID in the id of an answer. `names_folder`: answers state the model with the caller's
    folder. `traced`: answers have `x-request-id`, and echo the caller's `x-client-request-id`. `one_call`:
    `parallel_tool_calls: false` is obeyed. `named_calls`: a call's id is the name of its tool; `indexed_calls`: calls
    have their `index` in plain answers too; `compact_calls`: their JSON has no white space; `whole_calls`: a stream has
    all calls in one chunk. `unfinished_calls`: today's streams of calls lack their proper end.

    In a stream, `large_chunks` have several tokens each, and with `role_apart` the role has a chunk of its own.
    `context` is the context window, in tokens, of models that no table lists.
    """

    id_prefix: str
    names_folder: bool
    traced: bool
    one_call: bool
    named_calls: bool
    indexed_calls: bool
    compact_calls: bool
    whole_calls: bool
    unfinished_calls: bool
    large_chunks: bool
    role_apart: bool
    usage_in_stream: bool
    stream_headers: RawHeaders
    context: int


_STREAM: RawHeaders = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"))

D1 = Backend(
    id_prefix="",
    names_folder=True,
    traced=True,
    # "D1 ignores `parallel_tool_calls:false`"
    one_call=False,
    # "the D1 tool id equals the function name; D1 tool_calls items carry `index` even non-streaming"
    named_calls=True,
    indexed_calls=True,
    # Recorded: {"numbers":[5,4,1]} here, {"expression": " there.
    compact_calls=True,
    whole_calls=True,
    unfinished_calls=False,
    large_chunks=True,
    role_apart=False,
    # "no usage at all in the stream"
    usage_in_stream=False,
    stream_headers=_STREAM,
    context=32_768,
)
D2 = Backend(
    id_prefix="chatcmpl-",
    names_folder=False,
    traced=False,
    one_call=True,
    named_calls=False,
    indexed_calls=False,
    compact_calls=False,
    whole_calls=False,
    unfinished_calls=False,
    large_chunks=False,
    role_apart=True,
    # "a usage chunk with `choices: []` without being asked"
    usage_in_stream=True,
    stream_headers=(*_STREAM, (b"access-control-allow-origin", b"*")),
    context=131_072,
)

# Alice AI: the calls of D1, with the chunks, the ids and the usage of vLLM.
ALICE = D1._replace(id_prefix="chatcmpl-", unfinished_calls=True, large_chunks=False, usage_in_stream=True)
# DeepSeek on vLLM: "arguments in one piece", while Qwen and gpt-oss send them token by token.
_DEEPSEEK = D2._replace(whole_calls=True)

# By the beginning of a model's name, the first that fits; models of any other name are served by vLLM.
_FAMILIES = {"yandexgpt": D1, "aliceai": ALICE, "llama": D1, "deepseek": _DEEPSEEK}
# Seen to send their thoughts: gpt-oss-120b and -20b, qwen3.6-35b-a3b, deepseek-v4-flash.
_THINKERS = re.compile(r"gpt-oss|qwen-?3\.[5-9]|deepseek-(?:v[4-9]|r)")


@lru_cache(maxsize=256)
def backend_of(name: str) -> Backend:
    """The engine that serves a model, by the model's name inside its URI."""
    return next((backend for family, backend in _FAMILIES.items() if name.startswith(family)), D2)


def thinks(name: str) -> bool:
    """Whether a model of that name reasons before it answers, unless a request switches that off."""
    return _THINKERS.match(name) is not None


# --- replies ---------------------------------------------------------------------------------------------------------


def json_reply(value: object, generation: Generation | None = None) -> Reply:
    """A reply with one JSON body, due when the generation is complete, or at once if there is none."""
    # "body ends in `\n`"
    return body_reply(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE), generation)


# --- models ----------------------------------------------------------------------------------------------------------

# The folder of callers who name none.
FOLDER = "b1gmockfolder"

# Context windows in tokens, by name. The llamas are from an older table and no longer listed.
_CONTEXTS = {
    "aliceai-llm": 131_072,
    "aliceai-llm-flash": 65_536,
    "deepseek-v4-flash": 1_048_576,
    "deepseek-v4.1-flash": 1_048_576,
    "yandexgpt": 32_768,
    "yandexgpt-lite": 32_768,
    "gpt-oss-120b": 131_072,
    "gpt-oss-20b": 131_072,
    "gemma-3-27b-it": 131_072,
    "qwen3-235b-a22b-fp8": 262_144,
    "qwen3.6-35b-a3b": 262_144,
    "llama": 8_192,
    "llama-lite": 8_192,
}
# (scheme, name, versions, owner), in the order of the recorded list.
_OFFER = (
    ("gpt", "aliceai-llm", ("latest",), "Yandex"),
    ("gpt", "gpt-oss-120b", ("latest",), "OpenAI"),
    ("gpt", "gpt-oss-20b", ("latest",), "OpenAI"),
    ("gpt", "gemma-3-27b-it", ("latest",), "Google"),
    ("gpt", "qwen3-235b-a22b-fp8", ("latest",), "Alibaba"),
    ("gpt", "yandexgpt", ("latest", "rc"), "Yandex"),
    ("gpt", "yandexgpt-lite", ("latest", "rc"), "Yandex"),
    ("emb", "text-search-doc", ("latest",), "Yandex"),
    ("emb", "text-search-query", ("latest",), "Yandex"),
    ("emb", "text-embeddings", ("latest", "rc", "deprecated"), "Yandex"),
)
# Models of 2026 that the vendor's guides and users name; no list that has them is recorded, so they follow the others.
_SINCE = (
    ("gpt", "aliceai-llm-flash", ("latest",), "Yandex"),
    ("gpt", "deepseek-v4-flash", ("latest",), "DeepSeek"),
    ("gpt", "deepseek-v4.1-flash", ("latest",), "DeepSeek"),
    ("gpt", "qwen3.6-35b-a3b", ("latest",), "Alibaba"),
    ("gpt", "yandexgpt-5-pro", ("latest",), "Yandex"),
    ("gpt", "yandexgpt-5-lite", ("latest",), "Yandex"),
    ("gpt", "yandexgpt-5.1", ("latest",), "Yandex"),
    ("emb", "text-embeddings-v2-doc", ("latest",), "Yandex"),
    ("emb", "text-embeddings-v2-query", ("latest",), "Yandex"),
)
_SCHEMES = {name: scheme for scheme, name, _, _ in (*_OFFER, *_SINCE)}
_OWNERS = {name: owner for _, name, _, owner in (*_OFFER, *_SINCE)}
_NEW = frozenset(name for _, name, _, _ in _SINCE)


def context_window(name: str) -> int:
    """A model's context window in tokens, by the model's name inside its URI."""
    return _CONTEXTS.get(name) or backend_of(name).context


# The longest text that a model embeds, in tokens.
EMBEDDING_CONTEXT = 2_048

MODELS = tuple(
    Model(
        str(ModelUri(scheme, FOLDER, name, version)),
        owner,
        EMBEDDING_CONTEXT if scheme == "emb" else context_window(name),
    )
    for scheme, name, versions, owner in (*_OFFER, *_SINCE)
    for version in versions
)


def is_offered(uri: ModelUri, scope: RequestScope) -> bool:
    """Whether the service has a model: any with a known version, unless the catalogue is closed."""
    if not scope.closed_catalogue:
        return uri.has_known_version
    return uri.model in (offered.model for offered, _ in _offered(scope))


def list_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer, under the caller's folder; `created` is 0 for all of them (recorded)."""
    # "Folder: header `OpenAI-Project: <folder_id>`"; "`x-folder-id` also seen".
    folder = call.headers.get("openai-project") or call.headers.get("x-folder-id") or FOLDER
    data = [_model(uri._replace(folder=folder), owner) for uri, owner in _offered(scope)]
    return json_reply({"object": "list", "data": data})


def _offered(scope: RequestScope) -> Iterator[tuple[ModelUri, str]]:
    """The models on offer as (URI, owner); settings may name one by its URI, as `name/version`, or by its bare name.

    Those of 2026 are on offer in the observed edition, or if the settings name them.
    """
    without_new = scope.edition == "documented" and not scope.closed_catalogue
    for model in scope.models:
        uri = parse_uri(model.id) or _named(model.id)
        if without_new and uri.name in _NEW:
            continue
        yield uri, model.owned_by or _OWNERS.get(uri.name, "Yandex")


def _named(text: str) -> ModelUri:
    name, *version = text.split("/")[:2]
    return ModelUri(_SCHEMES.get(name, "gpt"), FOLDER, name, *version)


def _model(uri: ModelUri, owner: str) -> dict[str, object]:
    return {"id": str(uri), "object": "model", "owned_by": owner, "created": 0}
