"""Sections: the results of one measure, as a table to read, facts to compare with targets, and curves to draw."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves in one picture: each series has a name and its points; `log` lists the axes that are logarithmic."""

    name: str
    title: str
    x: str
    y: str
    series: Mapping[str, tuple[Point, ...]]
    log: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The results of one measure. `rounds` are the figures of each round, whose medians are in `rows`."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    facts: Mapping[str, float] = field(default_factory=dict)
    charts: tuple[Chart, ...] = ()
    rounds: Mapping[str, list[float]] = field(default_factory=dict)
