"""The admin API of deliveries: the requests that dialects have made to applications by themselves."""

from starlette.responses import Response

from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint, per_namespace
from mockserver.server.admin.json_schema import WHOLE, described, reference, rows, table
from mockserver.server.admin.requests import AdminRequest
from mockserver.state.deliveries import shown


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
                    "deliveries": rows(reference("Delivery")),
                }
            )
        },
    ),
)
