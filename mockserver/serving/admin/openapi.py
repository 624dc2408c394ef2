"""GET /_mockserver/openapi.json: the admin API as an OpenAPI 3.1 document.

Which paths there are, is read off the routes; what is known of each stands in one table, `OPERATIONS`. A test wants a
line there for every route, and holds the live answers to the schemas.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from mockserver.core.dialects import EDITIONS
from mockserver.core.installed import load_dialects
from mockserver.core.version import __version__
from mockserver.serving.addresses import ADMIN, HEALTH
from mockserver.serving.admin.schemas import (
    FLAG,
    NUMBER,
    SCHEMAS,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    one_of,
    reference,
    rows,
    said,
    table,
)

_NAMESPACED = f"{ADMIN}/ns/{{namespace}}"
_VARIABLE = re.compile(r"{(\w+)(?::\w+)?}")


class Query(NamedTuple):
    """What may stand behind the path."""

    name: str
    schema: Schema
    summary: str


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of an operation: `takes` is the schema of its body, `gives` that of its answer by status.

    A schema that is a text is another content type. `opens` to anybody: it wants no token.
    """

    name: str
    tag: str
    summary: str
    gives: Mapping[int, Schema | str]
    takes: Schema | None = None
    query: tuple[Query, ...] = ()
    refuses: tuple[int, ...] = ()
    opens: bool = False


class Served(NamedTuple):
    """A method and a path of the routes: as the table has it, without the namespace, and as the document has it."""

    method: str
    key: str
    path: str


_SLICE = (
    Query("after", WHOLE, "only exchanges with a greater number"),
    Query("limit", WHOLE, "only the latest so many; 1000 by default"),
)
_DECLARED = (
    Query("handles", one_of(("retry", "raise", "fallback")), "what correct handling is"),
    Query("outcome", one_of(("answer", "error", "cancelled")), "what the application made of it"),
    Query("patience", NUMBER, "the longest silence that a client should bear, in seconds; 60 by default"),
    Query("least_attempts", NUMBER, "fewer of them are given up too early; 3 by default"),
    Query("most_attempts", NUMBER, "more of them are a storm; 10 by default"),
)
_STATE = table({"status": TEXT, "dialects": rows(TEXT)}, {"error": said(TEXT, "why it is not ready, where it is not")})
_CHECKED = table(
    {"passed": FLAG, "checks": rows(table({"check": TEXT, "passed": FLAG}, {"problem": TEXT}))},
    said="Each check, and what is wrong: what was expected, what was found, what came nearest.",
)
_ADDED = table({"added": rows(said(TEXT, "the name of a stub"))})
_SIFTED = table(
    {
        "matching": rows(WHOLE),
        "differences": by_name(rows(TEXT)),
        "forgotten": said(reference("Forgotten"), "how many nobody can tell of"),
    }
)
_EXCHANGES = table(
    {
        "opened": said(WHOLE, "how many there have been, those that are forgotten included"),
        "forgotten": said(reference("Forgotten"), "how many had to give way"),
        "exchanges": rows({"anyOf": [reference("Exchange"), reference("WholeExchange")]}),
    }
)
_DOCUMENT: Schema = {"type": "object", "required": ["openapi", "info", "paths"]}
_CLOCK = table({"ahead": said(NUMBER, "seconds it was put forward"), "now": said(NUMBER, "its present, in seconds")})
_STUBS: Schema = {
    "anyOf": [table({"stubs": rows(reference("Stub"))}), reference("Stub")],
    "description": "One stub, or several under `stubs`.",
}

