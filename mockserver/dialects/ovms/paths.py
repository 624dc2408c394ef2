"""The paths at which each version of the server accepts requests to its graphs (vendor note 1)."""

from collections.abc import Mapping

from mockserver.core.dialects import Edition

Paths = Mapping[Edition, tuple[str, ...]]


def _below_roots(name: str) -> Paths:
    """Both versions know `/v3/` and `/v3/v1/`; `/v1/` has been there since v2026.3."""
    older = (f"/v3/{name}", f"/v3/v1/{name}")
    return {"documented": older, "observed": (*older, f"/v1/{name}")}


COMPLETIONS_PATHS = _below_roots("completions")
CHATS_PATHS = _below_roots("chat/completions")
EMBEDDINGS_PATHS = _below_roots("embeddings")
RERANK_PATHS = _below_roots("rerank")
TOKENIZE_PATHS: Paths = {"documented": (), "observed": _below_roots("tokenize")["observed"]}
# "since v2026.2".
RESPONSES_PATHS: Paths = {"documented": (), "observed": _below_roots("responses")["observed"]}
RELOAD_PATH = "/v1/config/reload"
