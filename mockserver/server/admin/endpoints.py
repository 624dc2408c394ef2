"""The endpoints of the admin API, each with its paths, its handler, and its part of the OpenAPI document."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starlette.responses import Response

from mockserver.server.addresses import ADMIN
from mockserver.server.admin.json_schema import Schema
from mockserver.server.admin.requests import AdminRequest

Handler = Callable[[AdminRequest], Awaitable[Response]]


class Query(NamedTuple):
    """A query parameter."""

    name: str
    schema: Schema
    summary: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method at some paths, and its handler.

    - `gives`: the schema of the answer by status; a string is a content type other than JSON, or empty for no content.
    - `writes`: further content types in which a query can ask for the answer, as text.
    - `takes`: the schema of the body.
    - `opens`: whether it needs no admin token.
    - `also`: further paths, which are not in the document.
    """

    name: str
    method: str
    paths: tuple[str, ...]
    handle: Handler
    summary: str
    gives: Mapping[int, Schema | str]
    takes: Schema | None = None
    writes: tuple[str, ...] = ()
    query: tuple[Query, ...] = ()
    refuses: tuple[int, ...] = ()
    opens: bool = False
    also: tuple[str, ...] = ()


def per_namespace(path: str) -> tuple[str, str]:
    """The two paths of a resource of each namespace: without a name for the default namespace, and with one."""
    return f"{ADMIN}{path}", f"{ADMIN}/ns/{{namespace}}{path}"
