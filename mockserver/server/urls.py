"""URLs of servers: where one is reached, and whether a healthy mockserver answers there, over HTTP or HTTPS."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import closing
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from types import MappingProxyType
from urllib.parse import quote, urlsplit

from mockserver.core.json_values import read_json
from mockserver.state.settings.checks import ADMIN as ADMIN

HEALTH = ADMIN + "/health"

# How long a check may take, in seconds.
_TIMEOUT = 5.0
_OTHER_SCHEMES = {"http": "https", "https": "http"}
# Why a TLS handshake fails with a server that answers it in plain text.
_PLAIN_ANSWERS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


def url_of(listener: socket.socket, *, secure: bool) -> str:
    """The base URL of a bound socket, without a trailing slash."""
    host, port = listener.getsockname()[:2]
    return url_at(host, port, secure=secure)


def url_at(host: str, port: int, *, secure: bool) -> str:
    """The base URL at which this machine reaches a server that listens on an address."""
    scheme = "https" if secure else "http"
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"{scheme}://[{reached}]:{port}" if ":" in reached else f"{scheme}://{reached}:{port}"


def check_health(url: str, *, ready: bool) -> tuple[bool, str]:
    """Whether the server at a URL is healthy (or `ready`: listening, with its latest config), and its stated state."""
    try:
        # Only the server's state matters here, not its identity: its certificate is mostly self-made.
        status, body = ask(url, "GET", f"{ADMIN}/ready" if ready else HEALTH, trusting=True)
        answer = read_json(body)
        error = answer.get("error")
        return status == 200, str(error["message"] if isinstance(error, dict) else error or answer["status"])
    except (OSError, HTTPException) as error:
        return False, other_scheme(url, error) or with_way_out(error)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False, "the server there is not a mockserver"


def other_scheme(url: str, error: BaseException) -> str:
    """What is wrong if a request failed because the server speaks HTTPS and not HTTP, or the reverse; else empty."""
    scheme, colon, rest = url.partition("://")
    other = _OTHER_SCHEMES.get(scheme)
    # What may come from a server that did not understand the request's protocol, or that of its answer.
    confused = ConnectionError | BadStatusLine if scheme == "http" else ssl.SSLError | ConnectionError
    if other is None or isinstance(error, ConnectionRefusedError) or not isinstance(error, confused):
        return ""
    right = f"{other}{colon}{rest}".rstrip("/")
    try:
        status, _ = ask(right, "GET", HEALTH, trusting=True)
    except (OSError, HTTPException):
        return ""
    # Some servers of HTTPS answer plain HTTP, too, in order to refuse it.
    return "" if status == 400 else f"the server there speaks {other.upper()}, not {scheme.upper()}: use {right}"


def reason_of(error: BaseException) -> str:
    """What an error of a connection says; its type if it says nothing."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def with_way_out(error: Exception) -> str:
    """Why a server of ours was not reached, and what can be done about it."""
    if isinstance(error, ConnectionRefusedError):
        return "Connection refused. Nothing listens there: start the server (`mockserver serve`), or correct the URL"
    reason = reason_of(error)
    if "CERTIFICATE_VERIFY_FAILED" not in reason:
        return reason
    # It must not be trusted blindly: its owner would get the token.
    return (
        f"{reason}. To trust the server's certificate, set SSL_CERT_FILE to its file, or to the ca.pem of "
        "`mockserver certs`"
    )


def ask(
    url: str,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] = MappingProxyType({}),
    *,
    timeout: float = _TIMEOUT,
    trusting: bool = False,
) -> tuple[int, bytes]:
    """The status and the body of what the server at a URL answers; whoever it is, if one is `trusting`. No proxy is in
    between: a mock server is never behind one. Raises OSError, HTTPException or ValueError."""
    target = urlsplit(url)
    if target.scheme not in ("http", "https") or not target.hostname:
        raise OSError(0, f"{url!r} is not a URL such as http://127.0.0.1:8000")
    connection: HTTPConnection
    if target.scheme == "http":
        connection = HTTPConnection(target.hostname, target.port, timeout=timeout)
    else:
        context = ssl.create_default_context()
        if trusting:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPSConnection(target.hostname, target.port, timeout=timeout, context=context)
    with closing(connection):
        connection.request(method, target.path.rstrip("/") + path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def tls_refused(error: ssl.SSLError) -> str:
    """What is wrong, and the way out, if a TLS handshake failed because the server speaks plain HTTP; else empty."""
    return "the server there speaks no TLS; use http:// in its URL" if error.reason in _PLAIN_ANSWERS else ""


def live_page_from(path: str, namespace: str = "") -> str:
    """The address of the live page of a namespace relative to a path, whose beginning a proxy may have stripped."""
    query = f"?ns={quote(namespace, safe='')}" if namespace else ""
    return f"{'../' * (path.count('/') - 1)}{ADMIN[1:]}/ui/{query}"
