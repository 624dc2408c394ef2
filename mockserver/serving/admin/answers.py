"""The admin API's own answers: JSON that people can read, and errors that name the way out."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from mockserver.control.namespaces import BAD_NAME, Namespace, is_name
from mockserver.serving.addresses import ADMIN
from mockserver.serving.simulator import Simulator

Endpoint = Callable[[Request], Awaitable[Response]]
Guard = Callable[[Endpoint], Endpoint]

# A namespace's own routes have this in front; without it the default one is meant.
_ONE_NAMESPACE = ADMIN + "/ns/{namespace}"


class BadRequestError(Exception):
    """A request to the admin API that cannot be meant; the text says what would have been valid."""


def admin_json(value: Any, status: int = 200) -> Response:
    """A JSON answer; frozen values are written as objects."""
    return Response(orjson.dumps(value, option=orjson.OPT_INDENT_2), status, media_type="application/json")


def admin_error(status: int, message: str) -> Response:
    """An error, in a shape that OpenAI-style clients can show."""
    return admin_json({"error": {"message": message, "type": "mockserver_admin"}}, status)


def per_namespace(method: str, path: str, endpoint: Endpoint) -> list[Route]:
    """The routes of an endpoint that each namespace has, and the default one without a name in the path."""
    return [Route(f"{prefix}{path}", endpoint, methods=[method]) for prefix in (ADMIN, _ONE_NAMESPACE)]


def namespace_name(request: Request) -> str:
    """The name of the namespace in the path of a request."""
    return str(request.path_params.get("namespace", ""))


def asked_namespace(simulator: Simulator, request: Request) -> Namespace:
    """The namespace that the path of a request names. BadRequestError where no request could reach one of that name."""
    name = namespace_name(request)
    if not is_name(name):
        raise BadRequestError(BAD_NAME)
    return simulator.namespaces.get(name)


async def json_body(request: Request, what: str, example: str) -> dict[str, Any]:
    """The JSON object that a request brings. BadRequestError says what is wanted, and shows an example."""
    try:
        value = orjson.loads(await request.body())
    except ClientDisconnect:
        raise BadRequestError(f"{what} has not come to its end") from None
    except orjson.JSONDecodeError as error:
        raise BadRequestError(f"{what} is a JSON object such as {example}: {error}") from None
    if not isinstance(value, dict):
        raise BadRequestError(f"{what} is a JSON object such as {example}")
    return value
