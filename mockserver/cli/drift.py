"""`mockserver drift`: how recorded answers of a vendor differ from those that its dialect gives here.

Each recorded request is answered again, with the model writing what it wrote then, and the two answers are compared in
status, headers and shape. The shape of JSON is what a server answers the same way each time: keys with their order and
types, the words of the protocol, the format of ids. A stream repeats events of the same shape for each token, so those
count as one; then the two sequences are aligned, as a diff aligns lines. A refusal for reasons outside the request,
such as limits, keys and outages, is compared with the dialect's own refusals of the same status.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from mockserver.cli.command import Command, argument, checked_names, print_error, read_input, settings_of
from mockserver.core.calls import by_name
from mockserver.core.failures import Refusal
from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize
from mockserver.core.timeline import Reply
from mockserver.pipeline import complete, parse
from mockserver.recordings import (
    CIRCUMSTANCES,
    Lost,
    Recorded,
    RecordedEvent,
    call_of,
    events_of,
    is_significant,
    route_of,
    scripted_output,
)
from mockserver.recordings.stubs import complaints
from mockserver.recordings.traffic import exchanges_in
from mockserver.routes import Routes
from mockserver.state.context import HeaderError, make_context, refuse
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_replies import is_stream
from mockserver.state.stubs.stub import Prepared

# Keys whose values are words of the protocol. In a refusal all strings are compared.
_WORDS = ("object", "role", "type", "finish_reason", "model")
_IDS = re.compile(r"(?:.*_)?(?:id|fingerprint)")
# Objects whose keys are data: all keys share one path.
_MAPS = ("top_logprobs[]",)
_PREFIX = re.compile(r"[A-Za-z]+[-_:]")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# A number in an id with at most so many digits is a time or an index rather than random.
_LONGEST_NUMBER = 12
# Ids and numbers in a refusal's message, which differ from one refusal to the next.
_VARYING = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|\d+(?:\.\d+)?")
_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
# Two events in the same place are compared in detail if they have at least this share of their parts in common.
_LEAST_SHARED = 0.1
# How many different events of a longer stream are compared.
_MOST_EVENTS = 200
# How many places of one difference are named; the others are counted.
_MOST_PLACES = 4

# By paths such as `choices[].delta.role`, in order: what is there, which is types, words and the forms of ids.
Shape = Mapping[str, frozenset[str]]


class Difference(NamedTuple):
    """A place where an answer differs from the recorded one, and what is there in each; an empty string for nothing."""

    where: str
    recorded: str
    answered: str


class Compared(NamedTuple):
    """A compared exchange. `status` and `streamed` are those of the recorded answer."""

    place: str
    dialect: str
    operation: str
    status: int
    streamed: bool
    differences: tuple[Difference, ...]


def compare(exchange: Recorded, routes: Routes, settings: Settings, ignored: Sequence[str] = ()) -> Compared | Lost:
    """Compare a recorded answer with that of a server with these settings.

    Differences at the `ignored` places do not count, in any event of a stream; `*` matches anything.
    """
    route = route_of(exchange, routes)
    if route is None or route.operation is None:
        return Lost(exchange.place, f"no dialect serves {exchange.method} {exchange.path}")
    try:
        plan = parse(make_context(call_of(exchange, route), route, settings))
    except HeaderError as error:
        return Lost(exchange.place, str(error))
    streamed = is_stream(exchange.answered.get("content-type", ""))
    events = events_of(exchange.answer, streamed=streamed)
    rows = route.dialect.errors[plan.context.scope.edition] if exchange.status in CIRCUMSTANCES else {}
    kinds = [kind for kind, row in rows.items() if row.status == exchange.status]
    replies: list[Reply] = [refuse(Refusal(kind), plan.context, plan.request) for kind in kinds]
    if not replies:
        if plan.asks_model:
            plan.prepared = Prepared(scripted_output(events))
        complete(plan)
        assert plan.reply is not None, "a completed plan has a reply"
        replies = [plan.reply]
    # If several answers are possible, the most similar one counts.
    found = min(([*_differences(exchange, events, each)] for each in replies), key=len)
    may_differ = re.compile("|".join(re.escape(place).replace(r"\*", ".*") for place in ignored) or "(?!)")
    kept = tuple(dict.fromkeys(each for each in found if not may_differ.fullmatch(each.where.rpartition(": ")[2])))
    return Compared(exchange.place, route.dialect.name, route.operation.name, exchange.status, streamed, kept)


def _differences(recorded: Recorded, events: Sequence[RecordedEvent], reply: Reply) -> Iterator[Difference]:
    answer = b"".join(data for frames in reply.frames for data in frames.data)
    if recorded.status != reply.status:
        yield Difference("status", _status(recorded.status, recorded.answer), _status(reply.status, answer))
        return
    headers = recorded.answered, by_name(reply.headers)
    types = [each.get("content-type", "").replace(" ", "").lower() for each in headers]
    if types[0] and types[0] != types[1]:
        yield Difference("header content-type", *(each.get("content-type", "") for each in headers))
    theirs, ours = ({name for name, value in each.items() if is_significant(name, value)} for each in headers)
    # Many recordings keep hardly any headers.
    for name in sorted(theirs ^ ours) if theirs else ():
        yield Difference(f"header {name}", *(each.get(name, "") for each in headers))
    if is_stream(types[0]) == is_stream(types[1]):
        answered = events_of(answer, streamed=is_stream(types[1]))
        # Some recorders sort keys.
        if all(json.dumps(value) == json.dumps(value, sort_keys=True) for _, value in events):
            answered = [each._replace(value=json.loads(json.dumps(each.value, sort_keys=True))) for each in answered]
        yield from _event_differences(*(_events(each, refused=reply.status >= 400) for each in (events, answered)))


def _status(status: int, body: bytes) -> str:
    return f"{status}: {_short(body.decode(errors='replace'))}" if status >= 400 else str(status)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 160 else f"{words[:160]}..."


# --- the shape of a value -----------------------------------------------------------------------------------------


def _shape_of(value: Any, *, refused: bool) -> Shape:
    """The shape of a JSON value, which may be a refusal; a text that is not JSON has itself for a shape."""
    if isinstance(value, str):
        return {"": frozenset([value])}
    shape = defaultdict[str, set[str]](set)

    def visit(each: Any, path: str, key: str) -> None:
        found = _TYPES.get(type(each), "object")
        if isinstance(each, str) and _IDS.fullmatch(key):
            found = _form(each)
        elif isinstance(each, str) and (refused or key in _WORDS):
            found = f'"{_VARYING.sub("#", each) if refused else each}"'
        shape[path].add(found)
        if isinstance(each, dict):
            for name, inner in each.items():
                visit(inner, path + ("{}" if path.endswith(_MAPS) else f".{name}" if path else name), name)
        elif isinstance(each, list):
            for inner in each:
                visit(inner, f"{path}[]", key)

    visit(value, "", "")
    return {path: frozenset(found) for path, found in shape.items()}


def _form(name: str) -> str:
    """The prefix of an id, and whether the rest is a UUID or a number, or else how long it is."""
    begins = _PREFIX.match(name)
    prefix = begins[0] if begins and not _UUID.fullmatch(name) else ""
    rest = name.removeprefix(prefix)
    if _UUID.fullmatch(rest):
        return f"{prefix}<UUID>"
    is_number = rest.isdecimal() and len(rest) <= _LONGEST_NUMBER
    return f"{prefix}<number>" if is_number else f"{prefix}<{len(rest)} characters>"


def _shape_differences(recorded: Shape, answered: Shape) -> Iterator[Difference]:
    """Where two shapes differ, by paths in the order in which they were recorded."""
    for path in dict.fromkeys((*recorded, *answered)):
        theirs, ours = recorded.get(path, frozenset()), answered.get(path, frozenset())
        # A measured number may happen to be an integer.
        agree = theirs == ours or (theirs | ours <= {"integer", "number"} and "number" in theirs)
        if not agree and _can_have(recorded, path) and _can_have(answered, path):
            words = (" or ".join(sorted(each)) for each in (theirs, ours))
            yield Difference(path, *words) if path else Difference("the body", *map(_short, words))
    common = [path for path in recorded if path in answered], [path for path in answered if path in recorded]
    moved = next((pair for pair in zip(*common, strict=True) if pair[0] != pair[1]), None)
    if moved is not None:
        yield Difference("order of keys", *moved)


def _can_have(shape: Shape, path: str) -> bool:
    """Whether there is something at a path, or could be; an empty array tells nothing of its items."""
    return path in shape or (not path.endswith(("[]", "{}")) and "object" in shape.get(path.rpartition(".")[0], ()))


# --- events -------------------------------------------------------------------------------------------------------


class _Event(NamedTuple):
    """Consecutive events with the same lines and the same shape, or a body, which has no lines; `where` is the place in
    the stream in words."""

    lines: tuple[str, ...]
    shape: Shape
    where: str

    @property
    def parts(self) -> Set[object]:
        """What the shape has at each path."""
        return frozenset(self.shape.items())

    @property
    def description(self) -> str:
        """The description of an event without a counterpart."""
        paths = [path for path in self.shape if path and not path.endswith("[]")]
        return f"an event with {', '.join(paths)}" if paths else _short(" or ".join(self.shape[""]))

    def resembles(self, other: "_Event") -> bool:
        """Whether the two can be compared in detail, as bodies always are."""
        return not self.where or len(self.parts & other.parts) >= _LEAST_SHARED * len(self.parts | other.parts)

    def is_covered(self, others: Iterable["_Event"]) -> bool:
        """Whether other events have all its parts: where a server joins or splits tokens may be chance. They never
        have those of a text such as `[DONE]`."""
        return len(self.shape) > 1 and self.parts <= {part for other in others for part in other.shape.items()}


def _events(answer: Iterable[RecordedEvent], *, refused: bool) -> list[_Event]:
    events: list[_Event] = []
    for lines, value in answer:
        shape = _shape_of(value, refused=refused)
        if not events or (lines, shape) != events[-1][:2]:
            events.append(_Event(lines, shape, "events between" if lines else ""))
    events = events[:_MOST_EVENTS]
    for index, where in ((-2, "event before the last"), (-1, "last event"), (0, "first event")):
        if -len(events) <= index < len(events) and events[index].where:
            events[index] = events[index]._replace(where=where)
    return events


def _event_differences(recorded: Sequence[_Event], answered: Sequence[_Event]) -> Iterator[Difference]:
    """The differences between events that correspond, and the events without a counterpart."""
    matcher = SequenceMatcher(None, [it.parts for it in recorded], [it.parts for it in answered], autojunk=False)
    for _, one, end, other, other_end in matcher.get_opcodes():
        for theirs, ours in zip_longest(recorded[one:end], answered[other:other_end]):
            if theirs and ours and theirs.resembles(ours):
                if theirs.lines != ours.lines:
                    lines = (" ".join(map(repr, each.lines)) for each in (theirs, ours))
                    yield Difference(f"{theirs.where}, its lines", *lines)
                # Which texts a server joins in one event may be chance.
                if theirs.shape == ours.shape or not (theirs.is_covered(answered) and ours.is_covered(recorded)):
                    for each in _shape_differences(theirs.shape, ours.shape):
                        yield each._replace(where=f"{theirs.where}: {each.where}" if theirs.where else each.where)
                continue
            if theirs and not theirs.is_covered(answered):
                yield Difference(theirs.where, theirs.description, "")
            if ours and not ours.is_covered(recorded):
                yield Difference(ours.where, "", ours.description)


# --- the command --------------------------------------------------------------------------------------------------


def compare_recordings(options: argparse.Namespace) -> int:
    """Print the differences; exit code 1 if there are any, or if nothing could be compared."""
    # Stubs, quotas and faults are not part of a vendor's API. Keys in a recording are masked, and were valid then.
    settings = replace(settings_of(options), stubs=None, stub=(), quota=(), fault=(), auth="off")
    checked_names(settings)
    routes = Routes(load_dialects(), settings)
    found: list[Compared | Lost] = []
    for source in options.recording:
        for each in exchanges_in("drift", read_input(source), source):
            placed = each._replace(place=f"{source}, {each.place}")
            found.append(placed if isinstance(placed, Lost) else compare(placed, routes, settings, options.ignore))
    compared = [each for each in found if isinstance(each, Compared)]
    lost = [each for each in found if isinstance(each, Lost)]
    are_alike = not any(each.differences for each in compared)
    if options.json:
        exchanges = [each._asdict() | {"differences": [it._asdict() for it in each.differences]} for each in compared]
        table = {"alike": are_alike, "exchanges": exchanges, "lost": [each._asdict() for each in lost]}
        print(json.dumps(table, indent=2, ensure_ascii=False))
    else:
        for complaint in complaints(lost):
            print_error(complaint)
        print(_report(compared, len(lost)))
    if not compared:
        print_error("nothing could be compared")
    return 0 if compared and are_alike else 1


def _report(compared: Sequence[Compared], lost: int) -> str:
    """The comparison as text: how many answers are alike, and then the differences for each kind of answer, which are
    expected to have the same shape."""
    groups = defaultdict[str, list[Compared]](list)
    for each in compared:
        if each.differences:
            groups[f"{each.dialect} {each.operation}, {each.status}{', streamed' * each.streamed}"].append(each)
    different = sum(map(len, groups.values()))
    left_out = f"; {pluralize(lost, 'exchange')} not compared" if lost else ""
    alike = f"{len(compared) - different} alike, {different} different"
    lines = [f"{pluralize(len(compared), 'answer')} compared: {alike}{left_out}"]
    for kind, group in groups.items():
        everywhere = [each.place for each in group]
        lines += ["", f"{kind}  ({_named(everywhere)})"]
        for difference in dict.fromkeys(it for each in group for it in each.differences):
            where, recorded, answered = difference
            at = [each.place for each in group if difference in each.differences]
            only = f"  ({_named(at)})" if at != everywhere else ""
            lines.append(f"  {where}: recorded {recorded or 'nothing'}, answered {answered or 'nothing'}{only}")
    return "\n".join(lines)


def _named(places: Sequence[str]) -> str:
    more = len(places) - _MOST_PLACES
    return "; ".join(places[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")


COMMAND = Command(
    compare_recordings,
    (
        argument("recording", nargs="+", metavar="FILE", help="*.jsonl, *.har or *.yaml; - for standard input"),
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
