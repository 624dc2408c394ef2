"""The models: their URIs (vendor note A1), the engines behind them (A3, A4), their headers and speed, and the list of
those on offer."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import orjson

from mockserver.core.dialects import Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Generation
from mockserver.core.http import Call, RawHeaders, Reply
from mockserver.core.seeding import derive, uuid4_text
from mockserver.dialects.openai.replies import body_reply

_FORM = re.compile(r"(gpt|emb)://([^/\s]+)/([^/\s]+)(?:/([^/\s]+))?")
_LONGEST_URI = 512
# "`latest` (default) | `rc` | `deprecated`; tuned: `.../<version>@<suffix>`"
_DEFAULT_VERSION = "latest"
_VERSION = re.compile(r"(?:latest|rc|deprecated)(?:@.+)?")


class ModelUri(NamedTuple):
    """The parts of a model URI; the folder is the customer's account, not the model's."""

    scheme: str
    folder: str
    name: str
    version: str = _DEFAULT_VERSION

    def __str__(self) -> str:
        return f"{self.scheme}://{self.folder}/{self.name}/{self.version}"


@lru_cache(maxsize=256)
def _parse_uri(text: str) -> ModelUri | None:
    """The parts of a URI, with the default version if it states none; None if the text is not a model URI."""
    found = _FORM.fullmatch(text)
    return None if found is None else ModelUri(found[1], found[2], found[3], found[4] or _DEFAULT_VERSION)


# --- backends --------------------------------------------------------------------------------------------------------


class Backend(NamedTuple):
    """How the engine of a model writes.

    Yandex' `own` state the model with the caller's folder, add `x-request-id` and echo the caller's
    `x-client-request-id`. Their calls have the name of the tool as id, an index in plain answers too, and JSON without
    white space; they ignore `parallel_tool_calls: false`. In a stream the role comes with the first text.

    With `large_chunks` a chunk of a stream has several tokens, and no usage follows. With `whole_calls` a stream has
    all calls in one chunk; with `untyped_calls` their type is empty today. `thinks`: the model reasons before it
    answers, unless a request switches that off, by its effort or, with a `template_switch`, by `enable_thinking` in
    `chat_template_kwargs`. `context` is the context window in tokens.
    """

    own: bool = False
    large_chunks: bool = False
    whole_calls: bool = False
    untyped_calls: bool = False
    thinks: bool = False
    template_switch: bool = False
    context: int = 131_072

    @property
    def stream_headers(self) -> RawHeaders:
        """The headers of a stream."""
        return _STREAM if self.own else _VLLM_STREAM


_STREAM: RawHeaders = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"))
_VLLM_STREAM: RawHeaders = (*_STREAM, (b"access-control-allow-origin", b"*"))
_D1 = Backend(own=True, large_chunks=True, whole_calls=True, context=32_768)
# By the beginning of a model's name; vLLM serves models of any other. Alice AI has the calls of D1, with the chunks,
# the ids and the usage of vLLM. DeepSeek's arguments come "in one piece", Qwen's and gpt-oss' token by token.
_FAMILIES = {
    "yandexgpt": _D1,
    "aliceai": _D1._replace(large_chunks=False),
    "llama": _D1,
    "deepseek": Backend(whole_calls=True),
    # "(gemma: `type` is `""` even in the first fragment.)"
    "gemma": Backend(untyped_calls=True),
    # Measured of qwen3.6-35b-a3b in 2026.
    "qwen": Backend(template_switch=True),
}
# Seen to send their thoughts: gpt-oss-120b and -20b, qwen3.6-35b-a3b, deepseek-v4-flash.
_THINKERS = re.compile(r"gpt-oss|qwen-?3\.[5-9]|deepseek-(?:v[4-9]|r)")


@lru_cache(maxsize=256)
def backend_of(name: str) -> Backend:
    """The engine that serves a model, by the model's name inside its URI."""
    backend = next((backend for family, backend in _FAMILIES.items() if name.startswith(family)), Backend())
    return backend._replace(thinks=_THINKERS.match(name) is not None, context=_CONTEXTS.get(name, backend.context))


# --- answers ---------------------------------------------------------------------------------------------------------

# In the body of a request to one of Yandex' own engines. It is searched for, since parsing takes milliseconds if a body
# has megabytes; slashes may be escaped.
_OWN_MODEL = re.compile(
    rb'"model"\s*:\s*"gpt:(?:\\?/){2}[^/"\\]+\\?/(?:%b)'
    % b"|".join(name.encode() for name, backend in _FAMILIES.items() if backend.own)
)


