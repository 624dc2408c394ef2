"""The admin API's stubs, of the default namespace or (under `ns/<name>/`) of a named one.

GET     /_mockserver/stubs               all stubs in the order in which they are asked, with how often each was used
POST    /_mockserver/stubs               add one (its table as JSON), or several: {"stubs": [...]}
PUT     /_mockserver/stubs               these instead of all that were added: {"stubs": [...]}
PUT     /_mockserver/stubs/<name>        one under this name
DELETE  /_mockserver/stubs               take back all that were added
DELETE  /_mockserver/stubs/<name>        take one back
GET     /_mockserver/journal/unmatched   the exchanges that no stub has matched, with the nearest stubs
"""

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.journal.transcripts import told
from mockserver.control.routing import operations_of
from mockserver.control.stubs.book import Stub, StubBook, told_use
from mockserver.control.stubs.notation import StubError, check_names, read_stub
from mockserver.serving.admin.answers import (
    BadRequestError,
    Guard,
    admin_error,
    admin_json,
    asked_namespace,
    json_body,
    per_namespace,
)
from mockserver.serving.simulator import Simulator
from mockserver.serving.turns import in_turns

_EXAMPLE = '{"match": {"last_user": {"contains": "weather"}}, "reply": "It rains."}'


def stub_routes(simulator: Simulator, guarded: Guard) -> list[Route]:
    """The routes around the stub books of the namespaces."""
    operations = operations_of(simulator.dialects)

    def book(request: Request) -> StubBook:
        return asked_namespace(simulator, request).stubs

    def read(table: object, place: str = "stub") -> Stub:
        try:
            stub = read_stub(table, place)
            check_names(stub, operations)
        except StubError as error:
            raise BadRequestError(f"A stub is a JSON object such as {_EXAMPLE}: {error}") from None
        return stub

    async def several(request: Request) -> tuple[Stub, ...]:
        table = await json_body(request, "A stub", _EXAMPLE)
        key = next(iter(table)) if len(table) == 1 else ""
        # `stub` is what it is called in a file.
        if key not in ("stubs", "stub"):
            return (read(table),)
        if not isinstance(table[key], list):
            raise BadRequestError(f'{key}: is a list of stubs, such as {{"stubs": [{_EXAMPLE}]}}')
        return tuple(read(each, f"{key}[{number}]") for number, each in enumerate(table[key]))

    async def listed(request: Request) -> Response:
        rows = book(request).listed(simulator.setup.stubs)
        return admin_json({"stubs": [shown_stub(stub, used) for stub, used in rows]})

    async def add(request: Request) -> Response:
        stubs = await several(request)
        return admin_json({"added": [book(request).add(stub) for stub in stubs]}, 201)

    async def put_all(request: Request) -> Response:
        stubs = await several(request)
        return admin_json({"added": book(request).put(stubs)})

    async def put(request: Request) -> Response:
        table = await json_body(request, "A stub", _EXAMPLE)
        return admin_json({"added": [book(request).add(read({**table, "name": request.path_params["stub"]}))]})

    async def reset(request: Request) -> Response:
        book(request).put(())
        return admin_json({"stubs": []})

    async def remove(request: Request) -> Response:
        name = request.path_params["stub"]
        if book(request).remove(name):
            return admin_json({"removed": name})
        known = ", ".join(stub.name for stub, _ in book(request).listed()) or "none"
        return admin_error(404, f"No stub {name!r} was added here. Added: {known}")

    async def unmatched(request: Request) -> Response:
        exchanges = asked_namespace(simulator, request).journal.exchanges()
        missed = [each for each in exchanges if each.plan is not None and each.plan.nearest is not None]
        return admin_json({"exchanges": await in_turns(told, missed)})

    return [
        *per_namespace("GET", "/stubs", guarded(listed)),
        *per_namespace("POST", "/stubs", guarded(add)),
        *per_namespace("PUT", "/stubs", guarded(put_all)),
        *per_namespace("DELETE", "/stubs", guarded(reset)),
        *per_namespace("PUT", "/stubs/{stub:path}", guarded(put)),
        *per_namespace("DELETE", "/stubs/{stub:path}", guarded(remove)),
        *per_namespace("GET", "/journal/unmatched", guarded(unmatched)),
    ]


def shown_stub(stub: Stub, used: int) -> Mapping[str, Any]:
    """A stub as JSON: where it comes from, how often it was used, and the table that it was read from."""
    # In Python a table may hold functions, and TOML has dates: both are shown as Python writes them.
    table = orjson.loads(orjson.dumps(dict(stub.table), default=repr))
    told = {**told_use(stub, used), "match": table.get("match", {}), "table": table}
    return {**told, "origin": stub.origin or "added", "used_up": stub.step(used) is None}
