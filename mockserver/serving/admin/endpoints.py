"""What the admin API is made of: endpoints, each with its paths, its handler, and what its document says of it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starlette.responses import Response

from mockserver.serving.addresses import ADMIN
from mockserver.serving.admin.asked import Asked
from mockserver.serving.admin.json_schema import Schema

Handler = Callable[[Asked], Awaitable[Response]]


class Query(NamedTuple):
    """What may stand behind the path."""

    name: str
    schema: Schema
    summary: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method at some paths, and who answers there: None where the application does so itself.

    `gives` is the schema of the answer by status (a text is another content type, an empty one no content), `takes`
    that of the body. `opens` to anybody: it wants no token. `also` are paths of which the document says nothing.
    """

    name: str
    method: str
    paths: tuple[str, ...]
    handle: Handler | None
    summary: str
    gives: Mapping[int, Schema | str]
    takes: Schema | None = None
    query: tuple[Query, ...] = ()
    refuses: tuple[int, ...] = ()
    opens: bool = False
    also: tuple[str, ...] = ()


def per_namespace(path: str) -> tuple[str, str]:
    """The paths of what each namespace has: the default one without a name."""
    return f"{ADMIN}{path}", f"{ADMIN}/ns/{{namespace}}{path}"
