"""The admin API of the namespaces: listing and resetting them, their clocks, and the deliveries to applications."""

from collections.abc import Mapping

from mockserver.core.caches import forget_large
from mockserver.server.admin.endpoints import AdminError, AdminRequest, endpoint, per_namespace, per_server
from mockserver.server.admin.schemas import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    described,
    maybe,
    reference,
    rows,
    table,
)

SCHEMAS: Mapping[str, Schema] = {
    "Delivery": table(
        {
            "number": described(WHOLE, "its number within the namespace, from 1 on"),
            "at": described(NUMBER, "when it began on the namespace's clock, in Unix seconds"),
            "dialect": TEXT,
            "message": described(TEXT, "the id of what was delivered"),
            "attempt": described(WHOLE, "how many attempts there were before"),
            "method": TEXT,
            "url": TEXT,
            "headers": described(by_name(TEXT), "their names in lower case"),
            "body": TEXT,
            "status": described(maybe(WHOLE), "of the application's answer; null if there is none"),
            "error": described(TEXT, "why there is none"),
            "answer": described(TEXT, "the body of the answer"),
            "seconds": described(NUMBER, "how long it took on the namespace's clock"),
            "ended": FLAG,
        },
        description="A request that a dialect has made to an application by itself.",
    ),
}


_CLOCK = table(
    {
        "ahead": described(NUMBER, "by how many seconds it was advanced"),
        "now": described(NUMBER, "the present, in seconds"),
    }
)


@endpoint(
    "GET",
    per_server("/namespaces"),
    {200: table({"namespaces": rows(table({"name": TEXT, "ahead": NUMBER, "exchanges": WHOLE, "faults": WHOLE}))})},
)
async def namespaces(request: AdminRequest) -> object:
    """The namespaces in use."""
    return {
        "namespaces": [
            {
                "name": each.name,
                "ahead": each.shift,
                "exchanges": each.journal.opened,
                "faults": len(each.faults.armed),
            }
            for each in request.app_state.namespaces.all()
        ]
    }


@endpoint("GET", per_namespace("/clock"), {200: _CLOCK})
async def clock(request: AdminRequest) -> object:
    """The clock of the namespace."""
    return {"ahead": request.namespace.shift, "now": request.now}


@endpoint(
    "POST",
    per_namespace("/clock"),
    {200: table({"ahead": NUMBER})},
    takes=table({"advance": described({"type": "number", "minimum": 0}, "seconds")}),
)
async def advance(request: AdminRequest) -> object:
    """Advance the clock."""
    body = await request.json("The body", '{"advance": 60}', ("advance",))
    if "advance" not in body:
        raise AdminError('advance: is missing, as in {"advance": 60}')
    try:
        return {"ahead": request.app_state.clocks.advance(request.namespace, body["advance"])}
    except ValueError as error:
        raise AdminError(f'{error}; as in {{"advance": 60}}') from None


@endpoint("POST", per_namespace("/reset"), {200: table({"reset": described(TEXT, "the namespace")})})
async def reset(request: AdminRequest) -> object:
    """Remove stubs and armed faults, and clear counters and the journal; settings and clock stay."""
    held = request.namespace.journal.held
    request.namespace.reset()
    forget_large(held)
    await request.recover_listener()
    return {"reset": request.namespace_name}


@endpoint(
    "GET",
    per_namespace("/deliveries"),
    {
        200: table(
            {
                "begun": described(WHOLE, "how many there have been, those that are forgotten included"),
                "ended": described(WHOLE, "how many of them are over"),
                "deliveries": rows(reference("Delivery")),
            }
        )
    },
)
async def deliveries(request: AdminRequest) -> object:
    """The requests that were made to applications, such as callbacks, oldest first."""
    deliveries = request.namespace.deliveries
    listed = [each._asdict() for each in deliveries.all()]
    return {"begun": deliveries.begun, "ended": deliveries.ended, "deliveries": listed}


ENDPOINTS = (namespaces, clock, advance, reset)
