"""Crowds of new connections: all that wait at the listener are accepted at once.

asyncio accepts every connection that waits. uvloop accepts one per iteration of its loop: of a hundred clients that
connect together, the last would wait until those before it have been served a dozen times. So for each connection that
uvloop accepts, those queued behind it are accepted here.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

Protocols = Callable[[], asyncio.Protocol]

# Accepting one connection takes some dozens of microseconds: those beyond so many wait for the loop's next iteration.
_AT_ONCE = 128


def accept_all_pending(listener: socket.socket, protocols: Protocols, tls: ssl.SSLContext | None) -> Protocols:
    """A protocol factory for a listener's server in the running loop, which also accepts all waiting connections."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.BaseEventLoop):
        return protocols
    arrivals: set[asyncio.Task[None]] = set()

    async def come_in(connection: socket.socket) -> None:
        # A client that fails the TLS handshake has left.
        with contextlib.suppress(OSError):
            await loop.connect_accepted_socket(protocols, connection, ssl=tls)

    def protocol() -> asyncio.Protocol:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = listener.accept()
            except OSError:
                # Mostly because nothing waits. uvloop will report any other error when it accepts.
                break
            connection.setblocking(False)
            arrival = loop.create_task(come_in(connection))
            arrivals.add(arrival)
            arrival.add_done_callback(arrivals.discard)
        return protocols()

    return protocol
