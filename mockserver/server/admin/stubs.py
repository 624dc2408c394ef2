"""The admin API of the stubs."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from starlette.responses import Response

from mockserver.core.messages import short_repr, unknown_name
from mockserver.recordings.stubs import read_replaying, replay_from
from mockserver.server.admin.endpoints import AdminError, AdminRequest, endpoint, per_namespace
from mockserver.server.admin.schemas import (
    ANY,
    FLAG,
    TEXT,
    WHOLE,
    Schema,
    described,
    either,
    maybe,
    one_of,
    reference,
    rows,
    table,
)
from mockserver.server.urls import ADMIN
from mockserver.state.stub_support import check_stub
from mockserver.state.stubs.parse_stubs import NOTES, read_stub, read_stubs
from mockserver.state.stubs.saving import WRITERS
from mockserver.state.stubs.stub import Stub, use_of
from mockserver.state.stubs.values import StubError

_LISTED_STUB = table(
    {
        "name": TEXT,
        "origin": described(TEXT, "`added`, or where it comes from"),
        "used": WHOLE,
        "most": described(maybe(WHOLE), "how often it can be used; null if unlimited"),
        "used_up": FLAG,
        "match": described(ANY, "of an exact one what the recorded request is known by"),
        "table": described(ANY, "as it was written"),
    }
)
SCHEMAS: Mapping[str, Schema] = {
    "ListedStub": _LISTED_STUB,
    "StubFile": table(
        {"stubs": rows(reference("Stub"))},
        {"$comment": described(rows(TEXT), "the stubs that a file cannot hold, each with the reason")},
    ),
}


# How many stubs can be added to a namespace: some milliseconds of searching for each request.
_MOST_STUBS = 5_000
_EXAMPLE = '{"match": {"last_user": {"contains": "weather"}}, "reply": "It rains."}'
_NAMES = rows(described(TEXT, "the name of a stub"))
_ADDED = table({"added": _NAMES})
_RECORDING = '{"recording": "the text of a .jsonl, .har or .yaml", "name": "weather", "match": "exact"}'
_REPLAYING: Mapping[str, Schema] = {
    "match": described(
        one_of(("exact", "lenient")), "answer only requests that are the same (by default), or all that look alike"
    ),
    "volatile": described(rows(TEXT), "what may differ in the same request, as in a stub's `request`"),
    "pace": described(FLAG, "answer as fast as recorded"),
}
_TAKES_RECORDING = table(
    {"recording": described(TEXT, "the text of a journal, an HTTP Archive or a cassette of vcrpy")},
    {
        "name": described(TEXT, "the prefix of the stubs' names; without one `recorded`"),
        **_REPLAYING,
    },
)
_REPLAYED = table({"added": _NAMES, "left_out": rows(described(TEXT, "an exchange that makes no stub, and why"))})
_STUBS: Schema = {
    "anyOf": [table({"stubs": rows(reference("Stub"))}), reference("Stub")],
    "description": "One stub, or several under `stubs`.",
}


_LISTED = table(
    {"stubs": rows(reference("ListedStub"))},
    {"hint": described(TEXT, "if none was added since the server started: how to keep those that are")},
)
_NOTHING_ADDED = (
    "No stub was added here since the server started. What is added at run time is kept in memory only; before a "
    f"restart, save it with GET {ADMIN}/stubs?format=toml, and serve that file with --stubs."
)

# The formats of stub files.
_FORMATS = {"toml": "application/toml", "json": "application/json"}


@endpoint(
    "GET",
    per_namespace("/stubs"),
    {200: either(_LISTED, reference("StubFile"))},
    writes=("application/toml",),
    query={"format": described(one_of(_FORMATS), "a stub file of the added stubs, in this format")},
)
async def stubs(request: AdminRequest) -> object:
    """All stubs in their order of precedence, with how often each was used; or the added ones as a stub file."""
    registry, wanted = request.namespace.stubs, request.query.get("format")
    if wanted is not None:
        if wanted not in _FORMATS:
            raise AdminError(f"format: {unknown_name('format', wanted[:40], _FORMATS)}")
        return Response(WRITERS[wanted](stub for stub, _ in registry.listed()), media_type=_FORMATS[wanted])
    listed = registry.listed(request.app_state.setup.stubs)
    hint = {} if registry.listed() else {"hint": _NOTHING_ADDED}
    return {"stubs": [_shown(stub, used) for stub, used in listed], **hint}


@endpoint("POST", per_namespace("/stubs"), {201: _ADDED}, takes=_STUBS)
async def add_stubs(request: AdminRequest) -> object:
    """Add stubs; one of a known name replaces that."""
    stubs = await _several(request)
    return {"added": _added(request, stubs)}


def _added(request: AdminRequest, stubs: Sequence[Stub]) -> list[str]:
    """Add stubs, if there is room for them."""
    registry = request.namespace.stubs
    _check_room(len(registry.added) + len(stubs))
    return registry.extend(stubs)


def _check_room(count: int) -> None:
    """Raise AdminError for more stubs than a namespace may have: each is tried for every request."""
    if count > _MOST_STUBS:
        raise AdminError(f"A namespace has room for {_MOST_STUBS:,} added stubs. Files of stubs may have more.")


@endpoint("POST", per_namespace("/replay"), {201: _REPLAYED}, takes=_TAKES_RECORDING)
async def replay(request: AdminRequest) -> object:
    """Add stubs that answer as a recording says."""
    given = await request.json("A recording", _RECORDING, ("recording", "name", *_REPLAYING))
    text, name = given.pop("recording", None), given.pop("name", "recorded")
    if not isinstance(text, str) or not isinstance(name, str):
        raise AdminError(f"recording and name: must be texts, as in {_RECORDING}")
    space = request.namespace
    settings, dialects = request.app_state.setup_of(space).settings, request.app_state.dialects
    read = partial(replay_from, text.encode("utf-8", "replace"), name, settings, dialects, read_replaying(**given))
    found = await asyncio.to_thread(read)
    return {"added": _added(request, found.stubs), "left_out": found.left_out}


@endpoint("PUT", per_namespace("/stubs"), {200: _ADDED}, takes=_STUBS)
async def put_stubs(request: AdminRequest) -> object:
    """Replace all added stubs with these."""
    stubs = await _several(request)
    _check_room(len(stubs))
    return {"added": request.namespace.stubs.put(stubs)}


@endpoint("PUT", per_namespace("/stubs/{stub:any}"), {200: _ADDED}, takes=reference("Stub"), refuses=(404,))
async def put_stub(request: AdminRequest) -> object:
    """Add or replace the stub with this name."""
    table, name = await request.json("A stub", _EXAMPLE), request.variable("stub")
    if table.get("name", name) != name:
        raise AdminError(f"name: {short_repr(table['name'])} is not the name in the path, {short_repr(name)}")
    stubs = await asyncio.to_thread(partial(_read, request, {**table, "name": name}))
    return {"added": _added(request, stubs)}


@endpoint("DELETE", per_namespace("/stubs"), {200: table({"stubs": rows({})})})
async def remove_stubs(request: AdminRequest) -> object:
    """Remove all added stubs."""
    request.namespace.stubs.put(())
    return {"stubs": []}


@endpoint("DELETE", per_namespace("/stubs/{stub:any}"), {200: table({"removed": TEXT})}, refuses=(404,))
async def remove_stub(request: AdminRequest) -> object:
    """Remove one stub."""
    registry, name = request.namespace.stubs, request.variable("stub")
    if registry.remove(name):
        return {"removed": name}
    known = ", ".join(stub.name for stub, _ in registry.listed()) or "none"
    raise AdminError(f"No stub {short_repr(name)} was added here. Added: {known}", 404)


async def _several(request: AdminRequest) -> tuple[Stub, ...]:
    body = await request.json("A stub", f'{_EXAMPLE}, and several {{"stubs": [...]}}')
    # A pattern may take 0.1 s to be compiled.
    return await asyncio.to_thread(partial(_read, request, body))


def _read(request: AdminRequest, body: Mapping[str, Any]) -> tuple[Stub, ...]:
    """One stub, or several under `stubs`, or `stub` as in files."""
    table = {key: value for key, value in body.items() if key not in NOTES}
    key = next(iter(table)) if len(table) == 1 else ""
    several = table[key] if key in ("stubs", "stub") else None
    app_state = request.app_state
    settings = app_state.setup_of(request.namespace).settings
    try:
        stubs = (read_stub(table),) if several is None else read_stubs(several, key)
        for number, stub in enumerate(stubs):
            place = "stub" if several is None else f"{key}[{number}]"
            check_stub(stub, app_state.dialects, settings, "" if stub.name else place)
    except StubError as error:
        raise AdminError(f"{error}. An example: {_EXAMPLE}") from None
    return stubs


def _shown(stub: Stub, used: int) -> Mapping[str, Any]:
    """A stub as JSON: its origin, how often it was used, and the table that it was read from."""
    # In Python a table may contain functions, and in TOML dates: both are shown as their repr.
    row = {**use_of(stub, used), "table": dict(stub.table)}
    written: Mapping[str, Any] = orjson.loads(orjson.dumps(row, default=repr))
    return {**written, "origin": stub.origin or "added", "used_up": stub.step(used) is None}


ENDPOINTS = (stubs, add_stubs, replay, put_stubs, remove_stubs, put_stub, remove_stub)
