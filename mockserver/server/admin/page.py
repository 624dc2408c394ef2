"""The live page: the files of `mockserver/ui/`, served unchanged under `/_mockserver/ui/`.

They contain no secrets, so they need no token: the page itself asks for one.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.responses import RedirectResponse, Response

from mockserver.server.addresses import ADMIN, live_page_from
from mockserver.server.admin.answers import admin_error
from mockserver.server.admin.endpoints import Endpoint
from mockserver.server.admin.requests import AdminRequest

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# The page connects to its own server only.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class _Asset:
    data: bytes
    content_type: str
    etag: str


async def _page(request: AdminRequest) -> Response:
    """Redirect to the page. Its files have relative names, so its address ends in a slash."""
    return RedirectResponse(live_page_from(request.http.url.path), 307)


async def _file(request: AdminRequest) -> Response:
    asset = _assets().get(request.variable("path") or "index.html")
    if asset is None:
        return admin_error(404, f"The live page has no file {request.variable('path')!r}; it is at {ADMIN}/ui/")
    headers = {
        "etag": asset.etag,
        "cache-control": "no-cache",
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    if request.http.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.data, headers=headers, media_type=asset.content_type)


PAGE = (
    Endpoint(
        "page",
        "GET",
        (f"{ADMIN}/ui",),
        _page,
        "A redirect to the live page",
        {307: ""},
        opens=True,
        also=(ADMIN, f"{ADMIN}/"),
    ),
    Endpoint(
        "pageFile",
        "GET",
        (f"{ADMIN}/ui/{{path:path}}",),
        _file,
        "The live page (without a path) and its files",
        {200: "text/html"},
        refuses=(404,),
        opens=True,
    ),
)


@cache
def _assets() -> dict[str, _Asset]:
    """The page's files by path; files of other types are left out."""
    return dict(_found(files("mockserver") / "ui", ""))


def _found(folder: Traversable, before: str) -> list[tuple[str, _Asset]]:
    found: list[tuple[str, _Asset]] = []
    for entry in folder.iterdir():
        content_type = _TYPES.get(entry.name.rpartition(".")[2])
        if entry.is_dir():
            found += _found(entry, f"{before}{entry.name}/")
        elif content_type is not None:
            data = entry.read_bytes()
            etag = f'"{blake2b(data, digest_size=12).hexdigest()}"'
            found.append((before + entry.name, _Asset(data, content_type, etag)))
    return found
