"""The models on offer, their context windows, and `GET /v1/models` (vendor note A1 and A7)."""

from collections.abc import Iterator

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Site
from mockserver.core.timeline import Reply
from mockserver.dialects.yandex.backends import backend_of
from mockserver.dialects.yandex.replies import json_reply
from mockserver.dialects.yandex.uri import ModelUri, parse_uri

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


def is_offered(uri: ModelUri, site: Site) -> bool:
    """Whether the service has a model: any with a known version, unless the catalogue is closed."""
    if not site.closed_catalogue:
        return uri.has_known_version
    return uri.model in (offered.model for offered, _ in _offered(site))


def list_models(call: Call, site: Site) -> Reply:
    """The models on offer, under the caller's folder; `created` is 0 for all of them (recorded)."""
    # "Folder: header `OpenAI-Project: <folder_id>`"; "`x-folder-id` also seen".
    folder = call.headers.get("openai-project") or call.headers.get("x-folder-id") or FOLDER
    data = [_model(uri._replace(folder=folder), owner) for uri, owner in _offered(site)]
    return json_reply({"object": "list", "data": data})


def _offered(site: Site) -> Iterator[tuple[ModelUri, str]]:
    """The models on offer as (URI, owner); settings may name one by its URI, as `name/version`, or by its bare name.

    Those of 2026 are on offer in the observed edition, or if the settings name them.
    """
    without_new = site.edition == "documented" and not site.closed_catalogue
    for model in site.models:
        uri = parse_uri(model.id) or _named(model.id)
        if without_new and uri.name in _NEW:
            continue
        yield uri, model.owned_by or _OWNERS.get(uri.name, "Yandex")


def _named(text: str) -> ModelUri:
    name, *version = text.split("/")[:2]
    return ModelUri(_SCHEMES.get(name, "gpt"), FOLDER, name, *version)


def _model(uri: ModelUri, owner: str) -> dict[str, object]:
    return {"id": str(uri), "object": "model", "owned_by": owner, "created": 0}