def every_answer(call: Call, scope: RequestScope) -> RawHeaders:
    """The headers of every answer, including errors; only Yandex' own engines add the ids that trace a call."""
    # "`<hex16>:<hex16>:<hex16>:1`, no zero padding"
    trace = [b"%x" % derive(scope.identity, "trace", part) for part in ("trace", "span", "parent")]
    always = ((b"x-server-trace-id", b":".join((*trace, b"1"))), (b"server", b"ycalb"))
    if _OWN_MODEL.search(call.body) is None:
        return always
    own = call.headers.get("x-client-request-id")
    echoed = ((b"x-client-request-id", own.encode("latin-1")),) if own else ()
    return (*always, (b"x-request-id", request_id(scope).encode()), *echoed)


def request_id(scope: RequestScope) -> str:
    """The id of this call within the service."""
    return uuid4_text(scope.identity, "request")


def json_reply(value: object, generation: Generation | None = None) -> Reply:
    """A reply with one JSON body, due when the generation is complete, or at once if there is none."""
    # "body ends in `\n`"
    return body_reply(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE), generation)


# --- latency ---------------------------------------------------------------------------------------------------------

PRESETS = {
    "yandex": Preset(
        "prefill=lognormal(280ms, 0.4, max=3s), prefill_per_token=0.1ms, itl=lognormal(19.1ms, 0.3, max=500ms), "
        "network=lognormal(20ms, 0.3, max=200ms)",
        "first token after about 0.3 s, 50 tokens/s",
    ),
    # Its chunks of 10 to 20 tokens are made by the dialect, each due with its last token.
    "yandex-d1": Preset(
        "yandex, prefill=lognormal(480ms, 0.4, max=3s), itl=lognormal(15.9ms, 0.3, max=500ms)",
        "first chunk after about 0.5 s, then 60 tokens/s",
    ),
    # "Embedding ~130 ms".
    "yandex-embeddings": Preset("yandex, prefill=lognormal(110ms, 0.3, max=2s)", "an embedding after about 0.13 s"),
}

# The page has `cached_tokens`, but nothing states these figures: they are usual for an engine with such models.
PROMPT_CACHING = PromptCaching(block=16, lifetime=300)


def preset_of(model: str) -> str:
    """The preset of the engine behind a model's URI."""
    uri = _parse_uri(model)
    if uri is not None and uri.scheme == "emb":
        return "yandex-embeddings"
    return "yandex-d1" if uri is not None and backend_of(uri.name).large_chunks else "yandex"


# --- on offer --------------------------------------------------------------------------------------------------------

# The folder of callers who name none.
_FOLDER = "b1gmockfolder"
# The longest text that a model embeds, in tokens.
EMBEDDING_CONTEXT = 2_048

# (scheme, name, versions, owner, context window in tokens), in the order of the recorded list.
_OFFER = (
    ("gpt", "aliceai-llm", ("latest",), "Yandex", 131_072),
    ("gpt", "gpt-oss-120b", ("latest",), "OpenAI", 131_072),
    ("gpt", "gpt-oss-20b", ("latest",), "OpenAI", 131_072),
    ("gpt", "gemma-3-27b-it", ("latest",), "Google", 131_072),
    ("gpt", "qwen3-235b-a22b-fp8", ("latest",), "Alibaba", 262_144),
    ("gpt", "yandexgpt", ("latest", "rc"), "Yandex", 32_768),
    ("gpt", "yandexgpt-lite", ("latest", "rc"), "Yandex", 32_768),
    ("emb", "text-search-doc", ("latest",), "Yandex", EMBEDDING_CONTEXT),
    ("emb", "text-search-query", ("latest",), "Yandex", EMBEDDING_CONTEXT),
    ("emb", "text-embeddings", ("latest", "rc", "deprecated"), "Yandex", EMBEDDING_CONTEXT),
)
# Models of 2026 that the vendor's guides and users name; no list that has them is recorded, so they follow the others.
_SINCE = (
    ("gpt", "aliceai-llm-flash", ("latest",), "Yandex", 65_536),
    ("gpt", "deepseek-v4-flash", ("latest",), "DeepSeek", 1_048_576),
    ("gpt", "deepseek-v4.1-flash", ("latest",), "DeepSeek", 1_048_576),
    ("gpt", "qwen3.6-35b-a3b", ("latest",), "Alibaba", 262_144),
    ("gpt", "yandexgpt-5-pro", ("latest",), "Yandex", 32_768),
    ("gpt", "yandexgpt-5-lite", ("latest",), "Yandex", 32_768),
    ("gpt", "yandexgpt-5.1", ("latest",), "Yandex", 32_768),
    ("emb", "text-embeddings-v2-doc", ("latest",), "Yandex", EMBEDDING_CONTEXT),
    ("emb", "text-embeddings-v2-query", ("latest",), "Yandex", EMBEDDING_CONTEXT),
)
_ROWS = (*_OFFER, *_SINCE)
_SCHEMES = {name: scheme for scheme, name, *_ in _ROWS}
_OWNERS = {name: owner for _, name, _, owner, _ in _ROWS}
# The llamas are from an older table, and no longer listed.
_CONTEXTS = {"llama": 8_192, "llama-lite": 8_192, **{name: context for _, name, _, _, context in _ROWS}}
_NEW = frozenset(name for _, name, *_ in _SINCE)

