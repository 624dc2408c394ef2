"""One HTTP request over a real socket, by the standard library's client."""

import json
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from mockserver.core.installed import load_dialects

# Accepts any certificate, since those of tests are self-signed.
TRUSTING = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE


class Transcript(NamedTuple):
    """An answer as it was received, with header names in lower case and in their order on the wire."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def exchange(
    url: str, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
) -> Transcript:
    """Send one request, with any body but bytes as JSON, and read the whole answer."""
    target = urlsplit(url)
    address = target.hostname or "", target.port
    if target.scheme == "https":
        connection: HTTPConnection = HTTPSConnection(*address, timeout=30, context=TRUSTING)
    else:
        connection = HTTPConnection(*address, timeout=30)
    payload = body if isinstance(body, bytes) or body is None else json.dumps(body, ensure_ascii=False).encode()
    # What the vendor needs beside, whose name is in the path.
    needs = next((known[name].needs for name in path.split("/")[1:4] if name in (known := load_dialects())), {})
    sent = {"authorization": "Bearer test", "content-type": "application/json", **needs, **(headers or {})}
    try:
        connection.request(method, path, payload, {name: value for name, value in sent.items() if value})
        answer = connection.getresponse()
        got = tuple((name.lower(), value) for name, value in answer.getheaders())
        return Transcript(answer.status, got, answer.read())
    finally:
        connection.close()