OPERATIONS: Mapping[str, Described] = {
    "GET /health": Described(
        "health", "server", "Whether the process answers", {200: table({"status": TEXT})}, opens=True
    ),
    "GET /ready": Described(
        "ready",
        "server",
        "Whether the latest config is in force and the listener listens",
        {200: _STATE, 503: _STATE},
        opens=True,
    ),
    "GET /version": Described(
        "version", "server", "What runs here", {200: table({"name": TEXT, "version": TEXT})}, opens=True
    ),
    "GET /openapi.json": Described("openapi", "server", "This document", {200: _DOCUMENT}, opens=True),
    "GET /routes": Described(
        "routes",
        "server",
        "Every route to a dialect",
        {200: table({"routes": rows(table({"method": TEXT, "path": TEXT, "dialect": TEXT, "operation": TEXT}))})},
    ),
    "GET /metrics": Described("metrics", "server", "All figures, for Prometheus", {200: "text/plain"}),
    "GET /settings": Described(
        "settings", "settings", "The settings in force, without secrets", {200: reference("Settings")}
    ),
    "GET /ns/{namespace}/settings": Described(
        "ownSettings", "settings", "The namespace's own settings", {200: reference("OwnSettings")}
    ),
    "PATCH /settings": Described(
        "changeSettings",
        "settings",
        "Change settings for the requests that come from now on",
        {200: table({"changed": rows(TEXT)})},
        takes=reference("Changes"),
        refuses=(400,),
    ),
    "PUT /settings": Described(
        "settle",
        "settings",
        "Give the namespace settings of its own, instead of those that it has",
        {200: reference("OwnSettings")},
        query=(Query("merge", TEXT, "`1`: beside those that it has, which stay unless they are named"),),
        takes=reference("OwnSettings"),
        refuses=(400,),
    ),
    "GET /catalogue": Described(
        "catalogue",
        "settings",
        "Dialects with operations and models, kinds of faults, scenarios, failures, presets",
        {200: reference("Catalogue")},
    ),
    "GET /latency": Described(
        "latency",
        "settings",
        "The first-token times and gaps that a latency leads to at speed 1, as a hundred quantiles in seconds",
        {200: table({"of": TEXT, "ttft": rows(NUMBER), "gaps": rows(NUMBER)})},
        query=(
            Query("of", TEXT, "a latency; the one in force by default"),
            Query("dialect", TEXT, "whose `realistic` is meant; the first by default"),
        ),
        refuses=(400,),
    ),
    "GET /quotas": Described(
        "quotas", "settings", "What is taken of the quotas, and what runs", {200: reference("Quotas")}
    ),
    "GET /namespaces": Described(
        "namespaces",
        "namespaces",
        "The namespaces in use",
        {200: table({"namespaces": rows(table({"name": TEXT, "ahead": NUMBER, "exchanges": WHOLE, "faults": WHOLE}))})},
    ),
    "GET /clock": Described("clock", "namespaces", "What the namespace's clock says", {200: _CLOCK}),
    "POST /clock": Described(
        "advance",
        "namespaces",
        "Put the clock forward",
        {200: table({"ahead": NUMBER})},
        takes=table({"advance": said({"type": "number", "minimum": 0}, "seconds")}),
        refuses=(400,),
    ),
    "POST /reset": Described(
        "reset",
        "namespaces",
        "Forget all that was armed, stubbed, counted and recorded; settings and time stay",
        {200: table({"reset": said(TEXT, "the namespace")})},
    ),
    "GET /faults": Described(
        "faults",
        "faults",
        "What is armed, and how often it has struck",
        {200: table({"faults": rows(reference("ArmedFault"))})},
    ),
    "POST /faults": Described(
        "arm",
        "faults",
        "Arm a fault or a scenario",
        {201: table({"armed": TEXT})},
        takes=reference("Fault"),
        refuses=(400,),
    ),
    "DELETE /faults": Described(
        "disarmAll",
        "faults",
        "Take back every fault that was armed, and mend the listener",
        {200: table({"faults": rows({})})},
    ),
    "DELETE /faults/{rule}": Described(
        "disarm", "faults", "Take one back", {200: table({"disarmed": TEXT})}, refuses=(404,)
    ),
    "GET /stubs": Described(
        "stubs",
        "stubs",
        "All stubs in the order in which they are asked, with how often each was used",
        {200: table({"stubs": rows(reference("ListedStub"))})},
    ),
    "POST /stubs": Described("addStubs", "stubs", "Add stubs", {201: _ADDED}, takes=_STUBS, refuses=(400,)),
    "PUT /stubs": Described(
        "putStubs", "stubs", "These instead of all that were added", {200: _ADDED}, takes=_STUBS, refuses=(400,)
    ),
    "DELETE /stubs": Described(
        "removeStubs", "stubs", "Take back all that were added", {200: table({"stubs": rows({})})}
    ),
    "PUT /stubs/{stub}": Described(
        "putStub", "stubs", "One stub under this name", {200: _ADDED}, takes=reference("Stub"), refuses=(400, 404)
    ),
    "DELETE /stubs/{stub}": Described(
        "removeStub", "stubs", "Take one back", {200: table({"removed": TEXT})}, refuses=(404,)
    ),
    "GET /journal": Described(
        "journal",
        "journal",
        "The exchanges, oldest first",
        {200: _EXCHANGES},
        query=(*_SLICE, Query("full", TEXT, "`1`: each with its request, its answer and every event")),
        refuses=(400,),
    ),
    "GET /journal.jsonl": Described(
        "journalLines",
        "journal",
        "The same, one whole exchange to a line",
        {200: "application/x-ndjson"},
        query=_SLICE,
        refuses=(400,),
    ),
    "GET /journal.har": Described(
        "journalArchive",
        "journal",
        "The same, as an HTTP Archive (HAR 1.2)",
        {200: table({"log": table({"version": TEXT, "creator": by_name(TEXT), "entries": rows(by_name({}))})})},
        query=_SLICE,
        refuses=(400,),
    ),
    "GET /journal/{number}": Described(
        "exchange", "journal", "One exchange, whole", {200: reference("WholeExchange")}, refuses=(404,)
    ),
    "DELETE /journal": Described(
        "forget", "journal", "Forget them, and count from 1 again", {200: table({"exchanges": rows({})})}
    ),
    "GET /journal/unmatched": Described(
        "unmatched",
        "journal",
        "The exchanges that no stub has matched, with the nearest stubs",
        {200: table({"exchanges": rows(reference("Exchange"))})},
    ),
    "POST /journal/sift": Described(
        "sift",
        "journal",
        "Where each exchange differs from a match",
        {200: _SIFTED},
        takes=table({}, {"match": reference("Match")}),
        refuses=(400,),
    ),
    "GET /events": Described(
        "events",
        "journal",
        "Exchanges as they begin and end: server-sent events `exchange`, each with an Exchange as its data",
        {200: "text/event-stream"},
    ),
    "GET /wait": Described(
        "wait",
        "verification",
        "Wait for so many requests, or without a number for every answer to end",
        {200: table({"happened": said(FLAG, "false when time was over first"), "opened": WHOLE})},
        query=(
            Query("requests", NUMBER, "how many requests to a model"),
            Query("seconds", NUMBER, "the longest wait; 5 by default, 600 at the most"),
        ),
        refuses=(400,),
    ),
    "POST /verify": Described(
        "verify",
        "verification",
        "Check what clients have done; status 417 when something is wrong",
        {200: _CHECKED, 417: _CHECKED},
        takes=table({"checks": rows(reference("Check"))}),
        refuses=(400,),
    ),
    "GET /report": Described(
        "report",
        "verification",
        "The verdict: how clients have behaved towards a server that failed",
        {200: reference("Verdict")},
        query=_DECLARED,
        refuses=(400,),
    ),
    "GET /ui": Described("page", "page", "To the live page", {307: ""}, opens=True),
    "GET /ui/{path}": Described(
        "pageFile",
        "page",
        "The live page (without a path) and its files",
        {200: "text/html"},
        refuses=(404,),
        opens=True,
    ),
    "GET ../{dialect}/openapi.json": Described(
        "dialect",
        "server",
        "A dialect's own OpenAPI 3.1 document",
        {200: _DOCUMENT},
        query=(Query("edition", one_of(EDITIONS), "the server's by default"),),
        refuses=(400,),
        opens=True,
    ),
}


