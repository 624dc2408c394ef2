"""Drift: how recorded answers of a vendor differ from those that its dialect gives here.

Each recorded request is answered again, with the model writing what it wrote then, and the two answers are compared in
status, headers and shape. The shape of JSON is what a server answers the same way each time: keys with their order and
types, the words of the protocol, the format of ids. A stream repeats events of the same kind for each token, so those
count as one; then the two sequences of kinds are aligned, as a diff aligns lines. A refusal for reasons outside the
request, such as limits, keys and outages, is compared with the dialect's own refusals of the same status.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from mockserver.core.calls import by_name
from mockserver.core.failures import Refusal
from mockserver.core.timeline import Reply
from mockserver.pipeline import complete, parse
from mockserver.recordings.model_output import speech_of
from mockserver.recordings.recorded import (
    CIRCUMSTANCES,
    Lost,
    Recorded,
    RecordedEvent,
    call_of,
    events_of,
    is_significant,
    route_of,
)
from mockserver.routes import Routes
from mockserver.state.context import HeaderError, make_context
from mockserver.state.refusals import refuse
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


class _Answer(NamedTuple):
    """An answer, recorded or given here. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").replace(" ", "").lower()

    @property
    def events(self) -> list[RecordedEvent]:
        """The events of a stream; any other body counts as one."""
        return events_of(self.body, streamed=is_stream(self.content_type))

    @property
    def summary(self) -> str:
        """The status, with the body if it is a refusal."""
        return (
            f"{self.status}: {_short(self.body.decode(errors='replace'))}" if self.status >= 400 else str(self.status)
        )


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
    recorded = _Answer(exchange.status, exchange.answered, exchange.answer)
    try:
        plan = parse(make_context(call_of(exchange, route), route, settings))
    except HeaderError as error:
        return Lost(exchange.place, str(error))
    replies: list[Reply] = []
    if recorded.status in CIRCUMSTANCES:
        rows = route.dialect.errors[plan.context.scope.edition]
        kinds = [kind for kind, row in rows.items() if row.status == recorded.status]
        replies = [refuse(Refusal(kind), plan.context, plan.request) for kind in kinds]
    if not replies:
        if plan.asks_model:
            plan.prepared = Prepared(speech_of(recorded.events))
        complete(plan)
        assert plan.reply is not None, "a completed plan has a reply"
        replies = [plan.reply]
    # If several answers are possible, the most similar one counts.
    found = min((tuple(_differences(recorded, _answer_of(each))) for each in replies), key=len)
    streamed = is_stream(recorded.content_type)
    return Compared(exchange.place, route.dialect.name, route.operation.name, recorded.status, streamed, found)


def _answer_of(reply: Reply) -> _Answer:
    body = b"".join(data for frames in reply.frames for data in frames.data)
    return _Answer(reply.status, by_name(reply.headers), body)


def _differences(recorded: _Answer, answered: _Answer) -> Iterator[Difference]:
    if recorded.status != answered.status:
        yield Difference("status", recorded.summary, answered.summary)
        return
    headers = recorded.headers, answered.headers
    if recorded.content_type and recorded.content_type != answered.content_type:
        yield Difference("header content-type", *(each.get("content-type", "") for each in headers))
    theirs, ours = ({name for name, value in each.items() if is_significant(name, value)} for each in headers)
    # Many recordings keep hardly any headers.
    for name in sorted(theirs ^ ours) if theirs else ():
        if not name.startswith("x-mockserver-"):
            yield Difference(f"header {name}", *(each.get(name, "") for each in headers))
    streams = is_stream(recorded.content_type), is_stream(answered.content_type)
    if all(streams):
        yield from _stream_differences(recorded.events, answered.events)
    elif not any(streams):
        values = recorded.events[0].value, answered.events[0].value
        if not all(isinstance(value, str) for value in values):
            yield from _shape_differences(*(_shape_of(value, refused=recorded.status >= 400) for value in values))
        elif values[0] != values[1]:
            yield Difference("the body", *map(_short, values))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 160 else f"{words[:160]}..."


# --- JSON ---------------------------------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """By paths such as `choices[].delta.role`: the types there, the keys of objects in order, words or forms of ids."""

    types: dict[str, set[str]]
    keys: dict[str, tuple[str, ...]]
    words: dict[str, set[str]]

    def tells_of(self, path: str) -> bool:
        """Whether there is something that could be at a path; an empty array tells nothing of its items."""
        if path.endswith(("[]", "{}")):
            return path in self.types
        return "object" in self.types.get(path.rpartition(".")[0], ()) if path else True


