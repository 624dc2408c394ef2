"""What every endpoint of the admin API is made of: its description, the requests that it gets, and its answers."""

import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from mockserver.core.http import Headers
from mockserver.core.json_values import MOST_VALUES, has_more_values
from mockserver.core.messages import short_repr, unknown_name
from mockserver.server.admin.schemas import Schema
from mockserver.server.app_state import AppState
from mockserver.server.asgi import ClientLeftError, read_body
from mockserver.server.listener import Listener
from mockserver.server.sockets.wire import LISTENER
from mockserver.server.urls import ADMIN
from mockserver.state.context import overrides_of
from mockserver.state.namespaces import BAD_NAME, DEFAULT, Namespace, is_name, namespace_of

# How many characters a message may have: names and alternatives that are listed take the most.
_LONGEST_MESSAGE = 8192
# The bodies of clients that have nothing to say.
_NOTHING = (b"", b"{}", b"null")


class AdminError(Exception):
    """An invalid request to the admin API; the message says what would have been valid."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class AdminRequest:
    """A request to the admin API. Invalid parts raise AdminError as soon as they are read."""

    def __init__(self, app_state: AppState, http: Request) -> None:
        self.app_state, self.http = app_state, http

    @property
    def query(self) -> QueryParams:
        """The query parameters."""
        return self.http.query_params

    @cached_property
    def namespace_name(self) -> str:
        """The name of the namespace in the path, else in the header or the API key that vendors' requests have, too;
        empty without any.

        What is meant for one namespace must not happen to another: raises AdminError for an invalid name and if they
        differ, and HeaderError for a misspelt header.
        """
        in_path = str(self.http.path_params.get("namespace", ""))
        headers = Headers(self.http.headers.raw)
        overrides_of(headers)
        named, _ = namespace_of("/", headers, self.http.url.query)
        if in_path and named not in (in_path, DEFAULT):
            raise AdminError(
                f"The path is of the namespace {short_repr(in_path)}, but the header X-Mockserver-Namespace or the API "
                f"key names {short_repr(named)}. Send only one of them"
            )
        name = in_path or named
        if not is_name(name):
            raise AdminError(BAD_NAME)
        return name

    @property
    def namespace(self) -> Namespace:
        """The namespace with that name, by default the default one."""
        return self.app_state.namespaces.get(self.namespace_name)

    @property
    def now(self) -> float:
        """The time on the clock of that namespace, in seconds."""
        return self.app_state.clocks.of(self.namespace).now()

    @property
    def listener(self) -> Listener | None:
        """The listener through which the request came; None in process."""
        listener = self.http.scope.get("extensions", {}).get(LISTENER)
        return listener if isinstance(listener, Listener) else None

    async def recover_listener(self) -> None:
        """End the listener's failures if the request is for the whole server and there is a listener."""
        if self.listener is not None and not self.namespace_name:
            await self.listener.recover()

    def is_set(self, name: str) -> bool:
        """Whether the query sets a flag, with the value `1`."""
        value = self.query.get(name, "0")
        if value not in ("0", "1"):
            raise AdminError(f"{name}: {value[:40]!r} must be 1 or 0")
        return value == "1"

    def whole(self, name: str) -> int | None:
        """The whole number of a query parameter; None without it."""
        text = self.query.get(name)
        if text is not None and not is_whole(text):
            raise AdminError(f"{name}: {short_repr(text)} is not a whole number of at least 0")
        return None if text is None else int(text)

    def variable(self, name: str) -> str:
        """The value of a variable in the path."""
        return str(self.http.path_params[name])

    async def json(self, what: str, example: str, keys: Collection[str] = ()) -> dict[str, Any]:
        """The JSON object in the body, with no other `keys` than these if any are given; otherwise the error says that
        `what` is expected, and shows an example."""
        body = await self._body(what)
        if has_more_values(body):
            raise AdminError(f"{what} has more than {MOST_VALUES} values", 413)
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise AdminError(f"{what} must be a JSON object such as {example}: {error}") from None
        if not isinstance(value, dict):
            raise AdminError(f"{what} must be a JSON object such as {example}")
        unknown = next((name for name in value if name not in keys), None) if keys else None
        if unknown is not None:
            raise AdminError(f"{unknown_name('key', unknown, keys)}. An example: {example}")
        return value

    async def check_bodiless(self) -> None:
        """Raise AdminError for a body that says something, which would have no effect: `DELETE` of one stub by its name
        in the body would remove all."""
        if (await self._body("The body")).strip() not in _NOTHING:
            raise AdminError(f"{self.http.method} {self.http.url.path} takes no body: what it acts on is in the path")

    async def _body(self, what: str) -> bytes:
        most = self.app_state.setup.settings.max_body
        try:
            body = await read_body(self.http.scope, self.http.receive, most)
        except ClientLeftError:
            raise AdminError(f"{what} is incomplete: the request ended too early") from None
        if body is None:
            raise AdminError(f"{what} has more than {most} bytes (--max-body)", 413)
        return body


