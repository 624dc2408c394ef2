"""OpenAI's models: families by the beginnings of their names, those on offer today, how fast they are, and the list of
these.

The tables are in `contract/models.json`. Efforts are those that clients have verified in 2026; contexts and longest
answers are the vendor's pages'.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.dialects import Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Effort
from mockserver.core.http import Call, Reply
from mockserver.core.seeding import hex_digits
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.replies import body_reply, plain, pretty

# The endpoints that ask a model.
Endpoint = Literal["chat", "completions", "responses", "embeddings", "moderations"]
_CHATS: tuple[Endpoint, ...] = ("chat", "responses")
# When a model accepts function tools in chats. `without_effort` and `only_none` are alike but for the refusal's words.
ChatTools = Literal["always", "without_effort", "only_none", "never"]

# The vendor's words for efforts as models here know them: none reasons longer than `xhigh`.
EFFORTS: Mapping[str, Effort] = MappingProxyType({
    "none": "none", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh",
    "max": "xhigh",
})  # fmt: skip


class Family(NamedTuple):
    """What models with a common beginning of their names have in common.

    - `efforts`: the reasoning efforts that it accepts, the default first; empty if it does not reason.
    - `context`, `max_output`: in tokens; `max_input` if a prompt may not fill the context.
    - `endpoints`: where it is served.
    - `stops`: whether it accepts `stop`; `instructed`: whether it accepts system messages.
    - `chat_tools`: when it accepts function tools in chats; `parallel`: whether these accept `parallel_tool_calls`.
    - `sees`, `hears`: whether it accepts images and sounds; `searches`: whether its chats search the web.
    - `fingerprinted`: whether its chats have a `system_fingerprint`, which is null otherwise.
    - `named_finish`: the finish reason of a chat whose `tool_choice` named the function.
    - `top_p`, `reasoning_context`: what responses echo if the request says nothing of them; `cache_retentions`: those
      that it accepts, the first of which they echo; `cache_options`: whether it accepts `prompt_cache_options`.
    - `phased`: whether messages of its responses have a `phase`.
    - `dimensions`: the length of its embeddings; `shortens`: whether they may be shorter.
    - `owner`: `owned_by` of its models.
    """

    efforts: tuple[str, ...] = ()
    context: int = 128_000
    max_output: int = 16_384
    max_input: int | None = None
    endpoints: tuple[Endpoint, ...] = _CHATS
    stops: bool = True
    instructed: bool = True
    chat_tools: ChatTools = "always"
    parallel: bool = True
    sees: bool = True
    hears: bool = False
    searches: bool = False
    fingerprinted: bool = False
    named_finish: Literal["stop", "tool_calls"] = "tool_calls"
    top_p: float = 1.0
    cache_retentions: tuple[str, ...] = ("in_memory", "24h")
    reasoning_context: str = "current_turn"
    cache_options: bool = False
    phased: bool = False
    dimensions: int = 0
    shortens: bool = False
    owner: str = "system"


_TABLE = components(__package__, "models")()


def _families() -> dict[str, Family]:
    """The families by the beginnings of their models' names: a row says how one differs from what it is `like`."""
    found: dict[str, Family] = {}
    for name, row in _TABLE["families"].items():
        changes: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in row.items()}
        base = changes.pop("like", None)
        found[name] = (found[base] if base else Family())._replace(**changes)
    return found


# The longest beginning of a model's name counts.
_FAMILIES = _families()
_START = re.compile("|".join(map(re.escape, sorted(_FAMILIES, key=len, reverse=True))))
# Models of these kinds are served at `/v1/responses` alone.
_ONLY_RESPONSES = re.compile(r"-(?:pro|codex|deep-research)\b")
# A name that nobody knows may be that of any model: it is served everywhere, and does not reason.
UNKNOWN = Family(
    endpoints=("chat", "completions", "responses", "embeddings", "moderations"), dimensions=1_536, shortens=True
)


