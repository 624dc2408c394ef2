"""Streams side by side: which events of one stand for which of another.

A stream says the same kind of event again and again, and how often is the model's to say; so a row of events that look
alike counts as one.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from mockserver.control.recordings.events import Event
from mockserver.control.recordings.shapes import Difference, Shape, differences, shape_of

# What it costs to let an event stand for none; what it costs to pair two is how unlike they are, from 0 to 1.
_ALONE = 0.45
# Where more kinds of events follow each other, the first of them are compared.
_LONGEST = 200

# Places in two streams; where an event stands for none of the other, that has no place.
_Pair = tuple[int | None, int | None]


class _Kind(NamedTuple):
    """A row of events that look alike; `parts` are its paths, each with its types."""

    fields: tuple[str, ...]
    value: object
    shape: Shape
    parts: frozenset[tuple[str, frozenset[str]]]

    def is_like(self, other: "_Kind") -> bool:
        same_text = not isinstance(self.value, str) or self.value == other.value
        return self.fields == other.fields and self.shape.types == other.shape.types and same_text

    def unlikeness(self, other: "_Kind") -> float:
        """How unlike another one it is: 0 for the same, 1 where they share nothing."""
        if isinstance(self.value, str) or isinstance(other.value, str):
            return float(self.value != other.value)
        return 1 - len(self.parts & other.parts) / len(self.parts | other.parts)

    @property
    def words(self) -> str:
        """What it is called where nothing stands opposite."""
        if isinstance(self.value, str):
            return self.value if len(self.value) < 40 else "text that is no JSON"
        return "an event with " + ", ".join(path for path in self.shape.types if path and not path.endswith("[]"))


def stream_differences(recorded: Sequence[Event], answered: Sequence[Event]) -> Iterator[Difference]:
    """Where two streams differ: in events that stand for each other, and in those that stand for none."""
    there, here = _kinds(recorded), _kinds(answered)
    for mine, yours in _pairs(there, here):
        where = _place(mine, there) if mine is not None else _place(yours, here)
        if mine is None or yours is None:
            alone, others = (here[yours], there) if yours is not None else (there[mine or 0], here)
            if not _is_told_by(alone, others):
                yield Difference(where, _called(mine, there), _called(yours, here))
            continue
        one, other = there[mine], here[yours]
        if one.fields != other.fields:
            yield Difference(f"{where}, its lines", _lines(one), _lines(other))
        if isinstance(one.value, str) or isinstance(other.value, str):
            if one.value != other.value:
                yield Difference(where, one.words, other.words)
            continue
        for difference in differences(one.shape, other.shape):
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


def _pairs(there: Sequence[_Kind], here: Sequence[_Kind]) -> list[_Pair]:
    """The cheapest way to let the events of one stream stand for those of the other, by their places in either."""
    # Of the first events of both, so many of each: what that costs, and the last step on the way there.
    ways: dict[_Pair, tuple[float, _Pair]] = {(0, 0): (0.0, (None, None))}
    for mine, yours in product(range(-1, len(there)), range(-1, len(here))):
        steps: list[tuple[float, _Pair]] = []
        if mine >= 0:
            steps.append((ways[mine, yours + 1][0] + _ALONE, (mine, None)))
        if yours >= 0:
            steps.append((ways[mine + 1, yours][0] + _ALONE, (None, yours)))
        if mine >= 0 and yours >= 0:
            steps.append((ways[mine, yours][0] + there[mine].unlikeness(here[yours]), (mine, yours)))
        if steps:
            ways[mine + 1, yours + 1] = min(steps, key=lambda step: step[0])
    pairs: list[_Pair] = []
    at = len(there), len(here)
    while at != (0, 0):
        step = ways[at][1]
        pairs.append(step)
        at = at[0] - (step[0] is not None), at[1] - (step[1] is not None)
    return pairs[::-1]


def _is_told_by(kind: _Kind, others: Sequence[_Kind]) -> bool:
    """Whether other events say among them all that an event says: where a server joins or parts them may be chance."""
    parts = {part for other in others for part in other.parts}
    return not isinstance(kind.value, str) and kind.parts <= parts


def _place(place: int | None, kinds: Sequence[_Kind]) -> str:
    if place == 0:
        return "first event"
    return {len(kinds) - 1: "last event", len(kinds) - 2: "event before the last"}.get(place or 0, "events between")


def _called(place: int | None, kinds: Sequence[_Kind]) -> str:
    return "" if place is None else kinds[place].words


def _lines(kind: _Kind) -> str:
    return " ".join(repr(field) for field in kind.fields)
