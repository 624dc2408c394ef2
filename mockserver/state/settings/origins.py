"""Which web pages may use the server: the origins that CORS allows, and the host names that it answers to.

A browser sends requests to loopback for any page. It tells the page's origin in `Origin`, or at least that it is
another one in `Sec-Fetch-Site`, and pages can fake neither. A page whose own name has been rebound to this machine
passes for one of the server's; it is known by that name, in `Host`.
"""

import re
from collections.abc import Collection, Iterator
from ipaddress import IPv6Address, ip_address
from typing import Any

from mockserver.core.calls import Headers
from mockserver.core.failures import SimulatorError
from mockserver.core.messages import short_repr

# Values of `cors` besides origins. Pages of loopback origins are allowed with each of them.
LOOPBACK, ANY, VENDOR = "loopback", "any", "vendor"
ANY_MEANS = (
    "cors = any: every web page in a browser that reaches this server can send it requests and read the answers, also "
    "what others have published. To allow only your own pages, list their origins: --cors https://app.example"
)
# DNS names have at most 253 characters; longer values are not looked at.
_LONGEST = 512
_PORT = r"(?::[0-9]{0,5})?"
_HOST = re.compile(rf"(?:\[([0-9a-f:.]+)\]|([a-z0-9_][a-z0-9_.-]*)){_PORT}")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@\\,*]*")
_ALLOWED_HOST = re.compile(r"(\*\.)?[a-z0-9_][a-z0-9_.-]*|\[?[0-9a-f]*:[0-9a-f:.]+\]?")
_USUAL_HOSTS = ("127.0.0.1", "localhost")
_USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_loopback(name: str) -> bool:
    """Whether a host name or address, in lower case and without brackets, always means the machine itself."""
    if name in _USUAL_HOSTS or name.endswith(".localhost"):
        return True
    try:
        address = ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def read_cors(value: Any) -> str | tuple[str, ...]:
    """The setting `cors`: `loopback`, `any`, `vendor`, or a tuple of origins. Raises ValueError."""
    items = [*_items(value, "an origin, such as https://app.example")]
    for word in (ANY, VENDOR):
        if word in items:
            if len(items) > 1:
                raise ValueError(f"{word!r} stands alone; leave the others out")
            return word
    origins = tuple(dict.fromkeys(_read_origin(item) for item in items if item != LOOPBACK))
    return origins or LOOPBACK


def read_hosts(value: Any) -> tuple[str, ...]:
    """The setting `allow_host`: names in lower case, those with subdomains as `*.example.test`. Raises ValueError."""
    return tuple(dict.fromkeys(_read_host(item) for item in _items(value, "a host name, such as mock.example.test")))


def _items(value: Any, what: str) -> Iterator[str]:
    """The parts of a list, or of a string that separates them by commas, in lower case."""
    for item in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(item, str) or not item.strip(" ,"):
            raise ValueError(f"{short_repr(item)} is not {what}")
        yield from (part.strip().lower() for part in item.split(",") if part.strip())


def _read_origin(text: str) -> str:
    """An origin as browsers write it."""
    origin = text.removesuffix("/") if not text.endswith("//") else text
    scheme, _, host = origin.partition("://")
    is_web = scheme in _USUAL_PORTS
    if len(origin) > _LONGEST or not (
        origin == "null" or (_HOST.fullmatch(host) if is_web else _ORIGIN.fullmatch(origin))
    ):
        raise ValueError(
            f"{short_repr(text)} is not an origin; write one as browsers do, such as https://app.example, "
            f"http://dev.test:3000, vscode-webview://id or null, or one of {LOOPBACK}, {ANY} and {VENDOR}"
        )
    return origin.removesuffix(_USUAL_PORTS[scheme]) if is_web else origin


def _read_host(text: str) -> str:
    if len(text) > _LONGEST or not _ALLOWED_HOST.fullmatch(text):
        raise ValueError(
            f"{short_repr(text)} is not a host name; write one without scheme and port, such as "
            "mock.example.test, or *.example.test for all names below that"
        )
    return text.strip("[]").removesuffix(".")


def allows_origin(cors: str | tuple[str, ...], origin: str) -> bool:
    """Whether pages of an origin, as in the header, may use the server."""
    if cors == ANY:
        return True
    if len(origin) > _LONGEST:
        return False
    origin = origin.lower()
    if isinstance(cors, tuple) and origin in cors:
        return True
    scheme, _, host = origin.partition("://")
    return scheme in _USUAL_PORTS and is_loopback(_name_in(host))


def allows_host(host: str, allowed: Collection[str]) -> bool:
    """Whether a `Host` is a name of this machine, or among those that are allowed, such as `*.example.test`."""
    plain, _, port = host.partition(":")
    if plain in _USUAL_HOSTS and (not port or port.isdecimal()):
        return True
    name = _name_in(host.lower()) if len(host) <= _LONGEST else ""
    if not name:
        return False
    return is_loopback(name) or any(
        name.endswith(each[1:]) if each.startswith("*.") else name == each for each in allowed
    )


def _name_in(host: str) -> str:
    """The name or address in a `Host`, which is in lower case; empty if there is none."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).removesuffix(".") if found else ""


def is_own(headers: Headers) -> bool:
    """Whether a request with an `Origin` comes from a page of this very server, also by a proxy that changes `Host`."""
    origin, host = headers.get("origin") or "", headers.get("host")
    return headers.get("sec-fetch-site") == "same-origin" or (bool(host) and origin.partition("://")[2] == host)


def page_refusal(method: str, headers: Headers, cors: str | tuple[str, ...]) -> SimulatorError | None:
    """The refusal of a request from a page that may not use the server; None for all others.

    Without `Origin` come images, scripts and frames of other pages, which cannot read what they get, but would count;
    and links, which are let through.
    """
    origin = headers.get("origin")
    if cors == ANY or (origin is None and headers.get("sec-fetch-site") != "cross-site"):
        return None
    if origin is None:
        is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if is_link and method in ("GET", "HEAD"):
            return None
        message = "A page of another origin may not load anything of this server."
        return SimulatorError(403, "foreign_origin", f"{message} If the page is yours, list its origin with --cors.")
    if is_own(headers) or allows_origin(cors, origin):
        return None
    message = (
        f"A page of the origin {short_repr(origin)} may not use this server, which serves pages of loopback origins "
        "and of listed ones. If the page is yours, list its origin with --cors (MOCKSERVER_CORS, or cors in the "
        "config)."
    )
    return SimulatorError(403, "foreign_origin", message)


def host_refusal(host: str) -> SimulatorError:
    """The refusal of a request to a name that is not the server's."""
    message = (
        f"This server does not answer to the host {short_repr(host)}: a web page could have led that name to this "
        "machine. If it is yours, allow it with --allow-host (MOCKSERVER_ALLOW_HOST, or allow_host in the config)."
    )
    return SimulatorError(421, "wrong_host", message)
