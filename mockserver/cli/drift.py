"""`mockserver drift`: recorded answers compared with those of mockserver."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mockserver.cli.command import Command, argument, checked_names, print_error, read_input, settings_of
from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize
from mockserver.recordings.drift import Compared, Difference, compare
from mockserver.recordings.recorded import Lost
from mockserver.recordings.stubs import complaints
from mockserver.recordings.traffic import exchanges_in
from mockserver.routes import Routes

# How many places of one difference are named; the others are counted.
_MOST_PLACES = 4


def compare_recordings(options: argparse.Namespace) -> int:
    """Print the differences; exit code 1 if there are any, or if nothing could be compared."""
    # Stubs, quotas and faults are not part of a vendor's API. Keys in a recording are masked, and were valid then.
    settings = replace(settings_of(options), stubs=None, stub=(), quota=(), fault=(), auth="off")
    checked_names(settings)
    routes = Routes(load_dialects(), settings)
    found: list[Compared | Lost] = []
    for source in map(str, options.recording):
        recorded = exchanges_in("drift", read_input(source), source)
        placed = [each._replace(place=f"{source}, {each.place}") for each in recorded]
        found += compare(placed, routes, settings, options.ignore)
    lost = [each for each in found if isinstance(each, Lost)]
    if options.json:
        print(json.dumps(_table(found), indent=2, ensure_ascii=False))
    else:
        for complaint in complaints(lost):
            print_error(complaint)
        print(_report(found))
    if len(lost) == len(found):
        print_error("nothing could be compared")
        return 1
    return 1 if any(isinstance(each, Compared) and each.differences for each in found) else 0


def _report(found: Sequence[Compared | Lost]) -> str:
    """The comparison as text: how many answers are alike, and then the differences for each kind of answer, which are
    expected to have the same form."""
    compared = [each for each in found if isinstance(each, Compared)]
    otherwise = [each for each in compared if each.differences]
    alike = f"{len(compared) - len(otherwise)} alike, {len(otherwise)} different"
    lost = f"; {pluralize(len(found) - len(compared), 'exchange')} not compared" if len(found) > len(compared) else ""
    lines = [f"{pluralize(len(compared), 'answer')} compared: {alike}{lost}"]
    kinds: dict[str, list[Compared]] = {}
    for each in otherwise:
        streamed = ", streamed" if each.streamed else ""
        kinds.setdefault(f"{each.dialect} {each.operation}, {each.status}{streamed}", []).append(each)
    for kind, group in kinds.items():
        everywhere = [each.place for each in group]
        lines += ["", f"{kind}  ({_named(everywhere)})"]
        places: dict[Difference, list[str]] = {}
        for each in group:
            for difference in each.differences:
                places.setdefault(difference, []).append(each.place)
        for difference, at in places.items():
            recorded, answered = difference.recorded or "nothing", difference.answered or "nothing"
            only = f"  ({_named(at)})" if at != everywhere else ""
            lines.append(f"  {difference.where}: recorded {recorded}, answered {answered}{only}")
    return "\n".join(lines)


def _named(places: Sequence[str]) -> str:
    more = len(places) - _MOST_PLACES
    return "; ".join(places[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")


def _table(found: Sequence[Compared | Lost]) -> dict[str, Any]:
    compared = [each for each in found if isinstance(each, Compared)]
    return {
        "alike": not any(each.differences for each in compared),
        "exchanges": [
            {**each._asdict(), "differences": [difference._asdict() for difference in each.differences]}
            for each in compared
        ],
        "lost": [each._asdict() for each in found if isinstance(each, Lost)],
    }


COMMAND = Command(
    compare_recordings,
    (
        argument(
            "recording", nargs="+", type=Path, metavar="FILE", help="*.jsonl, *.har or *.yaml; - for standard input"
        ),
        argument(
            "--ignore",
            action="append",
            default=[],
            metavar="PLACE",
            help="a place to ignore, such as 'usage.*'; may be repeated",
        ),
        argument("--json", action="store_true", help="print all differences of all exchanges as JSON"),
    ),
    takes_settings=True,
    matter=("dialect", "edition"),
    about="Answers each recorded request anew, with a model that says what was recorded, and compares what a "
    "vendor's server does the same way each time: the status, the headers that clients act on, keys with their "
    "order and types, the sequence of a stream's events, the words of a refusal.",
)