def _shape_of(value: Any, *, refused: bool = False) -> _Shape:
    """The shape of a JSON value, which may be a refusal."""
    shape = _Shape({}, {}, {})

    def visit(each: Any, path: str, key: str) -> None:
        shape.types.setdefault(path, set()).add(_TYPES.get(type(each), "object"))
        if isinstance(each, dict):
            shape.keys[path] = tuple(dict.fromkeys((*shape.keys.get(path, ()), *each)))
            for name, inner in each.items():
                visit(inner, path + ("{}" if path.endswith(_MAPS) else f".{name}" if path else name), name)
        elif isinstance(each, list):
            for inner in each:
                visit(inner, f"{path}[]", key)
        elif isinstance(each, str) and (_IDS.fullmatch(key) or refused or key in _WORDS):
            word = _form(each) if _IDS.fullmatch(key) else f'"{_VARYING.sub("#", each) if refused else each}"'
            shape.words.setdefault(path, set()).add(word)

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
    for path in dict.fromkeys((*recorded.types, *answered.types)):
        theirs, ours = recorded.types.get(path, set()), answered.types.get(path, set())
        if recorded.tells_of(path) and answered.tells_of(path) and not _agree(theirs, ours):
            yield Difference(path or "the body", " or ".join(sorted(theirs)), " or ".join(sorted(ours)))
    # Some recorders sort keys.
    is_sorted = all(list(keys) == sorted(keys) for keys in recorded.keys.values())
    for path, keys in recorded.keys.items() if not is_sorted else ():
        others = answered.keys.get(path, ())
        first, second = [key for key in keys if key in others], [key for key in others if key in keys]
        if first != second:
            yield Difference(f"{path or 'the body'}, order of keys", ", ".join(first), ", ".join(second))
    for path, words in recorded.words.items():
        if words != answered.words.get(path, words):
            yield Difference(path, " or ".join(sorted(words)), " or ".join(sorted(answered.words[path])))


def _agree(recorded: Set[str], answered: Set[str]) -> bool:
    # A measured number may happen to be an integer.
    return recorded == answered or (recorded | answered <= {"integer", "number"} and "number" in recorded)


# --- streams ------------------------------------------------------------------------------------------------------


class _Kind(NamedTuple):
    """Consecutive events of the same form. `parts` are the paths of their JSON with the types there, or the text."""

    event: RecordedEvent
    shape: _Shape
    parts: Set[object]

    @property
    def is_text(self) -> bool:
        """Whether the data is not JSON, as in `[DONE]`."""
        return isinstance(self.event.value, str)

    @property
    def description(self) -> str:
        """The description of an event without a counterpart."""
        if self.is_text:
            return self.event.value if len(self.event.value) < 40 else "text that is not JSON"
        return "an event with " + ", ".join(path for path in self.shape.types if path and not path.endswith("[]"))


def _kinds(events: Sequence[RecordedEvent]) -> list[_Kind]:
    kinds: list[_Kind] = []
    for event in events:
        shape = _shape_of(event.value)
        parts = {(path, *sorted(types)) for path, types in shape.types.items()}
        kind = _Kind(event, shape, frozenset((event.value,) if isinstance(event.value, str) else parts))
        if not kinds or (event.fields, kind.parts) != (kinds[-1].event.fields, kinds[-1].parts):
            kinds.append(kind)
    return kinds[:_MOST_KINDS]


def _stream_differences(recorded: Sequence[RecordedEvent], answered: Sequence[RecordedEvent]) -> Iterator[Difference]:
    """The differences between events that correspond, and the events without a counterpart."""
    theirs, ours = _kinds(recorded), _kinds(answered)
    for one, other in _aligned(theirs, ours):
        if one is None and other is not None:
            if not _is_covered(ours[other], theirs):
                yield Difference(_position(other, ours), "", ours[other].description)
        elif one is not None and other is None:
            if not _is_covered(theirs[one], ours):
                yield Difference(_position(one, theirs), theirs[one].description, "")
        elif one is not None and other is not None:
            where, kinds = _position(one, theirs), (theirs[one], ours[other])
            if kinds[0].event.fields != kinds[1].event.fields:
                yield Difference(f"{where}, its lines", *(" ".join(map(repr, kind.event.fields)) for kind in kinds))
            # Which texts a server joins in one event may be chance.
            is_joined = (
                kinds[0].parts != kinds[1].parts and _is_covered(kinds[0], ours) and _is_covered(kinds[1], theirs)
            )
            if not (is_joined or any(kind.is_text for kind in kinds)):
                for difference in _shape_differences(kinds[0].shape, kinds[1].shape):
                    yield difference._replace(where=f"{where}: {difference.where}")


def _aligned(theirs: Sequence[_Kind], ours: Sequence[_Kind]) -> Iterator[tuple[int | None, int | None]]:
    """The indexes of events that correspond; None for an event without a counterpart."""
    matcher = SequenceMatcher(None, [kind.parts for kind in theirs], [kind.parts for kind in ours], autojunk=False)
    for _, one, end, other, other_end in matcher.get_opcodes():
        for left, right in zip_longest(range(one, end), range(other, other_end)):
            if left is not None and right is not None:
                shared = theirs[left].parts & ours[right].parts
                if len(shared) < _LEAST_SHARED * len(theirs[left].parts | ours[right].parts):
                    yield left, None
                    yield None, right
                    continue
            yield left, right


def _is_covered(kind: _Kind, others: Sequence[_Kind]) -> bool:
    """Whether other events have all parts of an event: where a server joins or splits tokens may be chance."""
    return not kind.is_text and kind.parts <= {part for other in others for part in other.parts}


def _position(index: int, kinds: Sequence[_Kind]) -> str:
    if index == 0:
        return "first event"
    return {len(kinds) - 1: "last event", len(kinds) - 2: "event before the last"}.get(index, "events between")
