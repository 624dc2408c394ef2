"""Requests to the admin API, with the simulator that they are about."""

from typing import Any, NamedTuple

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import Request

from mockserver.core.json_sizes import MOST_VALUES, has_more_values
from mockserver.server.asgi import ClientLeftError, read_body
from mockserver.server.simulator import Simulator
from mockserver.server.sockets.door import Door
from mockserver.server.sockets.wire import DOOR
from mockserver.state.namespaces import BAD_NAME, Namespace, is_name


class BadRequestError(Exception):
    """An invalid request to the admin API; the message says what would have been valid."""


class AdminRequest(NamedTuple):
    """A request to the admin API. Invalid parts raise BadRequestError as soon as they are read."""

    simulator: Simulator
    http: Request

    @property
    def query(self) -> QueryParams:
        """The query parameters."""
        return self.http.query_params

    @property
    def namespace_name(self) -> str:
        """The name of the namespace in the path; empty without one."""
        return str(self.http.path_params.get("namespace", ""))

    @property
    def namespace(self) -> Namespace:
        """The namespace that the path names, else the default one. Raises BadRequestError for an invalid name."""
        name = self.namespace_name
        if not is_name(name):
            raise BadRequestError(BAD_NAME)
        return self.simulator.namespaces.get(name)

    @property
    def now(self) -> float:
        """The time on the clock of that namespace, in seconds."""
        return self.simulator.clock(self.namespace).now()

    @property
    def door(self) -> Door | None:
        """The listener through which the request came; None in process."""
        door = self.http.scope.get("extensions", {}).get(DOOR)
        return door if isinstance(door, Door) else None

    def is_set(self, name: str) -> bool:
        """Whether the query sets a flag, with the value `1`."""
        value = self.query.get(name, "0")
        if value not in ("0", "1"):
            raise BadRequestError(f"{name}: {value[:40]!r} must be 1 or 0")
        return value == "1"

    def variable(self, name: str) -> str:
        """The value of a variable in the path."""
        return str(self.http.path_params[name])

    async def json(self, what: str, example: str) -> dict[str, Any]:
        """The JSON object in the body; otherwise the error says that `what` is expected, and shows an example."""
        try:
            value = orjson.loads(await self._body(what))
        except ClientLeftError:
            raise BadRequestError(f"{what} is incomplete: the request ended too early") from None
        except orjson.JSONDecodeError as error:
            raise BadRequestError(f"{what} must be a JSON object such as {example}: {error}") from None
        if not isinstance(value, dict):
            raise BadRequestError(f"{what} must be a JSON object such as {example}")
        return value

    async def _body(self, what: str) -> bytes:
        most = self.simulator.setup.settings.max_body
        body = await read_body(self.http.scope, self.http.receive, most)
        if body is None:
            raise BadRequestError(f"{what} has more than {most} bytes (--max-body)")
        if has_more_values(body):
            raise BadRequestError(f"{what} has more than {MOST_VALUES} values")
        return body
