"""Two streams compared event by event.

A stream repeats events of the same kind for each token, so consecutive events of one kind count as one. Then the two
sequences of kinds are aligned, as a diff aligns lines, and each pair is compared.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from mockserver.recordings.events import Event
from mockserver.recordings.shapes import Difference, Shape, differences, shape_of

# The cost of an event without a counterpart. A pair costs its unlikeness, from 0 to 1.
_ALONE = 0.45
# How many kinds of a longer sequence are compared.
_LONGEST = 200

# Indexes into the recorded and the answered sequence; None for an event without a counterpart.
_Pair = tuple[int | None, int | None]


class _Kind(NamedTuple):
    """Consecutive events of the same form; `parts` are the paths of their JSON, each with its types."""

    fields: tuple[str, ...]
    value: object
    shape: Shape
    parts: frozenset[tuple[str, frozenset[str]]]

    @property
    def is_text(self) -> bool:
        """Whether the data is not JSON, as in `[DONE]`."""
        return isinstance(self.value, str)

    @property
    def description(self) -> str:
        """The description of an event without a counterpart."""
        if isinstance(self.value, str):
            return self.value if len(self.value) < 40 else "text that is not JSON"
        return "an event with " + ", ".join(path for path in self.shape.types if path and not path.endswith("[]"))

    def is_like(self, other: "_Kind") -> bool:
        same_text = not self.is_text or self.value == other.value
        return self.fields == other.fields and self.shape.types == other.shape.types and same_text

    def unlikeness(self, other: "_Kind") -> float:
        """0 for the same parts, 1 for none in common."""
        if self.is_text or other.is_text:
            return float(self.value != other.value)
        return 1 - len(self.parts & other.parts) / len(self.parts | other.parts)


def stream_differences(recorded: Sequence[Event], answered: Sequence[Event]) -> Iterator[Difference]:
    """The differences between events that correspond, and the events without a counterpart."""
    theirs, ours = _kinds(recorded), _kinds(answered)
    for one, other in _aligned(theirs, ours):
        if one is not None and other is not None:
            yield from _pair_differences(_position(one, theirs), theirs[one], ours[other])
        elif one is not None and not _is_covered(theirs[one], ours):
            yield Difference(_position(one, theirs), theirs[one].description, "")
        elif other is not None and not _is_covered(ours[other], theirs):
            yield Difference(_position(other, ours), "", ours[other].description)


def _pair_differences(where: str, recorded: _Kind, answered: _Kind) -> Iterator[Difference]:
    if recorded.fields != answered.fields:
        yield Difference(f"{where}, its lines", _lines(recorded), _lines(answered))
    if not (recorded.is_text or answered.is_text):
        for difference in differences(recorded.shape, answered.shape):
            yield difference._replace(where=f"{where}: {difference.where}")


def _kinds(events: Sequence[Event]) -> list[_Kind]:
    kinds: list[_Kind] = []
    for event in events:
        shape = shape_of(event.value)
        parts = frozenset((path, frozenset(types)) for path, types in shape.types.items())
        kind = _Kind(event.fields, event.value, shape, parts)
        if not kinds or not kind.is_like(kinds[-1]):
            kinds.append(kind)
    return kinds[:_LONGEST]


def _aligned(recorded: Sequence[_Kind], answered: Sequence[_Kind]) -> list[_Pair]:
    """The cheapest alignment of two sequences, computed like an edit distance."""
    # For the first m and n events: the cost of aligning them, and the last step of that alignment.
    best: dict[tuple[int, int], tuple[float, _Pair]] = {(0, 0): (0.0, (None, None))}
    for one, other in product(range(-1, len(recorded)), range(-1, len(answered))):
        steps: list[tuple[float, _Pair]] = []
        if one >= 0:
            steps.append((best[one, other + 1][0] + _ALONE, (one, None)))
        if other >= 0:
            steps.append((best[one + 1, other][0] + _ALONE, (None, other)))
        if one >= 0 and other >= 0:
            steps.append((best[one, other][0] + recorded[one].unlikeness(answered[other]), (one, other)))
        if steps:
            best[one + 1, other + 1] = min(steps, key=lambda step: step[0])
    pairs: list[_Pair] = []
    at = len(recorded), len(answered)
    while at != (0, 0):
        step = best[at][1]
        pairs.append(step)
        at = at[0] - (step[0] is not None), at[1] - (step[1] is not None)
    return pairs[::-1]


def _is_covered(kind: _Kind, others: Sequence[_Kind]) -> bool:
    """Whether other events have all parts of an event: where a server joins or splits tokens may be chance."""
    return not kind.is_text and kind.parts <= {part for other in others for part in other.parts}


def _position(index: int, kinds: Sequence[_Kind]) -> str:
    if index == 0:
        return "first event"
    return {len(kinds) - 1: "last event", len(kinds) - 2: "event before the last"}.get(index, "events between")


def _lines(kind: _Kind) -> str:
    return " ".join(repr(field) for field in kind.fields)
