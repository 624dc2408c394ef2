"""Reports of a comparison with recorded answers: as text, and as JSON values."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockserver.core.naming import counted
from mockserver.recordings.drift import Compared
from mockserver.recordings.recorded import Lost
from mockserver.recordings.shapes import Difference

# How many places of one difference are named; the others are counted.
_MOST_PLACES = 4


class _Kind(NamedTuple):
    """Answers of one kind, which are expected to have the same form."""

    dialect: str
    operation: str
    status: int
    streamed: bool

    def __str__(self) -> str:
        return f"{self.dialect} {self.operation}, {self.status}{', streamed' if self.streamed else ''}"


def report_of(found: Sequence[Compared | Lost]) -> str:
    """The comparison as text: how many answers are alike, and then the differences for each kind of answer."""
    compared = [each for each in found if isinstance(each, Compared)]
    otherwise = [each for each in compared if each.differences]
    lost = len(found) - len(compared)
    alike = f"{len(compared) - len(otherwise)} alike, {len(otherwise)} different"
    first = f"{counted(len(compared), 'answer')} compared: {alike}"
    lines = [f"{first}; {counted(lost, 'exchange')} not compared" if lost else first]
    for kind, group in _by_kind(otherwise).items():
        everywhere = [each.place for each in group]
        lines += ["", f"{kind}  ({_named(everywhere)})"]
        for difference, places in _by_difference(group).items():
            only = f"  ({_named(places)})" if places != everywhere else ""
            lines.append(f"  {_in_words(difference)}{only}")
    return "\n".join(lines)


def table_of(found: Sequence[Compared | Lost]) -> dict[str, Any]:
    """The comparison as JSON values: every exchange with its differences, and those that could not be compared."""
    compared = [each for each in found if isinstance(each, Compared)]
    return {
        "alike": not any(each.differences for each in compared),
        "exchanges": [
            {**each._asdict(), "differences": [difference._asdict() for difference in each.differences]}
            for each in compared
        ],
        "lost": [each._asdict() for each in found if isinstance(each, Lost)],
    }


def _by_kind(compared: Sequence[Compared]) -> dict[_Kind, list[Compared]]:
    kinds: dict[_Kind, list[Compared]] = {}
    for each in compared:
        kinds.setdefault(_Kind(each.dialect, each.operation, each.status, each.streamed), []).append(each)
    return kinds


def _by_difference(compared: Sequence[Compared]) -> dict[Difference, list[str]]:
    """Each difference, with the places of the exchanges that have it."""
    places: dict[Difference, list[str]] = {}
    for each in compared:
        for difference in each.differences:
            places.setdefault(difference, []).append(each.place)
    return places


def _in_words(difference: Difference) -> str:
    recorded, answered = difference.recorded or "nothing", difference.answered or "nothing"
    return f"{difference.where}: recorded {recorded}, answered {answered}"


def _named(places: Sequence[str]) -> str:
    more = len(places) - _MOST_PLACES
    return "; ".join(places[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