@lru_cache(maxsize=256)
def family_of(model: str) -> Family:
    """The family of a model, by its name; that of a fine-tuned model is its base model's."""
    name = model.removeprefix("ft:")
    start = _START.match(name)
    family = UNKNOWN if start is None else _FAMILIES[start[0]]
    if family.endpoints == _CHATS and _ONLY_RESPONSES.search(name, 0, 64):
        return family._replace(endpoints=("responses",), chat_tools="always")
    return family


# --- the models on offer -----------------------------------------------------------------------------------------

# The models on offer, with the second of their creation, where that is not known that of the day of their release.
_CREATED: Mapping[str, int] = _TABLE["created"]
# The dated snapshots that answers name, also for names that stand for others, and for models that are shut down by now.
SNAPSHOTS: Mapping[str, str] = _TABLE["snapshots"]
# The service tiers that answer who asks for these.
TIERS: Mapping[str, str] = MappingProxyType({"auto": "default", "fast": "priority"})


def model_of(name: str) -> Model:
    """A model by its name, on offer or not: an older one, a snapshot, a fine-tuned one, one that nobody knows."""
    family = family_of(name)
    return Model(name) if family is UNKNOWN else Model(name, family.owner, family.context, family.max_output)


MODELS: tuple[Model, ...] = tuple(map(model_of, _CREATED))


@lru_cache(maxsize=256)
def fingerprint_of(model: str, family: Family) -> str | None:
    """The `system_fingerprint` of a model's chats, None for null: `fp_` and ten hexadecimal digits."""
    return f"fp_{hex_digits(0, 10, 'fingerprint', SNAPSHOTS.get(model, model))}" if family.fingerprinted else None


# --- speed -------------------------------------------------------------------------------------------------------

# By what users measure: first tokens after half a second, the smallest models some 150 tokens a second.
PRESETS = {name: Preset(*row) for name, row in _TABLE["presets"].items()}
# "Cache hits occur in increments of 128 tokens"; prompts are kept for five to ten minutes without use.
PROMPT_CACHING = PromptCaching(block=128, lifetime=300)


def preset_of(model: str) -> str:
    """The preset of a model's size, by the first part that its name has."""
    return next((preset for part, preset in _TABLE["sizes"].items() if part in model[:64]), "openai")


# --- the list of models ------------------------------------------------------------------------------------------

Row = Callable[[Model], Mapping[str, object]]
Dump = Callable[[object], bytes]


def model_row(model: Model) -> dict[str, object]:
    """What is told of a model."""
    # Models that only the settings know are as old as gpt-4o.
    created = _CREATED.get(model.id, _CREATED["gpt-4o"])
    return {"id": model.id, "object": "model", "created": created, "owned_by": model.owned_by or "system"}


def listed(rows: Sequence[Mapping[str, object]]) -> object:
    """The list that is made of what is told of each model."""
    return {"object": "list", "data": rows}


def list_models(
    call: Call,
    scope: RequestScope,
    row: Row = model_row,
    dump: Dump = plain,
    listing: Callable[[Sequence[Mapping[str, object]]], object] = listed,
) -> Reply:
    """The models on offer; a vendor may tell something else of each and of all, and lay bodies out in its own way."""
    return body_reply(dump(listing([row(model) for model in scope.models])))


def get_model(call: Call, scope: RequestScope, row: Row = model_row, dump: Dump = plain) -> Reply | Refusal:
    """One model of the list, or the vendor's 404."""
    found = _found(scope)
    return body_reply(dump(row(found))) if isinstance(found, Model) else found


def delete_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """The refusal to delete a model that is nobody's own; a fine-tuned one is said to be deleted, but stays."""
    name = scope.variables["id"]
    if name.startswith("ft:"):
        return body_reply(pretty({"id": name, "object": "model", "deleted": True, "owned_by": "openai-internal"}))
    found = _found(scope)
    if isinstance(found, Refusal):
        return found
    return Refusal(FailureKind.INVALID_REQUEST, "You have insufficient permissions for this operation.", status=403)


def _found(scope: RequestScope) -> Model | Refusal:
    name = scope.variables["id"]
    return scope.listed(name) or Refusal(FailureKind.UNKNOWN_MODEL, model=name)
