"""How fast the two engines are (vendor note, part A)."""

from mockserver.core.dialects import Preset, PromptCaching
from mockserver.dialects.yandex.backends import backend_of
from mockserver.dialects.yandex.uri import parse_uri

PRESETS = {
    "yandex": Preset(
        "prefill=lognormal(280ms, 0.4, max=3s), prefill_per_token=0.1ms, itl=lognormal(19.1ms, 0.3, max=500ms), "
        "network=lognormal(20ms, 0.3, max=200ms)",
        "first token after about 0.3 s, 50 tokens/s",
    ),
    # Its chunks of 10 to 20 tokens are made by the dialect (`chunks.py`), each due with its last token.
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
    uri = parse_uri(model)
    if uri is not None and uri.scheme == "emb":
        return "yandex-embeddings"
    return "yandex-d1" if uri is not None and backend_of(uri.name).large_chunks else "yandex"
