"""The live page: the files of `mockserver/ui/`, served unchanged under `/_mockserver/ui/`.

They contain no secrets, so they need no token: the page itself asks for one.
"""

from functools import cache
from hashlib import blake2b
from pathlib import Path

from starlette.responses import RedirectResponse, Response

from mockserver.server.admin.endpoint import (
    AdminError,
    AdminRequest,
    endpoint,
    per_server,
)
from mockserver.server.not_found import live_page_from
from mockserver.server.urls import ADMIN

_FOLDER = Path(__file__).parents[2] / "ui"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# The page connects to its own server only.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@endpoint("GET", per_server("/ui"), {307: ""}, opens=True, also=(ADMIN, f"{ADMIN}/"))
async def page(request: AdminRequest) -> Response:
    """A redirect to the live page."""
    # Its files have relative names, so its address ends in a slash.
    return RedirectResponse(live_page_from(request.http.url.path), 307)


@endpoint("GET", (f"{ADMIN}/ui/{{path:path}}",), {200: "text/html"}, refuses=(404,), opens=True)
async def page_file(request: AdminRequest) -> Response:
    """The live page (without a path) and its files."""
    file = _files().get(request.variable("path") or "index.html")
    if file is None:
        raise AdminError(f"The live page has no file {request.variable('path')!r}; it is at {ADMIN}/ui/", 404)
    data, content_type, etag = file
    headers = {
        "etag": etag,
        "cache-control": "no-cache",
        "content-security-policy": _POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
    }
    if request.http.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=content_type)


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """The page's files by path: their data, content type and ETag. Files of other types are left out."""
    found: dict[str, tuple[bytes, str, str]] = {}
    for file in _FOLDER.rglob("*"):
        if file.suffix in _TYPES:
            data = file.read_bytes()
            etag = f'"{blake2b(data, digest_size=12).hexdigest()}"'
            found[file.relative_to(_FOLDER).as_posix()] = (data, _TYPES[file.suffix], etag)
    return found


ENDPOINTS = (page, page_file)
