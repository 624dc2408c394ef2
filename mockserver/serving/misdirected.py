"""Misdirected connections: those whose clients speak another protocol than HTTP/1.1, and what to tell them."""

_INVALID = "Invalid HTTP request received."
# The first bytes of other protocols, and what is wrong.
_OTHERS = (
    # The record of a TLS handshake; the next byte is the minor version.
    (
        b"\x16\x03",
        "This is a TLS handshake, but the server speaks plain HTTP: use http:// in the client's base URL, "
        "or serve HTTPS (--tls-cert).",
    ),
    # The preface of HTTP/2 with prior knowledge, which gRPC begins with too (RFC 9113, 3.4).
    (b"PRI * HTTP/2", "This is HTTP/2 (or gRPC), but the server speaks HTTP/1.1 only."),
)


def complaint_about(data: bytes) -> str:
    """What is wrong with data that is no HTTP/1.1 request."""
    return next((f"{_INVALID} {why}" for beginning, why in _OTHERS if data.startswith(beginning)), _INVALID)