def openapi_routes() -> list[Route]:
    """The route of the document."""

    async def document(request: Request) -> Response:
        return Response(orjson.dumps(admin_document(request.app.routes)), media_type="application/json")

    return [Route(f"{ADMIN}/openapi.json", document, methods=["GET"])]


def admin_document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """The document of an application's routes."""
    paths: dict[str, dict[str, Any]] = {}
    for place in places(routes):
        described = OPERATIONS.get(place.key)
        if described is not None:
            paths.setdefault(place.path, {})[place.method.lower()] = _operation(place, described)
    return {
        "openapi": "3.1.0",
        "info": {"title": "mockserver: admin API", "version": __version__},
        "servers": [{"url": "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def places(routes: Iterable[BaseRoute]) -> Iterator[Served]:
    """Every method and path of the routes, and `health`, which the application answers itself. HEAD goes with GET."""
    yield Served("GET", _key("GET", HEALTH), HEALTH)
    for route in routes:
        if isinstance(route, Route) and route.include_in_schema:
            path = _VARIABLE.sub(r"{\1}", route.path)
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield Served(method, _key(method, path), path)


def _key(method: str, path: str) -> str:
    """The line of the table for a path: that of the namespace's own, where there is one, else the one for both."""
    if not path.startswith(ADMIN):
        return f"{method} ..{path}"
    own = f"{method} {path.removeprefix(ADMIN)}"
    return own if own in OPERATIONS else f"{method} {path.removeprefix(_NAMESPACED).removeprefix(ADMIN)}"


def _operation(place: Served, described: Described) -> dict[str, Any]:
    variables = _VARIABLE.findall(place.path)
    many = "namespace" in variables and place.key != f"{place.method} {place.path.removeprefix(ADMIN)}"
    written: dict[str, Any] = {
        "operationId": f"{described.name}InNamespace" if many else described.name,
        "tags": [described.tag],
        "summary": described.summary,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _variable(name)} for name in variables),
            *(
                {"name": it.name, "in": "query", "schema": it.schema, "description": it.summary}
                for it in described.query
            ),
        ],
        "responses": _responses(described, named="namespace" in variables),
    }
    if described.takes is not None:
        written["requestBody"] = {"required": True, "content": {"application/json": {"schema": described.takes}}}
    return written if described.opens else written | {"security": [{"token": []}, {}]}


def _variable(name: str) -> Schema:
    known: Mapping[str, Schema] = {"number": WHOLE, "dialect": one_of(load_dialects())}
    return known.get(name, TEXT)


def _responses(described: Described, *, named: bool) -> dict[str, Any]:
    found = {str(status): _answer(schema) for status, schema in described.gives.items()}
    refusals = set(described.refuses if described.opens else (*described.refuses, 401))
    if named:
        # Not everything that a path can hold is a namespace's name.
        refusals.add(400)
    error = {"description": "Why not, and what would have been valid.", "content": _json(reference("Error"))}
    return found | {str(status): error for status in sorted(refusals)}


def _answer(schema: Schema | str) -> dict[str, Any]:
    if not isinstance(schema, str):
        return {"description": "The answer.", "content": _json(schema)}
    return {"description": "The answer.", **({"content": {schema: {"schema": TEXT}}} if schema else {})}


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