MODELS = tuple(
    Model(str(ModelUri(scheme, _FOLDER, name, version)), owner, context)
    for scheme, name, versions, owner, context in _ROWS
    for version in versions
)


def list_models(call: Call, scope: RequestScope) -> Reply | Refusal:
    """The models on offer, under the caller's folder; `created` is 0 for all of them (recorded)."""
    folder = _stated_folder(call) or _FOLDER
    if not _is_folder(folder):
        return _no_folder(folder, _FOLDER)
    data = [
        {"id": str(uri._replace(folder=folder)), "object": "model", "owned_by": owner, "created": 0}
        for uri, owner in _offered(scope)
    ]
    return json_reply({"object": "list", "data": data})


def _offered(scope: RequestScope) -> Iterator[tuple[ModelUri, str]]:
    """The models on offer as (URI, owner); settings may name one by its URI, as `name/version`, or by its bare name.

    Those of 2026 are on offer in the observed edition, or if the settings name them.
    """
    without_new = scope.edition == "documented" and not scope.closed_catalogue
    for model in scope.models:
        uri = _parse_uri(model.id) or _named(model.id)
        if without_new and uri.name in _NEW:
            continue
        yield uri, model.owned_by or _OWNERS.get(uri.name, "Yandex")


def _named(text: str) -> ModelUri:
    name, *version = text.split("/")[:2]
    return ModelUri(_SCHEMES.get(name, "gpt"), _FOLDER, name, *version)


# --- the model of a request ------------------------------------------------------------------------------------------

# A folder's id, not a placeholder for one; nor the id of a service account, nor an API key, which users mix up with it.
_FOLDER_ID = re.compile(r"(?!aje[a-z0-9]{17}$|AQVN)[\w.-]+")
# What the text of a variable that is not set looks like.
_UNSET = frozenset(("none", "null", "nil", "undefined", "nan"))


def checked_uri(text: str, call: Call, scope: RequestScope, scheme: str = "gpt") -> ModelUri | Refusal:
    """The URI of a request's model, or its refusal: "a bare name gives 400 `Failed to parse model URI`".

    The page on error codes names two more: `invalid model_uri` where no folder is specified, as where a model's name
    takes its place, and the third where "the folder ID is incorrect".
    """
    if "://" not in text:
        return Refusal(FailureKind.INVALID_REQUEST, "Failed to parse model URI", "model")
    uri = _parse_uri(text) if len(text) <= _LONGEST_URI else None
    if uri is None or uri.scheme != scheme or uri.folder in _SCHEMES or _VERSION.fullmatch(uri.name):
        return Refusal(FailureKind.INVALID_REQUEST, "invalid model_uri", "model")
    if not _is_folder(uri.folder):
        return _no_folder(uri.folder, caller_folder(call))
    if scope.closed_catalogue:
        known = uri in (offered._replace(folder=uri.folder) for offered, _ in _offered(scope))
    else:
        known = _VERSION.fullmatch(uri.version) is not None
    return uri if known else Refusal(FailureKind.UNKNOWN_MODEL, param="model")


def caller_folder(call: Call) -> str:
    """The folder that a call's headers state, if they do."""
    stated = _stated_folder(call)
    return stated if stated and _is_folder(stated) else _FOLDER


def _stated_folder(call: Call) -> str | None:
    # "Folder: header `OpenAI-Project: <folder_id>`"; "`x-folder-id` also seen".
    return call.headers.get("openai-project") or call.headers.get("x-folder-id")


def _is_folder(text: str) -> bool:
    return text.lower() not in _UNSET and _FOLDER_ID.fullmatch(text) is not None


def _no_folder(given: str, own: str) -> Refusal:
    words = f"Specified folder ID '{given}' does not match with service account folder ID '{own}'"
    return Refusal(FailureKind.INVALID_REQUEST, words, "model")
