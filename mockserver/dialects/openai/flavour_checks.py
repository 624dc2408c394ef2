"""Answers in a flavour that somebody has stated elsewhere: where one fails, its author is told which function of the
flavour gives what it must not."""

from collections.abc import Iterator
from functools import partial
from typing import get_args, get_type_hints

from mockserver.core.dialect_checks import mismatches
from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.openai import flavour as reference
from mockserver.dialects.openai.flavour import Flavour, Rendering
from mockserver.dialects.openai.replies import ordered


def write(flavour: Flavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The same as `flavour.write`. Raises TypeError if a function of the flavour gives what it must not."""
    explain = partial(_explain, Rendering(flavour, generation, pace, scope))
    try:
        reply = reference.write(flavour, generation, pace, scope)
    except Exception:
        explain()
        raise
    if not reply.streamed:
        return reply

    def frames() -> Iterator[FrameBatch]:
        try:
            yield from reply.frames
        except Exception:
            explain()
            raise

    return reply._replace(frames=LazyFrames(frames))


def _explain(rendering: Rendering) -> None:
    defects = [*_defects_of(rendering)]
    if defects:
        raise TypeError("; ".join(defects))


def _defects_of(rendering: Rendering) -> Iterator[str]:
    """What is wrong with what the functions of the flavour give. Those that raise say so themselves."""
    flavour, encoding = rendering.flavour, rendering.flavour.encoding
    given = {Rendering: rendering, Choice: rendering.generation.choices[0], int: 0}
    for name, hint in get_type_hints(Flavour).items():
        taken, *kind = get_args(hint) or (None,)
        if not isinstance(taken, list) or not set(taken) <= given.keys():
            continue
        try:
            found = getattr(flavour, name)(*map(given.__getitem__, taken))
        except Exception:
            continue
        place = f"what {name} gives"
        defects = [*mismatches(found, kind[0], place)]
        yield from defects
        if defects:
            continue
        if name == "segments":
            texts = [each.delta for each in found if each.texts and not callable(each.delta)]
            names, slot = flavour.message, encoding.dump(encoding.slot)
            seen = [each if names is None else ordered(names, each) for each in texts]
            lost = [each for each, members in zip(texts, seen, strict=True) if slot not in encoding.dump(members)]
            where = "" if names is None else f" in one of {', '.join(names)}"
            yield from (f"{place} has no SLOT for the texts{where}: {each!r:.80}" for each in lost)
        elif "delta" in flavour.part and name in ("opening", "closing"):
            parts = [each for each in (found if name == "opening" else (found,)) if each]
            yield from (f"{place} has no 'delta': {each!r:.80}" for each in parts if "delta" not in each)
