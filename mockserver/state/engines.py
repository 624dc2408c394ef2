"""The engines of a namespace, one for each model: a request takes a slot, waits for one, or is refused, and may find
the beginning of its prompt cached. The timing that an engine gives is both kept on the wire and stated in the answer.

A prompt is cached in blocks of tokens. A block is found if an earlier prompt of the same model had it after the same
beginning and its lifetime is not over; every use renews it. Only whole blocks count, and never the last token of a
prompt: it has to be computed in any case, since the answer begins with its result.
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from threading import Lock
from typing import NamedTuple

import orjson

from mockserver.core.dialects import PromptCaching
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import GenerationRequest, Prompt, Tool
from mockserver.core.http import TokenTiming
from mockserver.core.seeding import fingerprint
from mockserver.latency.profiles import Profile
from mockserver.latency.timing import Engine, Occupancy, SlotGrant
from mockserver.model import tokens

_MOST_ENGINES = 256
# An engine remembers about a hundred thousand tokens or more, depending on the size of its blocks.
_MOST_BLOCKS = 8192
# The blocks that an engine has cached, each with the instant at which it expires.
PromptCache = OrderedDict[str, float]
# Answers may be planned in several threads at once, but an engine assigns its slots and reads its cache one by one.
_lock = Lock()


class Slot(NamedTuple):
    """What an engine has assigned to a request: which one, and its time."""

    engine: Engine
    grant: SlotGrant
    occupancy: Occupancy

    def release(self) -> None:
        """Free it before its time is over."""
        with _lock:
            self.engine.release(self.occupancy)


class Slots(NamedTuple):
    """The slots of an engine at the instant of a request, and how long its client would wait for one."""

    engine: Engine
    profile: Profile
    now: float
    patience: float | None = None

    def take(self, pace: TokenTiming) -> tuple[TokenTiming, Slot] | Refusal:
        """The pace under the present load, with the slot; or a refusal if the engine is full."""
        with _lock:
            grant = self.engine.next_slot(self.profile, self.now)
            if grant is None or (self.patience is not None and grant.wait > self.patience):
                return Refusal(FailureKind.OVERLOADED)
            loaded, occupancy = self.engine.take(pace, self.profile, self.now, grant)
            return loaded, Slot(self.engine, grant, occupancy)


class Reuse(NamedTuple):
    """What a request finds in a prompt cache: `cached` tokens are read from it, `written` ones are new to it."""

    cache: PromptCache
    blocks: tuple[str, ...]
    until: float
    cached: int
    written: int

    def keep(self) -> None:
        """Cache the request's prompts, or renew them; the blocks that were used least recently give way."""
        with _lock:
            for block in self.blocks:
                self.cache[block] = self.until
                self.cache.move_to_end(block)
            while len(self.cache) > _MOST_BLOCKS:
                self.cache.popitem(last=False)


class CachedPrompts(NamedTuple):
    """The prompt cache of an engine at the instant of a request, and how the engine caches."""

    cache: PromptCache
    caching: PromptCaching
    now: float

    def look_up(self, request: GenerationRequest) -> Reuse:
        """What the prompts of a request find here, before any of them is cached."""
        size, cached, written, blocks = self.caching.block, 0, 0, list[str]()
        wanted = request.cacheable
        lifetime = self.caching.lifetime if wanted is None else wanted.lifetime
        for prompt in request.prompts:
            text = prompt if wanted is None else prompt._replace(text=prompt.text[: wanted.characters])
            ids = _ids(text, request.tools)
            own = tuple(_blocks(ids, size)) if wanted is None or len(ids) >= wanted.least else ()
            with _lock:
                found = sum(1 for _ in takewhile(lambda block: self.cache.get(block, self.now) > self.now, own))
            # The prompt may be counted a little shorter than its text is here.
            most = max(prompt.token_count - 1, 0)
            cached += min(found * size, most)
            written += max(min(len(own) * size, most) - found * size, 0)
            blocks += own
        return Reuse(self.cache, tuple(blocks), self.now + lifetime, cached, written)


def _ids(prompt: Prompt, tools: Sequence[Tool]) -> Sequence[int]:
    """The tokens that the model reads; chat templates put the definitions of tools first."""
    ids = prompt.ids or tokens.encode(prompt.text)
    if not tools:
        return ids
    definitions = orjson.dumps([[tool.name, tool.description, tool.parameters] for tool in tools], default=repr)
    return [*tokens.encode(definitions.decode()), *ids]


def _blocks(ids: Sequence[int], size: int) -> Iterator[str]:
    """A name for each whole block before the last token, which depends on all tokens up to the block's end."""
    packed, name = array("Q", ids), ""
    for end in range(size, len(ids), size):
        name = fingerprint(name.encode() + packed[end - size : end].tobytes())
        yield name


class EngineState(NamedTuple):
    """What a request meets at its engine: `slots`, None if they are unlimited, and the cached `prompts`, None if the
    engine caches none."""

    slots: Slots | None = None
    prompts: CachedPrompts | None = None


class Occupied(NamedTuple):
    """How many requests the engine of a model serves, and how many wait for it."""

    dialect: str
    model: str
    busy: int
    waiting: int


class Engines:
    """The engines of a namespace; beyond some hundred models, the least recently used is forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], tuple[Engine, PromptCache]] = OrderedDict()

    def state(
        self,
        dialect: str,
        request: GenerationRequest,
        profile: Profile | None,
        caching: PromptCaching | None,
        now: float,
    ) -> EngineState | None:
        """The state of a request's engine; None if it has neither limited slots nor a prompt cache."""
        if profile is not None and profile.slots is None:
            profile = None
        if caching is not None and (not request.generates or (caching.on_request and request.cacheable is None)):
            caching = None
        if profile is None and caching is None:
            return None
        key = dialect, request.model
        known = self._known.pop(key) if key in self._known else (Engine(), PromptCache())
        engine, cache = self._known[key] = known
        if len(self._known) > _MOST_ENGINES:
            self._known.popitem(last=False)
        return EngineState(
            None if profile is None else Slots(engine, profile, now, request.patience),
            None if caching is None else CachedPrompts(cache, caching, now),
        )

    def occupied(self, now: float) -> list[Occupied]:
        """How occupied each engine is at an instant."""
        return [Occupied(*key, *engine.busy(now)) for key, (engine, _) in self._known.items()]

    def reset(self) -> None:
        """Empty every engine."""
        self._known.clear()