def is_whole(text: str) -> bool:
    """Whether a text is a whole number of at least 0."""
    return re.fullmatch(r"[0-9]{1,18}", text) is not None


def admin_json(value: Any, status: int = 200) -> Response:
    """An answer in indented JSON; dataclasses and the like are written as objects."""
    return Response(orjson.dumps(value, option=orjson.OPT_INDENT_2), status, media_type="application/json")


def admin_error(status: int, message: str) -> Response:
    """An error, in a format that OpenAI-style clients can show; a message that quotes much is cut."""
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[: _LONGEST_MESSAGE // 2]} [...] {message[-_LONGEST_MESSAGE // 2 :]}"
    return admin_json({"error": {"message": message, "type": "mockserver_admin"}}, status)


# Gives a response, or a value that is written as JSON. Raises AdminError, or what says that a value is invalid.
AdminHandler = Callable[[AdminRequest], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class AdminEndpoint:
    """A method at some paths, and its handler.

    - `gives`: the schema of the answer by status, of which the first is the usual one; a string is a content type other
      than JSON, or empty for no content.
    - `writes`: further content types in which a query can ask for the answer, as text.
    - `takes`: the schema of the body; `query`: those of the query's parameters, each described.
    - `refuses`: the statuses of its errors, but for those that a namespace, a body or a missing token bring with them.
    - `opens`: whether it needs no admin token.
    - `also`: further paths, which are not in the document.
    """

    name: str
    method: str
    paths: tuple[str, ...]
    handle: AdminHandler
    summary: str
    gives: Mapping[int, Schema | str]
    takes: Schema | None = None
    writes: tuple[str, ...] = ()
    query: Mapping[str, Schema] = field(default_factory=dict)
    refuses: tuple[int, ...] = ()
    opens: bool = False
    also: tuple[str, ...] = ()

    @property
    def is_per_namespace(self) -> bool:
        """Whether it is there for each namespace."""
        return len(self.paths) > 1


def endpoint(
    method: str, paths: tuple[str, ...], gives: Mapping[int, Schema | str], **more: Any
) -> Callable[[AdminHandler], AdminEndpoint]:
    """Make an endpoint of a handler: its name in the document is the function's in camel case, its summary the
    docstring. `more` are further fields of the endpoint."""

    def decorate(handle: AdminHandler) -> AdminEndpoint:
        name = re.sub(r"_(\w)", lambda found: found[1].upper(), handle.__name__)
        summary = " ".join((handle.__doc__ or "").split()).removesuffix(".")
        return AdminEndpoint(name, method, paths, handle, summary, gives, **more)

    return decorate


def per_server(path: str) -> tuple[str]:
    """The path of a resource of the whole server."""
    return (f"{ADMIN}{path}",)


def per_namespace(path: str) -> tuple[str, str]:
    """The two paths of a resource of each namespace: without a name, which a header or a key may give, and with one."""
    return f"{ADMIN}{path}", f"{ADMIN}/ns/{{namespace}}{path}"
