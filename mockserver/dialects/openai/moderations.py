"""`POST /v1/moderations` (facts C1, E5): a text is flagged for the words in it, an image never."""

import re
from collections.abc import Mapping
from typing import Any

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.http import Call, Reply
from mockserver.core.seeding import Draws, derive
from mockserver.dialects.contracts import Contract, components
from mockserver.dialects.openai.models import SNAPSHOTS
from mockserver.dialects.openai.refusals import refused, unknown_model, valid_body
from mockserver.dialects.openai.replies import body_reply, plain

_REQUEST = Contract(components(__package__, "openai"), "ModerationRequest")
_USUAL_MODEL = "omni-moderation-latest"
# Each category with words that stand for it, in the recorded order. Enough to have both answers in a test.
_CATEGORIES: Mapping[str, re.Pattern[str]] = {
    category: re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for category, words in {
        "harassment": "you idiot|stupid idiot|shut up",
        "harassment/threatening": "i(?:'| wi)ll (?:kill|hurt|find) you|i will beat",
        "sexual": "porn|erotic|sexual(?:ly)? explicit",
        "hate": "i hate (?:all|those)|subhuman",
        "hate/threatening": "exterminate (?:all|them)",
        "illicit": "how (?:to|do i) (?:steal|launder|make (?:drugs|meth))",
        "illicit/violent": "how (?:to|do i) (?:make|build) a bomb",
        "self-harm/intent": "i want to (?:die|kill myself|hurt myself)",
        "self-harm/instructions": "how (?:to|do i) (?:kill|hurt) myself",
        "self-harm": "suicide|self-harm|cut myself|kill myself",
        "sexual/minors": "child porn",
        "violence": "kill|murder|stab|shoot (?:him|her|them|you)",
        "violence/graphic": "dismember|gore\\b|behead",
    }.items()
}
# An image is only looked at for these (the SDK's types); what nothing is looked at for has the score 0 (the guide).
_SEEN_IN_IMAGES = frozenset(
    ("sexual", "self-harm", "self-harm/intent", "self-harm/instructions", "violence", "violence/graphic")
)


def moderate(call: Call, scope: RequestScope) -> Reply | Refusal:
    """A result for each text; parts, which may be images too, have one together."""
    body = valid_body(call, _REQUEST)
    if isinstance(body, Refusal):
        return body
    name, given = body.get("model") or _USUAL_MODEL, body["input"]
    if scope.model(name) is None:
        return unknown_model(name, "moderations")
    if name.startswith("text-moderation"):
        # Retired in 2025, and since then refused (reported).
        return refused(f"please request {_USUAL_MODEL}", "model")
    rows = given if isinstance(given, list) else [given]
    if any(isinstance(row, dict) for row in rows):
        kinds = {"image" if isinstance(row, dict) and row["type"] == "image_url" else "text" for row in rows}
        texts = [row if isinstance(row, str) else row.get("text", "") for row in rows]
        results = [_result("\n".join(texts), sorted(kinds, reverse=True), scope)]
    else:
        results = [_result(text, ["text"], scope) for text in rows]
    id_ = f"modr-{derive(scope.identity, 'id') % 10_000}"
    return body_reply(plain({"id": id_, "model": SNAPSHOTS.get(name, name), "results": results}))


def moderation_result(text: str, model: str, scope: RequestScope) -> dict[str, Any]:
    """What a chat or a response that is to be moderated tells of its prompt or of its answer."""
    return {"type": "moderation_result", "model": model, **_result(text, ["text"], scope)}


def _result(text: str, kinds: list[str], scope: RequestScope) -> dict[str, Any]:
    found = {category: words.search(text) is not None for category, words in _CATEGORIES.items()}
    draws = Draws(derive(scope.seed, "moderation", text[:65_536]))
    scores = {category: _score(draws, flagged=flagged) for category, flagged in found.items()}
    applied = {
        category: [kind for kind in kinds if kind == "text" or category in _SEEN_IN_IMAGES] for category in found
    }
    return {
        "flagged": any(found.values()),
        "categories": found,
        "category_scores": {
            category: scores[category] if looked_at else 0.0 for category, looked_at in applied.items()
        },
        "category_applied_input_types": applied,
    }


def _score(draws: Draws, *, flagged: bool) -> float:
    """A score above one half if the category is flagged, else one that is close to zero."""
    share = draws.below(1_000_000) / 1_000_000
    return 0.6 + 0.39 * share if flagged else 0.002 * share**4 + 1e-6
