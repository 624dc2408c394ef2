"""Metrics in Prometheus' text format (version 0.0.4): families of samples, and how they are written."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Literal, NamedTuple

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, str]


class Histogram:
    """Counts of values by buckets with upper bounds, and the sum of the values."""

    __slots__ = ("borders", "counts", "total")

    def __init__(self, borders: tuple[float, ...]) -> None:
        self.borders = borders
        self.counts = [0] * (len(borders) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.borders, value)] += 1
        self.total += value

    def note_all(self, values: Sequence[float]) -> None:
        """Count many values, at a tenth of a microsecond each."""
        for place, count in Counter(map(partial(bisect_left, self.borders), values)).items():
            self.counts[place] += count
        self.total += sum(values)


class Sample(NamedTuple):
    """One line: the labels and the value; the parts of a histogram have a suffix."""

    labels: Labels
    value: float
    suffix: str = ""


class Family(NamedTuple):
    """Samples under one name, and their meaning."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: Iterable[Sample]


def histogram(name: str, help: str, rows: Iterable[tuple[Labels, Histogram]]) -> Family:
    """A family of histograms, each with its labels."""
    return Family(name, "histogram", help, [line for labels, filled in rows for line in _parts(labels, filled)])


def exposition(families: Iterable[Family], everywhere: Labels) -> bytes:
    """The families as text; the labels `everywhere` are added to every sample."""
    return "".join(line for family in families for line in _lines(family, everywhere)).encode()


def _parts(labels: Labels, filled: Histogram) -> Iterable[Sample]:
    upto = list(accumulate(filled.counts))
    for border, count in zip((*filled.borders, float("inf")), upto, strict=True):
        yield Sample({**labels, "le": _number(border)}, count, "_bucket")
    yield Sample(labels, filled.total, "_sum")
    yield Sample(labels, upto[-1], "_count")


def _lines(family: Family, everywhere: Labels) -> Iterable[str]:
    yield f"# HELP {family.name} {_escaped(family.help)}\n# TYPE {family.name} {family.kind}\n"
    for labels, value, suffix in family.samples:
        pairs = ",".join(f'{name}="{_quoted(text)}"' for name, text in {**everywhere, **labels}.items())
        yield f"{family.name}{suffix}{f'{{{pairs}}}' if pairs else ''} {_number(value)}\n"


def _number(value: float) -> str:
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
