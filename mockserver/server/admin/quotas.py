"""The admin API of the quotas."""

from starlette.responses import Response

from mockserver.server.admin.answers import admin_json
from mockserver.server.admin.endpoints import Endpoint, per_namespace
from mockserver.server.admin.json_schema import reference
from mockserver.server.admin.requests import AdminRequest


async def _quotas(request: AdminRequest) -> Response:
    return admin_json(request.namespace.quotas.describe(request.now))


QUOTAS = (
    Endpoint(
        "quotas",
        "GET",
        per_namespace("/quotas"),
        _quotas,
        "How much of the quotas is used, and what is running",
        {200: reference("Quotas")},
    ),
)
