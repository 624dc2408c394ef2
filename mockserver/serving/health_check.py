"""Checking whether a running server is healthy: the client of `mockserver health`, without the server's imports."""

import json
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

_PATIENCE = 5.0


def ask(url: str, *, ready: bool) -> tuple[bool, str]:
    """Whether the server at a URL is healthy (or `ready`: listening, with its latest config), and its stated state."""
    try:
        status, body = _get(url.rstrip("/"), f"/_mockserver/{'ready' if ready else 'health'}")
        answer = json.loads(body)
        return status == 200, str(answer.get("error") or answer["status"])
    except (OSError, HTTPException) as error:
        return False, str(getattr(error, "strerror", None) or error or type(error).__name__)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False, "the server there is not a mockserver"


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
