"""OpenAI's models: families by the beginnings of their names, a row each, those on offer today, how fast they are, and
the list of these.

Efforts are those that clients have verified in 2026; contexts and longest answers are the vendor's pages'.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Effort
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Reply
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


_NONE_TO_XHIGH = ("none", "low", "medium", "high", "xhigh")
_GPT_5 = Family(
    ("medium", "minimal", "low", "high"), context=400_000, max_output=128_000, max_input=272_000, stops=False
)
_GPT_5_1 = _GPT_5._replace(efforts=("none", "low", "medium", "high"))
_GPT_5_2 = _GPT_5._replace(efforts=_NONE_TO_XHIGH, top_p=0.98, cache_retentions=("24h", "in_memory"))
_GPT_5_3 = _GPT_5_2._replace(phased=True)
_GPT_5_4 = _GPT_5_3._replace(context=1_050_000, max_input=None, chat_tools="without_effort")
_GPT_5_5 = _GPT_5_4._replace(
    efforts=("medium", "none", "low", "high", "xhigh"), chat_tools="only_none", cache_retentions=("24h",)
)
_GPT_5_6 = _GPT_5_5._replace(efforts=(*_GPT_5_5.efforts, "max"), reasoning_context="all_turns", cache_options=True)
_GPT_6 = _GPT_5_6._replace(chat_tools="always")
_GPT_6_2 = _GPT_6._replace(efforts=("medium", "low", "high", "xhigh", "max"), max_input=922_000)
_PRO = ("medium", "high", "xhigh")
# Aliases of what the vendor's own chat uses.
_CHAT_LATEST = Family(("medium",), stops=False)
_O = Family(("medium", "low", "high"), context=200_000, max_output=100_000, parallel=False)
_GPT_4_1 = Family(context=1_047_576, max_output=32_768, fingerprinted=True, named_finish="stop")
_GPT_4O = Family(fingerprinted=True, named_finish="stop")
_AUDIO = Family(hears=True, fingerprinted=True)
_SEARCH = Family(searches=True)
_GPT_4 = Family(context=8_192, max_output=4_096, sees=False, named_finish="stop", owner="openai")
_TEXTS = Family(context=16_384, max_output=4_096, endpoints=("completions",), sees=False)
_EMBEDS = Family(context=8_192, endpoints=("embeddings",), sees=False, shortens=True)

# The longest beginning of a model's name counts.
_FAMILIES: Mapping[str, Family] = MappingProxyType({
    "gpt-6.2": _GPT_6_2,
    "gpt-6.2-astra": _GPT_6_2._replace(chat_tools="never"),
    "gpt-6.1-sol": _GPT_6_2,
    "gpt-6": _GPT_6,
    "gpt-6-astra": _GPT_6_2._replace(chat_tools="never"),
    "gpt-5.6": _GPT_5_6,
    "gpt-5.5": _GPT_5_5,
    "gpt-5.5-pro": _GPT_5_5._replace(efforts=_PRO),
    "gpt-5.4": _GPT_5_4,
    "gpt-5.4-mini": _GPT_5_3,
    "gpt-5.4-nano": _GPT_5_3,
    "gpt-5.4-pro": _GPT_5_4._replace(efforts=_PRO),
    "gpt-5.3": _GPT_5_3,
    "gpt-5.3-chat-latest": _CHAT_LATEST,
    "gpt-5.2": _GPT_5_2,
    "gpt-5.2-pro": _GPT_5_2._replace(efforts=_PRO),
    "gpt-5.2-chat-latest": _CHAT_LATEST,
    "gpt-5.1": _GPT_5_1,
    "gpt-5.1-chat-latest": _CHAT_LATEST,
    "gpt-5": _GPT_5,
    "gpt-5-pro": _GPT_5._replace(efforts=("high",), max_output=272_000),
    "gpt-5-chat": Family(),
    "chat-latest": _CHAT_LATEST._replace(context=400_000),
    "o1": _O,
    "o1-mini": _O._replace(context=128_000, max_output=65_536, stops=False, instructed=False, sees=False),
    "o3": _O._replace(stops=False),
    "o3-mini": _O._replace(sees=False, fingerprinted=True),
    "o4-mini": _O._replace(stops=False),
    "gpt-4.1": _GPT_4_1,
    "gpt-4o": _GPT_4O,
    "gpt-audio": _AUDIO,
    "gpt-4o-audio-preview": _AUDIO,
    "gpt-4o-mini-audio-preview": _AUDIO,
    "gpt-4o-search-preview": _SEARCH,
    "gpt-4o-mini-search-preview": _SEARCH,
    "gpt-5-search-api": _SEARCH,
    "gpt-4-turbo": _GPT_4._replace(context=128_000, sees=True, owner="system"),
    "gpt-4": _GPT_4,
    "gpt-3.5-turbo": _GPT_4._replace(context=16_385),
    "gpt-3.5-turbo-instruct": _TEXTS._replace(context=4_096),
    "davinci-002": _TEXTS,
    "babbage-002": _TEXTS,
    "text-embedding-3-small": _EMBEDS._replace(dimensions=1_536),
    "text-embedding-3-large": _EMBEDS._replace(dimensions=3_072),
    "text-embedding-ada-002": _EMBEDS._replace(dimensions=1_536, shortens=False, owner="openai-internal"),
    "omni-moderation": Family(endpoints=("moderations",)),
    "text-moderation": Family(endpoints=("moderations",), sees=False, owner="openai-internal"),
})  # fmt: skip
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
    if family.endpoints is _CHATS and _ONLY_RESPONSES.search(name, 0, 64):
        return family._replace(endpoints=("responses",), chat_tools="always")
    return family


# --- the models on offer -----------------------------------------------------------------------------------------


class _Release(NamedTuple):
    created: int
    snapshot: str = ""


# The models on offer, with the second of their creation, where that is not known that of the day of their release, and
# the dated snapshot that answers name.
_OFFERED: Mapping[str, _Release] = MappingProxyType({
    "gpt-4o-mini": _Release(1_721_172_741, "gpt-4o-mini-2024-07-18"),
    "gpt-4o": _Release(1_715_367_049, "gpt-4o-2024-08-06"),
    "gpt-4.1": _Release(1_744_316_542, "gpt-4.1-2025-04-14"),
    "gpt-4.1-mini": _Release(1_744_318_173, "gpt-4.1-mini-2025-04-14"),
    "gpt-4.1-nano": _Release(1_744_321_707, "gpt-4.1-nano-2025-04-14"),
    "gpt-6.2-sol": _Release(1_794_873_600),
    "gpt-6.2-astra": _Release(1_794_873_600),
    "gpt-6.1-sol": _Release(1_792_454_400),
    "gpt-6.1-terra": _Release(1_792_454_400),
    "gpt-6-sol": _Release(1_790_035_200),
    "gpt-6-luna": _Release(1_790_035_200),
    "gpt-6-astra": _Release(1_790_035_200),
    "gpt-5.6-sol": _Release(1_782_228_018),
    "gpt-5.6-terra": _Release(1_782_228_459),
    "gpt-5.6-luna": _Release(1_782_228_658),
    "gpt-5.5": _Release(1_776_824_847, "gpt-5.5-2026-04-23"),
    "gpt-5.5-pro": _Release(1_776_894_349, "gpt-5.5-pro-2026-04-23"),
    "gpt-5.4": _Release(1_772_691_852, "gpt-5.4-2026-03-05"),
    "gpt-5.4-pro": _Release(1_772_659_601, "gpt-5.4-pro-2026-03-05"),
    "gpt-5.4-mini": _Release(1_773_451_123, "gpt-5.4-mini-2026-03-17"),
    "gpt-5.4-nano": _Release(1_773_450_870, "gpt-5.4-nano-2026-03-17"),
    "gpt-5.2": _Release(1_765_313_051, "gpt-5.2-2025-12-11"),
    "gpt-5.2-pro": _Release(1_765_343_983, "gpt-5.2-pro-2025-12-11"),
    "gpt-5.1": _Release(1_762_800_673, "gpt-5.1-2025-11-13"),
    "gpt-5": _Release(1_754_425_777, "gpt-5-2025-08-07"),
    "gpt-5-mini": _Release(1_754_425_928, "gpt-5-mini-2025-08-07"),
    "gpt-5-nano": _Release(1_754_426_384, "gpt-5-nano-2025-08-07"),
    "gpt-5-pro": _Release(1_759_469_822, "gpt-5-pro-2025-10-06"),
    "o3": _Release(1_744_225_308, "o3-2025-04-16"),
    "gpt-3.5-turbo": _Release(1_677_610_602, "gpt-3.5-turbo-0125"),
    "gpt-3.5-turbo-instruct": _Release(1_692_901_427, "gpt-3.5-turbo-instruct:20230824-v2"),
    "davinci-002": _Release(1_692_634_301, "davinci:2023-07-21-v2"),
    "babbage-002": _Release(1_692_634_615, "babbage:2023-07-21-v2"),
    "text-embedding-3-small": _Release(1_705_948_997),
    "text-embedding-3-large": _Release(1_705_953_180),
    "text-embedding-ada-002": _Release(1_671_217_299, "text-embedding-ada-002-v2"),
    "omni-moderation-latest": _Release(1_731_689_265),
})  # fmt: skip
# The names that answers give models, also by names that stand for others, and to models that are shut down by now.
_SNAPSHOTS: Mapping[str, str] = MappingProxyType({
    **{name: release.snapshot for name, release in _OFFERED.items() if release.snapshot},
    "gpt-5.6": "gpt-5.6-sol",
    "gpt-audio": "gpt-audio-2025-08-28",
    "gpt-audio-mini": "gpt-audio-mini-2025-12-15",
    "gpt-4o-audio-preview": "gpt-4o-audio-preview-2025-06-03",
    "gpt-4o-search-preview": "gpt-4o-search-preview-2025-03-11",
    "gpt-4o-mini-search-preview": "gpt-4o-mini-search-preview-2025-03-11",
    "o1": "o1-2024-12-17",
    "o1-mini": "o1-mini-2024-09-12",
    "o3-mini": "o3-mini-2025-01-31",
    "o4-mini": "o4-mini-2025-04-16",
    "gpt-4-turbo": "gpt-4-turbo-2024-04-09",
    "gpt-4": "gpt-4-0613",
})  # fmt: skip


def model_of(name: str) -> Model:
    """A model by its name, on offer or not: an older one, a snapshot, a fine-tuned one, one that nobody knows."""
    family = family_of(name)
    return Model(name) if family is UNKNOWN else Model(name, family.owner, family.context, family.max_output)


MODELS: tuple[Model, ...] = tuple(map(model_of, _OFFERED))
# That of models that only the settings know.
_UNLISTED = _Release(1_715_367_049)


def snapshot_of(model: str) -> str:
    """The name that answers give a model: that of its dated snapshot, if it is known."""
    return _SNAPSHOTS.get(model, model)


@lru_cache(maxsize=256)
def fingerprint_of(model: str, family: Family) -> str | None:
    """The `system_fingerprint` of a model's chats, None for null: `fp_` and ten hexadecimal digits."""
    return f"fp_{hex_digits(0, 10, 'fingerprint', snapshot_of(model))}" if family.fingerprinted else None


