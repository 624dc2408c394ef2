"""`mockserver drift`: how recorded answers of a vendor differ from those that its dialect gives here.

Each recorded request is answered again, with the model writing what it wrote then, and the two answers are compared in
status, headers and shape. The shape of JSON is what a server answers the same way each time: keys with their order and
types, the words of the protocol, the format of ids. A stream repeats events of the same kind for each token, so those
count as one; then the two sequences of kinds are aligned, as a diff aligns lines. A refusal for reasons outside the
request, such as limits, keys and outages, is compared with the dialect's own refusals of the same status.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
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
# Two events in the same place are compared if they have at least this share of their parts in common.
_LEAST_SHARED = 0.1
# How many kinds of events of a longer stream are compared.
_MOST_KINDS = 200


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


def compare(
    exchanges: Iterable[Recorded | Lost], router: Routes, settings: Settings, ignored: Sequence[str] = ()
) -> Iterator[Compared | Lost]:
    """Compare each exchange with the answer of a server with these settings.

    Differences at the `ignored` places do not count, in any event of a stream; `*` matches anything.
    """
    may_differ = re.compile("|".join(re.escape(place).replace(r"\*", ".*") for place in ignored) or "(?!)")
    for each in exchanges:
        compared = _compared(each, router, settings) if isinstance(each, Recorded) else each
        if isinstance(compared, Compared):
            left = (it for it in compared.differences if not may_differ.fullmatch(it.where.rpartition(": ")[2]))
            compared = compared._replace(differences=tuple(dict.fromkeys(left)))
        yield compared


def _compared(exchange: Recorded, router: Routes, settings: Settings) -> Compared | Lost:
    route = route_of(exchange, router)
    if route is None or route.operation is None:
        return Lost(exchange.place, f"no dialect serves {exchange.method} {exchange.path}")
    try:
        plan = parse(make_context(call_of(exchange, route), route, settings))
    except HeaderError as error:
        return Lost(exchange.place, str(error))
    replies: list[Reply] = []
    if exchange.status in CIRCUMSTANCES:
        rows = route.dialect.errors[plan.context.scope.edition]
        kinds = [kind for kind, row in rows.items() if row.status == exchange.status]
        replies = [refuse(Refusal(kind), plan.context, plan.request) for kind in kinds]
    streamed = is_stream(_content_type(exchange.answered))
    events = events_of(exchange.answer, streamed=streamed)
    if not replies:
        if plan.asks_model:
            plan.prepared = Prepared(scripted_output(events))
        complete(plan)
        assert plan.reply is not None, "a completed plan has a reply"
        replies = [plan.reply]
    # If several answers are possible, the most similar one counts.
    found = min((tuple(_differences(exchange, events, each)) for each in replies), key=len)
    return Compared(exchange.place, route.dialect.name, route.operation.name, exchange.status, streamed, found)


def _content_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").replace(" ", "").lower()


def _differences(recorded: Recorded, events: Sequence[RecordedEvent], reply: Reply) -> Iterator[Difference]:
    answer = b"".join(data for frames in reply.frames for data in frames.data)
    if recorded.status != reply.status:
        yield Difference("status", _status(recorded.status, recorded.answer), _status(reply.status, answer))
        return
    headers = recorded.answered, by_name(reply.headers)
    types = [_content_type(each) for each in headers]
    if types[0] and types[0] != types[1]:
        yield Difference("header content-type", *(each.get("content-type", "") for each in headers))
    theirs, ours = ({name for name, value in each.items() if is_significant(name, value)} for each in headers)
    # Many recordings keep hardly any headers.
    for name in sorted(theirs ^ ours) if theirs else ():
        yield Difference(f"header {name}", *(each.get(name, "") for each in headers))
    streams = [is_stream(each) for each in types]
    answered = events_of(answer, streamed=streams[1])
    if all(streams):
        yield from _stream_differences(events, answered)
    elif not any(streams):
        values = events[0].value, answered[0].value
        if not all(isinstance(value, str) for value in values):
            yield from _shape_differences(*(_shape_of(value, refused=recorded.status >= 400) for value in values))
        elif values[0] != values[1]:
            yield Difference("the body", *map(_short, values))


def _status(status: int, body: bytes) -> str:
    return f"{status}: {_short(body.decode(errors='replace'))}" if status >= 400 else str(status)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 160 else f"{words[:160]}..."


# --- JSON ---------------------------------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """By paths such as `choices[].delta.role`: what is there (types, words, the forms of ids), and the keys of objects
    in order."""

    values: dict[str, set[str]]
    keys: dict[str, tuple[str, ...]]

    def tells_of(self, path: str) -> bool:
        """Whether there is something that could be at a path; an empty array tells nothing of its items."""
        if path.endswith(("[]", "{}")):
            return path in self.values
        return "object" in self.values.get(path.rpartition(".")[0], ()) if path else True


def _shape_of(value: Any, *, refused: bool = False) -> _Shape:
    """The shape of a JSON value, which may be a refusal."""
    shape = _Shape({}, {})

    def visit(each: Any, path: str, key: str) -> None:
        found = _TYPES.get(type(each), "object")
        if isinstance(each, str) and _IDS.fullmatch(key):
            found = _form(each)
        elif isinstance(each, str) and (refused or key in _WORDS):
            found = f'"{_VARYING.sub("#", each) if refused else each}"'
        shape.values.setdefault(path, set()).add(found)
        if isinstance(each, dict):
            shape.keys[path] = tuple(dict.fromkeys((*shape.keys.get(path, ()), *each)))
            for name, inner in each.items():
                visit(inner, path + ("{}" if path.endswith(_MAPS) else f".{name}" if path else name), name)
        elif isinstance(each, list):
            for inner in each:
                visit(inner, f"{path}[]", key)

    visit(value, "", "")
    return shape


def _form(name: str) -> str:
    """The prefix of an id, and whether the rest is a UUID or else how long it is."""
    if not name:
        return "an empty id"
    prefix = _PREFIX.match(name)
    begins = prefix[0] if prefix and not _UUID.fullmatch(name) else ""
    rest = name[len(begins) :]
    if rest.isdecimal() and len(rest) <= _LONGEST_NUMBER:
        return f"{begins}<number>"
    return f"{begins}<UUID>" if _UUID.fullmatch(rest) else f"{begins}<{len(rest)} characters>"


def _shape_differences(recorded: _Shape, answered: _Shape) -> Iterator[Difference]:
    """Where two shapes differ, by paths in the order in which they were recorded."""
    for path in dict.fromkeys((*recorded.values, *answered.values)):
        theirs, ours = recorded.values.get(path, set()), answered.values.get(path, set())
        # A measured number may happen to be an integer.
        agree = theirs == ours or (theirs | ours <= {"integer", "number"} and "number" in theirs)
        if not agree and recorded.tells_of(path) and answered.tells_of(path):
            yield Difference(path or "the body", " or ".join(sorted(theirs)), " or ".join(sorted(ours)))
    # Some recorders sort keys.
    is_sorted = all(list(keys) == sorted(keys) for keys in recorded.keys.values())
    for path, keys in recorded.keys.items() if not is_sorted else ():
        others = answered.keys.get(path, ())
        first, second = [key for key in keys if key in others], [key for key in others if key in keys]
        if first != second:
            yield Difference(f"{path or 'the body'}, order of keys", ", ".join(first), ", ".join(second))


# --- streams ------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """Consecutive events of the same form. `parts` are the paths of their JSON with what is there, or the text; `where`
    is their place in the stream, in words."""

    event: RecordedEvent
    shape: _Shape
    parts: Set[object]
    where: str = "events between"

    @property
    def is_text(self) -> bool:
        """Whether the data is not JSON, as in `[DONE]`."""
        return isinstance(self.event.value, str)

    @property
    def description(self) -> str:
        """The description of an event without a counterpart."""
        if self.is_text:
            return self.event.value if len(self.event.value) < 40 else "text that is not JSON"
        return "an event with " + ", ".join(path for path in self.shape.values if path and not path.endswith("[]"))

    def is_covered(self, others: Sequence["_Kind"]) -> bool:
        """Whether other events have all its parts: where a server joins or splits tokens may be chance."""
        return not self.is_text and self.parts <= {part for other in others for part in other.parts}


def _kinds(events: Sequence[RecordedEvent]) -> list[_Kind]:
    kinds: list[_Kind] = []
    for event in events:
        shape = _shape_of(event.value)
        parts = (
            {event.value}
            if isinstance(event.value, str)
            else {(path, *sorted(each)) for path, each in shape.values.items()}
        )
        if not kinds or (event.fields, parts) != (kinds[-1].event.fields, kinds[-1].parts):
            kinds.append(_Kind(event, shape, frozenset(parts)))
    kinds = kinds[:_MOST_KINDS]
    for index, where in ((-2, "event before the last"), (-1, "last event"), (0, "first event")):
        if -len(kinds) <= index < len(kinds):
            kinds[index] = kinds[index]._replace(where=where)
    return kinds


def _stream_differences(recorded: Sequence[RecordedEvent], answered: Sequence[RecordedEvent]) -> Iterator[Difference]:
    """The differences between events that correspond, and the events without a counterpart."""
    theirs, ours = _kinds(recorded), _kinds(answered)
    for one, other in _aligned(theirs, ours):
        if one is not None and other is not None:
            if one.event.fields != other.event.fields:
                fields = (" ".join(map(repr, each.event.fields)) for each in (one, other))
                yield Difference(f"{one.where}, its lines", *fields)
            # Which texts a server joins in one event may be chance.
            is_joined = one.parts != other.parts and one.is_covered(ours) and other.is_covered(theirs)
            if not (is_joined or one.is_text or other.is_text):
                for difference in _shape_differences(one.shape, other.shape):
                    yield difference._replace(where=f"{one.where}: {difference.where}")
        elif one is not None and not one.is_covered(ours):
            yield Difference(one.where, one.description, "")
        elif other is not None and not other.is_covered(theirs):
            yield Difference(other.where, "", other.description)


def _aligned(theirs: Sequence[_Kind], ours: Sequence[_Kind]) -> Iterator[tuple[_Kind | None, _Kind | None]]:
    """The kinds of events that correspond; None for one without a counterpart."""
    matcher = SequenceMatcher(None, [kind.parts for kind in theirs], [kind.parts for kind in ours], autojunk=False)
    for _, one, end, other, other_end in matcher.get_opcodes():
        for left, right in zip_longest(theirs[one:end], ours[other:other_end]):
            if left and right and len(left.parts & right.parts) < _LEAST_SHARED * len(left.parts | right.parts):
                yield left, None
                yield None, right
            else:
                yield left, right


# --- the command --------------------------------------------------------------------------------------------------

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
    expected to have the same form."""
    otherwise = [each for each in compared if each.differences]
    alike = f"{len(compared) - len(otherwise)} alike, {len(otherwise)} different"
    left_out = f"; {pluralize(lost, 'exchange')} not compared" if lost else ""
    lines = [f"{pluralize(len(compared), 'answer')} compared: {alike}{left_out}"]
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
