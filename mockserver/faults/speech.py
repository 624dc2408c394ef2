"""Faults of the model itself: what it says is cut, empty or stuck, and every format of it follows.

Usage, log-probabilities and finish reasons stay in keeping with what is said.
"""

from collections.abc import Callable
from dataclasses import replace

from mockserver.core.generation import Choice, Generation
from mockserver.faults.rules import Fault

Change = Callable[[Choice, Fault], Choice]


def said_otherwise(generation: Generation, fault: Fault, change: Change) -> Generation:
    """The generation with each of its choices changed."""
    choices = tuple(change(choice, fault) for choice in generation.choices)
    usage = replace(generation.usage, completion_tokens=sum(len(choice.ids) for choice in choices))
    return replace(generation, choices=choices, usage=usage)


def finish(choice: Choice, fault: Fault) -> Choice:
    """The choice ends at the fault's place, for the reason that it names; at its own end without a place."""
    kept = len(choice.ids) if fault.place.after_token is None else fault.place.after_token
    return replace(_beginning(choice, kept), finish_reason=fault.settings["reason"], stop=None)


def silence(choice: Choice, fault: Fault) -> Choice:
    """The choice says nothing, and calls that a natural end."""
    return replace(_beginning(choice, 0), finish_reason="stop", stop=None)


def repeat(choice: Choice, fault: Fault) -> Choice:
    """From the fault's place on, the choice says the same token again and again."""
    start = min(fault.place.after_token or 0, len(choice.ids))
    stuck = choice.ids[start : start + 1], choice.texts[start : start + 1], choice.positions[start : start + 1]
    left = len(choice.ids) - start
    kept = _beginning(choice, start)
    return replace(
        kept,
        ids=[*kept.ids, *list(stuck[0]) * left],
        texts=[*kept.texts, *list(stuck[1]) * left],
        positions=[*kept.positions, *list(stuck[2]) * left],
    )


def _beginning(choice: Choice, count: int) -> Choice:
    return replace(choice, ids=choice.ids[:count], texts=choice.texts[:count], positions=choice.positions[:count])
