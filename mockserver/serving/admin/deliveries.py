"""The admin API of deliveries: the requests that dialects have made to applications by themselves."""

from starlette.responses import Response

from mockserver.control.delivered import shown
from mockserver.serving.admin.answers import admin_json
from mockserver.serving.admin.endpoints import Endpoint, per_namespace
from mockserver.serving.admin.json_schema import (
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    by_name,
    described,
    maybe,
    rows,
    table,
)
from mockserver.serving.admin.requests import AdminRequest

_DELIVERY = table(
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
    }
)


async def _listed(request: AdminRequest) -> Response:
    deliveries = request.namespace.deliveries
    listed = [shown(each)._asdict() for each in deliveries.all()]
    return admin_json({"begun": deliveries.begun, "ended": deliveries.ended, "deliveries": listed})


DELIVERIES = (
    Endpoint(
        "deliveries",
        "GET",
        per_namespace("/deliveries"),
        _listed,
        "The requests that were made to applications, such as callbacks, oldest first",
        {
            200: table(
                {
                    "begun": described(WHOLE, "how many there have been, those that are forgotten included"),
                    "ended": described(WHOLE, "how many of them are over"),
                    "deliveries": rows(_DELIVERY),
                }
            )
        },
    ),
)
