"""Anthropic's models (`contract/models.json`): what families of names support, and `GET /v1/models` (A12, A13)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.anthropic.errors import headers_fault, refused
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.bodies import body_reply


class ClaudeFamily(NamedTuple):
    """What models with a common beginning of their names have in common.

    - `thinking`: the types of `thinking` that it accepts; `efforts`: the reasoning efforts.
    - `shown`: whether thoughts are shown unless a request says otherwise.
    - `sampled`: whether it accepts a temperature and the like, but with `either` no `top_p` beside a temperature.
    - `forced`: whether it can be made to call a tool; `prefilled`: whether an answer may be begun by the request.
    - `instructed`: whether it accepts the role `system` in a conversation.
    - `cached`: how many tokens a beginning of a prompt has at least that is cached.
    - `pixels`: the most tokens that an image counts.
    """

    context: int = 1_000_000
    max_output: int = 128_000
    thinking: Sequence[str] = ("adaptive", "disabled")
    efforts: Sequence[str] = ("low", "medium", "high", "xhigh", "max")
    shown: bool = False
    sampled: bool = False
    either: bool = False
    forced: bool = True
    prefilled: bool = False
    instructed: bool = True
    cached: int = 1_024
    pixels: int = 4_784


# A name that nobody knows may be that of a model which accepts everything.
UNKNOWN = ClaudeFamily(
    200_000, thinking=("adaptive", "between_tools", "disabled", "enabled"), shown=True, sampled=True, prefilled=True
)
_TABLE = components(__package__, "models")()
_FAMILIES = {name: ClaudeFamily(**row) for name, row in _TABLE["families"].items()}
_ROWS: Mapping[str, Mapping[str, Any]] = {row["id"]: row for row in _TABLE["models"]}
MODELS = tuple(Model(name, "anthropic", row["max_input_tokens"], row["max_tokens"]) for name, row in _ROWS.items())
# The longest beginning of a model's name counts.
_START = re.compile("|".join(map(re.escape, sorted(_FAMILIES, key=len, reverse=True))))
_ALIASES = {re.sub(r"-\d{8}$", "", name): name for name in _ROWS}


def family_of(model: str) -> ClaudeFamily:
    """The family of a model, by its name."""
    start = _START.match(model)
    return UNKNOWN if start is None else _FAMILIES[start[0]]


def resolved(model: str) -> str:
    """The name that answers give a model: that of its snapshot for an alias of one."""
    return _ALIASES.get(model, model)


def list_models(call: Call, scope: RequestScope) -> Reply | Refusal:
    """A page of the models on offer, newest first: `limit` of them, `after_id` or `before_id`."""
    limit, after, before = (call.query_value(name) for name in ("limit", "after_id", "before_id"))
    fault = headers_fault(call)
    if fault is None and not re.fullmatch("[1-9][0-9]{0,2}|1000", limit or "20"):
        fault = refused("page_size")
    if fault is not None:
        return fault
    ids, most = [model.id for model in scope.models], int(limit or "20")
    start, stop = ids.index(after) + 1 if after in ids else 0, len(ids)
    if before in ids:
        stop = ids.index(before)
        start = max(start, stop - most)
    shown = [_row(model) for model in scope.models[start : min(start + most, stop)]]
    more = start > 0 if before in ids else start + most < stop
    first, last = (shown[0]["id"], shown[-1]["id"]) if shown else (None, None)
    return body_reply({"data": shown, "has_more": more, "first_id": first, "last_id": last})


def get_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the list, also by an alias, or the vendor's 404."""
    name = resolved(scope.variables["id"])
    fault, model = headers_fault(call), scope.listed(name)
    if fault is not None or model is None:
        return fault or Refusal(FailureKind.UNKNOWN_MODEL, model=name)
    return body_reply(_row(model))


def _row(model: Model) -> dict[str, Any]:
    usual = {"display_name": model.id, "created_at": "1970-01-01T00:00:00Z", "lifecycle": "active"}
    return {"type": "model", "id": model.id, **_ROWS.get(model.id, usual)}
