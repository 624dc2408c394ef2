"""Misdirected connections: those whose clients speak another protocol than the server, and what to tell about them."""

import logging
import ssl

log = logging.getLogger("mockserver")

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


# Why a TLS handshake fails with a server that answers it in plain text.
_PLAIN_ANSWERS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")


def tls_refused(error: ssl.SSLError) -> str:
    """What is wrong, and the way out, if a TLS handshake failed because the server speaks plain HTTP; else empty."""
    return "the server there speaks no TLS; use http:// in its URL" if error.reason in _PLAIN_ANSWERS else ""


def complaint_about(data: bytes) -> str:
    """What is wrong with data that is no HTTP/1.1 request."""
    return next((f"{_INVALID} {why}" for beginning, why in _OTHERS if data.startswith(beginning)), _INVALID)


class Handshake(ssl.SSLObject):
    """A TLS connection that logs when its client speaks plain HTTP instead: all that the client sees is its end."""

    def do_handshake(self) -> None:
        """Perform the handshake. Raises ssl.SSLError."""
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason == "HTTP_REQUEST":
                log.warning("Plain HTTP received, but the server speaks HTTPS: use https:// in the client's base URL.")
            raise