def tier_of(asked: str) -> str:
    """The service tier that answers who asks for one."""
    return {"auto": "default", "fast": "priority"}.get(asked, asked)


def effort_asked(body: Mapping[str, Any], family: Family) -> str | None:
    """The effort of a chat or a response, in the vendor's word: the family's default if none is asked for; None for a
    family that does not reason."""
    asked: str | None = body.get("reasoning_effort") or (body.get("reasoning") or {}).get("effort")
    return asked or (family.efforts[0] if family.efforts else None)


# --- speed -------------------------------------------------------------------------------------------------------

# By what users measure: first tokens after half a second, the smallest models some 150 tokens a second.
PRESETS = {
    "openai": Preset(
        "queue=lognormal(15ms, 0.8, max=500ms), prefill=lognormal(280ms, 0.4, max=3s), prefill_per_token=0.03ms, "
        "itl=lognormal(11ms, 0.35, max=250ms), network=lognormal(45ms, 0.3, max=300ms)",
        "OpenAI: first token after about 0.4 s, some 85 tokens/s",
    ),
    "openai-small": Preset(
        "openai, prefill=lognormal(200ms, 0.4, max=3s), itl=lognormal(6.5ms, 0.35, max=250ms)",
        "OpenAI, a mini or nano model: some 145 tokens/s",
    ),
    "openai-large": Preset(
        "openai, prefill=lognormal(650ms, 0.5, max=8s), itl=lognormal(18ms, 0.35, max=400ms)",
        "OpenAI, one of its largest models: some 52 tokens/s",
    ),
}
# "Cache hits occur in increments of 128 tokens"; prompts are kept for five to ten minutes without use.
PROMPT_CACHING = PromptCaching(block=128, lifetime=300)
_SMALL, _LARGE = ("-mini", "-nano", "-luna", "3.5-turbo"), ("-pro", "-astra", "gpt-5.5", "gpt-4-")


def preset_of(model: str) -> str:
    """The preset of a model's size."""
    name = model[:64]
    sizes = (("openai-small", _SMALL), ("openai-large", _LARGE))
    return next((preset for preset, parts in sizes if any(part in name for part in parts)), "openai")


# --- the list of models ------------------------------------------------------------------------------------------

Row = Callable[[Model], Mapping[str, object]]
Dump = Callable[[object], bytes]


def model_row(model: Model) -> dict[str, object]:
    """What is told of a model."""
    created = _OFFERED.get(model.id, _UNLISTED).created
    return {"id": model.id, "object": "model", "created": created, "owned_by": model.owned_by or "system"}


def list_models(call: Call, scope: RequestScope, row: Row = model_row, dump: Dump = plain) -> Reply:
    """The models on offer; a vendor may tell something else of each, and lay bodies out in its own way."""
    return body_reply(dump({"object": "list", "data": [row(model) for model in scope.models]}))


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
