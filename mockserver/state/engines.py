"""The engines of a namespace, one for each model: a request takes a slot, waits for one, or is refused, and may find
the beginning of its prompt cached.

The pace that an engine gives is both kept on the wire and stated in the answer.
"""

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

from mockserver.core.dialects import PromptCaching
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import GenerationRequest
from mockserver.core.timeline import Pace
from mockserver.latency.load import Engine, Span, Turn
from mockserver.latency.profiles import Profile
from mockserver.state.prompt_cache import CachedPrompts, PromptCache

_MOST_ENGINES = 256
# Answers may be planned in several threads at once, but an engine assigns its slots one by one.
_giving = Lock()


class Slot(NamedTuple):
    """What an engine has assigned to a request: its turn, and its span of time."""

    engine: Engine
    turn: Turn
    span: Span

    def leave(self) -> None:
        """Free it before its time is over."""
        with _giving:
            self.engine.leave(self.span)


class Slots(NamedTuple):
    """The slots of an engine at the instant of a request, and how long its client would wait for one."""

    engine: Engine
    profile: Profile
    now: float
    patience: float | None = None

    def take(self, pace: Pace) -> tuple[Pace, Slot] | Rejection:
        """The pace under the present load, with the slot; or a refusal if the engine is full."""
        with _giving:
            turn = self.engine.turn(self.profile, self.now)
            if turn is None or (self.patience is not None and turn.wait > self.patience):
                return Rejection(FailureKind.OVERLOADED)
            loaded, span = self.engine.take(pace, self.profile, self.now, turn)
            return loaded, Slot(self.engine, turn, span)


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


class _Known(NamedTuple):
    engine: Engine
    prompts: PromptCache


class Engines:
    """The engines of a namespace; beyond some hundred models, the least recently used is forgotten."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()

    def state(
        self,
        dialect: str,
        request: GenerationRequest,
        profile: Profile | None,
        caching: PromptCaching | None,
        now: float,
    ) -> EngineState | None:
        """The state of a request's engine; None if it has neither limited slots nor a prompt cache."""
        limited = profile is not None and profile.slots is not None
        cached = caching is not None and request.speaks
        if not (limited or cached):
            return None
        engine, prompts = self._get((dialect, request.model))
        return EngineState(
            Slots(engine, profile, now, request.patience) if profile is not None and limited else None,
            CachedPrompts(prompts, caching, now) if caching is not None and cached else None,
        )

    def _get(self, key: tuple[str, str]) -> _Known:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _Known(Engine(), PromptCache())
            if len(self._known) > _MOST_ENGINES:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return known

    def occupied(self, now: float) -> list[Occupied]:
        """How occupied each engine is at an instant."""
        return [Occupied(*key, *known.engine.busy(now)) for key, known in self._known.items()]

    def reset(self) -> None:
        """Empty every engine."""
        self._known.clear()
