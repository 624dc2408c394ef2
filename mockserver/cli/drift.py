"""`mockserver drift`: how recorded answers of a vendor differ from those that its dialect gives here.

Each recorded request is answered again, with the model writing what it wrote then, and the two answers are compared in
status, headers and outline: what a server answers the same way each time. A refusal for reasons outside the request,
such as limits, keys and outages, is compared with the dialect's own refusals of the same status.
"""

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from mockserver.cli.command import Command, argument, checked_names, print_error, read_input, settings_of
from mockserver.core.failures import Refusal
from mockserver.core.http import Reply, by_name
from mockserver.core.installed import load_dialects
from mockserver.core.messages import pluralize, shortened
from mockserver.pipeline import complete
from mockserver.recordings import CIRCUMSTANCES, Lost, Recorded, events_of, is_significant, parsed, scripted_output
from mockserver.recordings.stubs import complaints
from mockserver.recordings.traffic import exchanges_in
from mockserver.routes import Routes
from mockserver.server.logs import printable
from mockserver.state.context import refuse
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_replies import is_stream
from mockserver.state.stubs.stub import Prepared

# Keys whose values are words of the protocol. In a refusal all strings are compared.
_WORDS = ("object", "role", "type", "finish_reason", "model")
_IDS = re.compile(r"(?:.*_)?(?:id|fingerprint)")
# Objects whose keys are data: all keys share one path.
_MAPS = ("top_logprobs[]",)
# What an id begins with, unless that begins a UUID.
_PREFIX = re.compile(r"\A(?![0-9a-f]{8}-)[A-Za-z]+[-_:]")
# Ids and numbers in a refusal's message, which differ from one refusal to the next.
_VARYING = re.compile(r"[0-9a-f]{8}[0-9a-f-]*|\d+(?:\.\d+)?")
_TYPES = {type(None): "null", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
# Events that only keep a connection open.
_PINGS = ("", {"type": "ping"})
# The events of a stream that there may be none of, if an answer is short.
_BETWEEN = "events between"

# By event and path in it, such as `choices[].delta.role`: what is there, which is types, words and the forms of ids. A
# stream has many events of a name, which count as one; a body is one event without a name.
Outline = Mapping[tuple[str, str], Set[str]]


class Difference(NamedTuple):
    """A place where an answer differs from the recorded one, and what is there in each; an empty string for nothing."""

    where: str
    recorded: str
    answered: str


class Compared(NamedTuple):
    """What a comparison finds. `kind` says what was answered: the operation, the status, whether streamed."""

    kind: str
    differences: tuple[Difference, ...]


def compare(exchange: Recorded, routes: Routes, settings: Settings, ignored: Sequence[str] = ()) -> Compared | Lost:
    """Compare a recorded answer with that of a server with these settings.

    Differences at the `ignored` places do not count, in any event of a stream; `*` matches anything.
    """
    plan = parsed(exchange, routes, settings)
    if isinstance(plan, Lost):
        return plan
    dialect, operation = plan.context.route.dialect, plan.context.route.operation
    if operation is None:
        return Lost(exchange.place, f"no dialect serves {exchange.method} {exchange.path}")
    errors = dialect.errors[plan.context.scope.edition] if exchange.status in CIRCUMSTANCES else {}
    kinds = [kind for kind, row in errors.items() if row.status == exchange.status]
    replies: list[Reply] = [refuse(Refusal(kind), plan.context, plan.request) for kind in kinds]
    if not replies:
        if plan.asks_model:
            plan.prepared = Prepared(scripted_output(exchange.events))
        complete(plan)
        assert plan.reply is not None, "a completed plan has a reply"
        replies = [plan.reply]
    # If several answers are possible, the most similar one counts.
    found = min(([*_differences(exchange, each)] for each in replies), key=len)
    patterns = [place.replace("[", "[[]") for place in ignored]
    kept = [it for it in found if not any(fnmatchcase(it.where.rpartition(": ")[2], each) for each in patterns)]
    kind = f"{dialect.name} {operation.name}, {exchange.status}{', streamed' * exchange.streamed}"
    return Compared(kind, tuple(kept))


def _differences(recorded: Recorded, reply: Reply) -> Iterator[Difference]:
    answer = b"".join(data for frames in reply.frames for data in frames.data)
    if recorded.status != reply.status:
        both = (recorded.status, recorded.answer), (reply.status, answer)
        yield Difference("status", *(f"{status}: {body.decode(errors='replace')}" for status, body in both))
        return
    headers = recorded.answered, by_name(reply.headers)
    types = [each.get("content-type", "").replace(" ", "").lower() for each in headers]
    theirs, ours = ({name for name, value in each.items() if is_significant(name, value)} for each in headers)
    # Many recordings keep hardly any headers.
    names = theirs ^ ours if theirs else set[str]()
    for name in sorted(names | {"content-type"} if types[0] not in ("", types[1]) else names):
        yield Difference(f"header {name}", *(each.get(name, "") for each in headers))
    if recorded.streamed == is_stream(types[1]):
        events, answered = recorded.events, events_of(answer, streamed=recorded.streamed)
        # Some recorders sort keys.
        if all(json.dumps(value) == json.dumps(value, sort_keys=True) for _, value in events):
            answered = [each._replace(value=json.loads(json.dumps(each.value, sort_keys=True))) for each in answered]
        yield from _outline_differences(*(_outline(each, refused=reply.status >= 400) for each in (events, answered)))


# --- outlines -----------------------------------------------------------------------------------------------------


def _outline(events: Iterable[tuple[Sequence[str], Any]], *, refused: bool) -> Outline:
    """The outline of events, each with its fields as they are written; in a refusal all strings are words."""
    outline = defaultdict[tuple[str, str], set[str]](set)
    for fields, value in events:
        if value not in _PINGS:
            whole, *parts = _parts(value, refused=refused)
            event = _name_of(dict([whole, *parts]), is_first=not outline) if fields else ""
            for path, kind in (whole, ("its fields", ", ".join(map(repr, fields))), *parts):
                outline[event, path].add(kind)
    return outline


def _parts(value: Any, path: str = "", key: str = "", *, refused: bool) -> Iterator[tuple[str, str]]:
    """Each path in a JSON value, with what is there; a text that is not JSON stands for itself."""
    if not isinstance(value, str):
        yield path, _TYPES[type(value)]
    elif not path:
        yield path, value
    elif _IDS.fullmatch(key):
        rest = _PREFIX.sub("", value)
        yield path, f"{value.removesuffix(rest)}<{'number' if rest.isdecimal() else f'{len(rest)} characters'}>"
    elif refused:
        yield path, f'"{_VARYING.sub("#", value)}"'
    else:
        yield path, f'"{value}"' if key in _WORDS else "string"
    if isinstance(value, dict):
        for name, each in value.items():
            inner = f"{path}{{}}" if path.endswith(_MAPS) else f"{path}.{name}" if path else name
            yield from _parts(each, inner, name, refused=refused)
    elif isinstance(value, list):
        for each in value:
            yield from _parts(each, f"{path}[]", key, refused=refused)


def _name_of(parts: Mapping[str, str], *, is_first: bool) -> str:
    """The name of an event: its text or type, or of a chunk of a chat what it is for."""
    if "type" in parts or parts[""] != "object":
        return parts.get("type", parts[""]).strip('"')
    if parts.get("choices[].finish_reason", "null") != "null":
        return "event with a finish_reason"
    return "event without choices" if "choices[]" not in parts else "first event" if is_first else _BETWEEN


def _can_have(outline: Outline, event: str, path: str) -> bool:
    """Whether there is something at a path, or could be: an empty array tells nothing of its items."""
    parent = outline.get((event, path.rpartition(".")[0]), ())
    could = "object" in parent and not path.endswith(("[]", "{}")) if path else event != _BETWEEN
    return could or (event, path) in outline


def _outline_differences(recorded: Outline, answered: Outline) -> Iterator[Difference]:
    """Where two outlines differ, in the order in which they were recorded."""
    for event, path in dict.fromkeys((*recorded, *answered)):
        kinds = (sorted(each.get((event, path), ())) for each in (recorded, answered))
        theirs, ours = (" or ".join(each).replace("integer or number", "number") for each in kinds)
        # A measured number may happen to be an integer.
        agree = theirs == ours or (theirs, ours) == ("number", "integer")
        if not agree and _can_have(recorded, event, path) and _can_have(answered, event, path):
            yield Difference(_where(event, path), theirs, ours)
    common = [each for each in recorded if each in answered], [each for each in answered if each in recorded]
    moved = next((pair for pair in zip(*common, strict=True) if pair[0] != pair[1]), None)
    if moved is not None:
        yield Difference("order", *(_where(*each) for each in moved))


def _where(event: str, path: str) -> str:
    return f"{event}: {path}".strip(": ") or "the body"


# --- the command --------------------------------------------------------------------------------------------------


def compare_recordings(options: argparse.Namespace) -> int:
    """Print the differences; exit code 1 if there are any, or if nothing could be compared.

    Answers of a kind that differ in the same way are told together.
    """
    # Stubs, quotas and faults are not part of a vendor's API. Keys in a recording are masked, and were valid then.
    settings = replace(settings_of(options), stubs=None, stub=(), quota=(), fault=(), auth="off")
    checked_names(settings)
    routes = Routes(load_dialects(), settings)
    compared = defaultdict[Compared, list[str]](list)
    lost: list[Lost] = []
    for source in options.recording:
        for each in exchanges_in("drift", read_input(source), source):
            place = f"{source}, {each.place}"
            found = each if isinstance(each, Lost) else compare(each, routes, settings, options.ignore)
            if isinstance(found, Lost):
                lost.append(found._replace(place=place))
            else:
                compared[found].append(place)
    for complaint in complaints(lost):
        print_error(complaint)
    total = sum(map(len, compared.values()))
    different = sum(len(places) for found, places in compared.items() if found.differences)
    left_out = f"; {pluralize(len(lost), 'exchange')} not compared" if lost else ""
    print(f"{pluralize(total, 'answer')} compared: {total - different} alike, {different} different{left_out}")
    for (kind, differences), places in compared.items():
        if differences:
            more = f" and {len(places) - 4} more" if len(places) > 4 else ""
            print(f"\n{kind}  ({'; '.join(places[:4])}{more})")
        for where, recorded, answered in differences:
            theirs, ours = (printable(shortened(each)) or "nothing" for each in (recorded, answered))
            print(f"  {where}: recorded {theirs}, answered {ours}")
    if not compared:
        print_error("nothing could be compared")
    return 0 if compared and not different else 1


COMMAND = Command(
    compare_recordings,
    (
        argument("recording", nargs="+", metavar="FILE", help="*.jsonl, *.har or *.yaml; - for standard input"),
        argument("--ignore", action="append", default=[], metavar="PLACE", help="may differ: 'usage.*'; repeatable"),
    ),
    takes_settings=True,
    matter=("dialect", "edition"),
    about="Answers each recorded request anew, with a model that says what was recorded, and compares what a server "
    "does the same way each time: the status, the headers that clients act on, keys with their order and types, the "
    "events of a stream, the words of a refusal.",
)
