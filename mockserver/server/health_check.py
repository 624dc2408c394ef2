"""Checking a running server: whether it is healthy, and whether it speaks HTTP or HTTPS.

This is the client of `mockserver health`, without the server's imports.
"""

import json
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

_PATIENCE = 5.0
_PATH = "/_mockserver/health"
_OTHERS = {"http": "https", "https": "http"}


def ask(url: str, *, ready: bool) -> tuple[bool, str]:
    """Whether the server at a URL is healthy (or `ready`: listening, with its latest config), and its stated state."""
    try:
        status, body = _get(url.rstrip("/"), "/_mockserver/ready" if ready else _PATH)
        answer = json.loads(body)
        return status == 200, str(answer.get("error") or answer["status"])
    except (OSError, HTTPException) as error:
        advice = other_scheme(url, error)
        return False, advice or str(getattr(error, "strerror", None) or error or type(error).__name__)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False, "the server there is not a mockserver"


def other_scheme(url: str, error: BaseException) -> str:
    """What is wrong if a request failed because the server speaks HTTPS and not HTTP, or the reverse; else empty."""
    scheme, colon, rest = url.partition("://")
    other = _OTHERS.get(scheme)
    if other is None or not _is_confused(scheme, error):
        return ""
    right = f"{other}{colon}{rest}".rstrip("/")
    try:
        status, _ = _get(right, _PATH)
    except (OSError, HTTPException):
        return ""
    # Some servers of HTTPS answer plain HTTP, too, in order to refuse it.
    return "" if status == 400 else f"the server there speaks {other.upper()}, not {scheme.upper()}: use {right}"


def _is_confused(scheme: str, error: BaseException) -> bool:
    """Whether an error may come from a server that did not understand the request's protocol, or that of its answer."""
    if scheme == "http":
        return isinstance(error, ConnectionError | BadStatusLine) and not isinstance(error, ConnectionRefusedError)
    import ssl

    return isinstance(error, ssl.SSLError | ConnectionError) and not isinstance(error, ConnectionRefusedError)


def _get(url: str, path: str) -> tuple[int, bytes]:
    target = urlsplit(url)
    if target.scheme not in ("http", "https") or not target.hostname:
        raise OSError(0, f"{url!r} is not a URL such as http://127.0.0.1:8000")
    connection = _connection(target.scheme, target.hostname, target.port)
    try:
        connection.request("GET", target.path.rstrip("/") + path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _connection(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "http":
        return HTTPConnection(host, port, timeout=_PATIENCE)
    import ssl

    # Only the server's state matters here, not its identity: its certificate is mostly self-made.
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return HTTPSConnection(host, port, timeout=_PATIENCE, context=trusting)
