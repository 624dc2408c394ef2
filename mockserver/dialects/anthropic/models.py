"""Anthropic's models: what families of names support, how fast they are, and `GET /v1/models` (facts A11 to A13)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from mockserver.core.dialects import Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.http import Call, Reply
from mockserver.dialects.anthropic.errors import LIMITS, headers_fault, refused
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.replies import body_reply


class ClaudeFamily(NamedTuple):
    """What models with a common beginning of their names have in common.

    - `supports`: the schema in `contract/support.json` that requests to them keep to.
    - `shown`: whether thoughts are shown unless a request says otherwise.
    - `prefilled`: whether an answer may be begun by the request.
    - `located`: whether answers say where they were made; `counted`: whether those without thoughts count them.
    - `cached`: how many tokens a beginning of a prompt has at least that is cached; `pixels`: the most of an image.
    """

    context: int = 1_000_000
    supports: str = "AnyModel"
    shown: bool = False
    prefilled: bool = False
    located: bool = True
    counted: bool = True
    cached: int = 1_024
    pixels: int = 4_784


# A name that nobody knows may be that of a model which accepts everything.
UNKNOWN = ClaudeFamily(200_000, shown=True, prefilled=True)
_TABLE = components(__package__, "models")()
_FAMILIES = {name: ClaudeFamily(**row) for name, row in _TABLE["families"].items()}
_ROWS: Mapping[str, Mapping[str, Any]] = {row["id"]: row for row in _TABLE["models"]}
MODELS = tuple(Model(name, "anthropic", row["max_input_tokens"], row["max_tokens"]) for name, row in _ROWS.items())
# The longest beginning of a model's name counts.
_START = re.compile("|".join(map(re.escape, sorted(_FAMILIES, key=len, reverse=True))))
# The snapshots that aliases stand for: answers name these.
SNAPSHOTS = {re.sub(r"-\d{8}$", "", name): name for name in _ROWS}

# How fast models are, and the preset of each size, by a part of the names of those that have it.
PRESETS = {name: Preset(*row) for name, row in LIMITS["presets"].items()}
PROMPT_CACHING = PromptCaching(block=64, lifetime=300, on_request=True)


def preset_of(model: str) -> str:
    """The preset of a model's size."""
    return next((preset for line, preset in LIMITS["sizes"].items() if line in model[:64]), "anthropic")


@lru_cache(maxsize=256)
def family_of(model: str) -> ClaudeFamily:
    """The family of a model, by its name."""
    start = _START.match(model)
    return UNKNOWN if start is None else _FAMILIES[start[0]]


@lru_cache(maxsize=256)
def model_of(name: str) -> Model:
    """A model by its name, on offer or not: an alias, a snapshot, one that nobody knows."""
    return Model(name, "anthropic", family_of(name).context, _ROWS.get(SNAPSHOTS.get(name, name), {}).get("max_tokens"))


def list_models(call: Call, scope: RequestScope) -> Reply | Refusal:
    """A page of the models on offer, newest first: `limit` of them, `after_id` or `before_id`."""
    limit, after, before = (call.query_value(name) for name in ("limit", "after_id", "before_id"))
    sized = re.fullmatch("[1-9][0-9]{0,2}|1000", limit or "20") is not None
    fault = headers_fault(call) or (None if sized else refused("page_size"))
    if fault is not None:
        return fault
    rows, most = [_row(model) for model in scope.models], int(limit or "20")
    ids = [row["id"] for row in rows]
    start, stop = ids.index(after) + 1 if after in ids else 0, ids.index(before) if before in ids else len(ids)
    found = rows[start:stop]
    shown, more = found[-most:] if before in ids else found[:most], len(found) > most
    first, last = (shown[0]["id"], shown[-1]["id"]) if shown else (None, None)
    return body_reply({"data": shown, "has_more": more, "first_id": first, "last_id": last})


def get_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the list, also by an alias, or the vendor's 404."""
    name = scope.variables["id"]
    name = SNAPSHOTS.get(name, name)
    fault, model = headers_fault(call), scope.listed(name)
    if fault is not None or model is None:
        return fault or Refusal(FailureKind.UNKNOWN_MODEL, model=name)
    return body_reply(_row(model))


def _row(model: Model) -> dict[str, Any]:
    usual = {"display_name": model.id, "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active"}
    return {"type": "model", "id": model.id, **_ROWS.get(model.id, usual)}
