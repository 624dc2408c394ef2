"""The installed dialects: found, loaded and checked.

To add a dialect, write a folder whose `dialect.py` holds one `Dialect`, and name that in the entry-point group
`mockserver.dialects`. Built-in or not, all are found through it. Those from outside are checked when they are loaded,
and where one of their answers has failed: for parts of the wrong type, references to what is not there, and functions
that give what they must not.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import signature
from operator import attrgetter
from pathlib import Path
from traceback import walk_tb
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mockserver.core.dialects import EDITIONS, Dialect, Edition, Operation, RequestScope, no_read, no_write
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.core.http import Call, Headers, RawHeaders, Reply
from mockserver.core.messages import shortened

GROUP = "mockserver.dialects"
_ENTRIES = re.compile(rf"^\[{re.escape(GROUP)}\]$(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^(\S+) *= *(\S+)$", re.MULTILINE)
# One mistake may show in many places.
_MOST_DEFECTS = 3


class DialectError(ImportError):
    """An installed dialect that cannot be loaded, or is not whole."""


def load_dialects() -> dict[str, Dialect]:
    """Every installed dialect by name. Raises DialectError."""
    return {name: load_dialect(name) for name in entries()}


@cache
def load_dialect(name: str) -> Dialect:
    """The installed dialect of that name; KeyError if there is none. Raises DialectError."""
    entry = entries()[name]
    module, _, place = entry.partition(":")
    try:
        dialect: Dialect = attrgetter(place)(import_module(module))
    except Exception as error:
        told = f"{type(error).__name__}: {error}{_line_of(error, module)}"
        raise DialectError(f"dialect {name} ({entry}): {told}") from error
    # A test looks at the built-in ones, so that no start of the server has to.
    defects = [] if _is_built_in(module) else [*dict.fromkeys(defects_of(dialect))]
    if not defects and dialect.name != name:
        defects = [f"its name is {dialect.name!r}, but that of its entry point {name!r}"]
    if defects:
        raise DialectError(f"dialect {name} ({entry}): " + "; ".join(defects[:_MOST_DEFECTS]))
    return dialect


def _line_of(error: BaseException, module: str) -> str:
    """The line of a module at which an error has arisen; empty if that is elsewhere."""
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_globals.get("__name__") == module]
    return f" (line {lines[-1]})" if lines else ""


@cache
def entries() -> dict[str, str]:
    """The entry point of each dialect (`module:attribute`), by its name. Raises DialectError if one has the name of a
    built-in one."""
    # `importlib.metadata` would take a tenth of the server's start, so it is only asked when no folder has any entry:
    # packages may be imported from an archive.
    pairs = [pair for folder in reversed(sys.path) for pair in _entries_in(folder)]
    found = dict(pairs)
    for name, place in pairs:
        if _is_built_in(place) != _is_built_in(found[name]):
            raise DialectError(f"dialect {name}: both {place} and {found[name]} have this name; yours needs another")
    if not found:
        from importlib.metadata import entry_points

        found = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def _is_built_in(entry: str) -> bool:
    return entry.startswith("mockserver.")


def _entries_in(folder: str) -> Iterator[tuple[str, str]]:
    """The entry points of the packages installed in a folder; none if there is no such folder."""
    for file in Path(folder).glob("*.*-info/entry_points.txt"):
        for group in _ENTRIES.findall(file.read_text("utf-8", errors="replace")):
            yield from _ENTRY.findall(group)


# --- checks ------------------------------------------------------------------------------------------------------

_ROUTE = re.compile(r"[A-Z]+ /(?:[^/{}]|{\w+}|(?<!/)/)*")
_VARIABLE = re.compile(r"{\w+}")
_NAME = re.compile(r"(?!ns$)[a-z0-9][a-z0-9_-]*")
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*")


def defects_of(dialect: Dialect) -> Iterator[str]:
    """What would fail when somebody asks for it: parts of the wrong type, and what refers to something that is not
    there."""
    mistyped = [*mismatches(dialect, Dialect)]
    yield from mistyped
    if mistyped:
        return
    if not _NAME.fullmatch(dialect.name):
        yield f"name is {dialect.name!r}, but paths begin with it: a-z, 0-9, _ and - are possible, and 'ns' is not"
    yield from (
        f"hosts: {each!r} is no host name, as api.example" for each in dialect.hosts if not _HOST.fullmatch(each)
    )
    seen = set[object]()
    for operation in dialect.operations:
        said, reads = f"operation {operation.name}", operation.read is not no_read
        if (operation.handler is None, operation.write is not no_write) != (reads, reads):
            yield f"{said} needs a handler, or else both a read and a write"
        if operation.name in seen:
            yield f"two operations are named {operation.name}"
        seen.add(operation.name)
        for path in operation.paths:
            route = f"{operation.method} {path}"
            if not _ROUTE.fullmatch(route):
                yield f"{said} is {route!r}, which no request can be"
            served = _VARIABLE.sub("{}", route)
            if served in seen:
                yield f"two operations are {served}"
            seen.add(served)
    for edition in EDITIONS:
        yield from _defects_in(dialect, edition)
    # Every call and every failing stream asks these.
    call = Call("GET", "/", Headers(()), b"", "", 0.0)
    yield from _given(lambda: dialect.headers(call, RequestScope("observed", 0.0, 0)), RawHeaders, "headers gives")
    failed = Refusal(FailureKind.SERVER_ERROR, call=call)
    row = dialect.errors.get("observed", {}).get(failed.kind)
    if row is not None:
        yield from _given(lambda: dialect.stream_error(500, row.body(failed, row.message)), bytes, "stream_error gives")
    if dialect.credentials is not None:
        credentials = dialect.credentials
        yield from _given(lambda: credentials(call), str | None, "credentials gives")


def _given(function: Callable[[], object], hint: Any, place: str) -> Iterator[str]:
    """Where what a function gives is not of its type."""
    try:
        found = function()
    except Exception as error:
        yield f"what {place} cannot be made: {type(error).__name__}: {error}"
    else:
        yield from mismatches(found, hint, f"what {place}")


def _defects_in(dialect: Dialect, edition: Edition) -> Iterator[str]:
    """What an edition lacks."""
    absent = [name for name in ("errors", "contract") if edition not in getattr(dialect, name)]
    if absent:
        yield f"{' and '.join(absent)} must have the edition {edition!r} too"
        return
    for kind in FailureKind:
        try:
            row = dialect.error(edition, kind)
        except KeyError:
            yield f"errors must have a row for {kind}"
            continue
        try:
            body = row.body(Refusal(kind, call=Call("GET", "/", Headers(()))), row.message)
            if not isinstance(body, bytes):
                json.dumps(body)
        except Exception as error:
            yield f"the body of an error cannot be made: {type(error).__name__}: {error}"
    try:
        known = dialect.contract[edition]()["schemas"]
    except Exception as error:
        yield f"the contract cannot be read: {type(error).__name__}: {error}"
        return
    own = [each for each in dialect.operations if each.edition in (None, edition)]
    named = {name: f"operation {each.name}" for each in own for name in each.schemas if name}
    for name, by in {**named, dialect.error_schema: "error_schema"}.items():
        if name not in known:
            yield f"the contract has no schema {name!r}, which {by} names"


def defects_of_answer(operation: Operation, call: Call, scope: RequestScope, reply: object) -> Iterator[str]:
    """What an operation gives that is not of its type, which may be why its answer has failed."""
    given = [reply]
    if operation.handler is None:
        with suppress(Exception):
            given.append(operation.read(call, scope))
    for value in given:
        if isinstance(value, (GenerationRequest, Refusal, Reply)):
            yield from mismatches(value, type(value), f"operation {operation.name}: {type(value).__name__}")


# --- values of a wrong type ---------------------------------------------------------------------------------------

_NOUNS = {
    tuple: "a tuple",
    Sequence: "a sequence",
    Mapping: "a mapping",
    Callable: "a function",
    re.Pattern: "a compiled pattern",
    bytes: "bytes",
}
# How many characters of a value are told.
_LONGEST = 80


def mismatches(value: object, hint: Any, place: str = "") -> Iterator[str]:
    """Where a value is not of a type: `models[0] is 'm-1', not a Model`.

    The members of named tuples are looked at, and those of sequences and mappings; of functions only that they take
    what they are given.
    """
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        found = [[*mismatches(value, each, place)] for each in arguments]
        yield from () if [] in found else found[0]
    elif kind is Literal:
        if value not in arguments:
            yield f"{place} is {_shown(value)}, not one of {', '.join(map(repr, arguments))}"
    elif not _is_a(value, kind, arguments):
        named = _NOUNS.get(kind) or f"{'an' if kind.__name__[0] in 'AEIOi' else 'a'} {kind.__name__}"
        if kind is re.Pattern:
            named += f" of {arguments[0].__name__}"
        yield f"{place or 'it'} is {_shown(value)}, not {named}"
    elif hasattr(kind, "_fields"):
        for name, each in _hints_of(kind).items():
            yield from mismatches(getattr(value, name), each, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, Mapping) and arguments:
        for key, each in value.items():
            yield from mismatches(key, arguments[0], f"a key of {place}")
            yield from mismatches(each, arguments[1], f"{place}[{_shown(key)}]")
    elif kind is Callable:
        yield from _misfits(value, arguments[0], place)
    elif isinstance(value, Sequence) and arguments:
        hints = arguments[:1] * len(value) if kind is not tuple or arguments[-1] is ... else arguments
        if len(hints) != len(value):
            yield f"{place} has {len(value)} members, not {len(hints)}"
        for index, (each, own) in enumerate(zip(value, hints, strict=False)):
            yield from mismatches(each, own, f"{place}[{index}]")


@cache
def _hints_of(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _is_a(value: object, kind: Any, arguments: Sequence[Any]) -> bool:
    if kind is Callable:
        return callable(value)
    if kind is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str)
    if kind is re.Pattern:
        return isinstance(value, re.Pattern) and isinstance(value.pattern, tuple(arguments))
    return kind in (Any, object) or isinstance(value, (int, float) if kind is float else kind)


def _misfits(function: Any, given: Any, place: str) -> Iterator[str]:
    """That a function cannot be called with values of the given types, if these are known."""
    try:
        taken = signature(function)
    except ValueError:
        # Some functions that are not written in Python do not tell.
        return
    if isinstance(given, list):
        try:
            taken.bind(*given)
        except TypeError:
            names = ", ".join(getattr(each, "__name__", str(each)) for each in given)
            yield f"{place} takes ({', '.join(taken.parameters)}), but is called with ({names})"


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, str) and type(value) is not str else repr(value)
    return shortened(text, _LONGEST)
