"""The settings of web pages that may use the server: the origins that CORS allows, and the host names that it answers
to."""

import re
from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address
from typing import Any

from mockserver.core.messages import short_repr

# Values of `cors` besides origins. Pages of loopback origins are allowed with each of them.
LOOPBACK, ANY, VENDOR = "loopback", "any", "vendor"
ANY_MEANS = (
    "cors = any: every web page in a browser that reaches this server can send it requests and read the answers, also "
    "what others have published. To allow only your own pages, list their origins: --cors https://app.example"
)
# DNS names have at most 253 characters; longer values are not looked at.
LONGEST = 512
_PORT = r"(?::[0-9]{0,5})?"
HOST = re.compile(rf"(?:\[([0-9a-f:.]+)\]|([a-z0-9_][a-z0-9_.-]*)){_PORT}")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@\\,*]*")
_ALLOWED_HOST = re.compile(r"(\*\.)?[a-z0-9_][a-z0-9_.-]*|\[?[0-9a-f]*:[0-9a-f:.]+\]?")
USUAL_HOSTS = ("127.0.0.1", "localhost")
USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_loopback(name: str) -> bool:
    """Whether a host name or address, in lower case and without brackets, always means the machine itself."""
    if name in USUAL_HOSTS or name.endswith(".localhost"):
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
    is_web = scheme in USUAL_PORTS
    if len(origin) > LONGEST or not (
        origin == "null" or (HOST.fullmatch(host) if is_web else _ORIGIN.fullmatch(origin))
    ):
        raise ValueError(
            f"{short_repr(text)} is not an origin; write one as browsers do, such as https://app.example, "
            f"http://dev.test:3000, vscode-webview://id or null, or one of {LOOPBACK}, {ANY} and {VENDOR}"
        )
    return origin.removesuffix(USUAL_PORTS[scheme]) if is_web else origin


def _read_host(text: str) -> str:
    if len(text) > LONGEST or not _ALLOWED_HOST.fullmatch(text):
        raise ValueError(
            f"{short_repr(text)} is not a host name; write one without scheme and port, such as "
            "mock.example.test, or *.example.test for all names below that"
        )
    return text.strip("[]").removesuffix(".")
