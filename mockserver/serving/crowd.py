"""A crowd at the door: all who wait there come in at once.

asyncio takes in every connection that waits. uvloop takes one a round of its loop: of a hundred clients who come
together, the last would wait until all those before it have been served a dozen times. So for each connection that
uvloop takes in, those behind it are taken in here.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

Protocols = Callable[[], asyncio.Protocol]

# To take in one more is some dozens of microseconds of work: more than so many wait for the loop's next round.
_AT_ONCE = 128


def admitting_all(listener: socket.socket, protocols: Protocols, tls: ssl.SSLContext | None) -> Protocols:
    """What makes the protocols for a listener's server in the running loop, such that nobody waits for a round."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, asyncio.BaseEventLoop):
        return protocols
    arrivals: set[asyncio.Task[None]] = set()

    async def come_in(connection: socket.socket) -> None:
        # Who does not get through the handshake has left.
        with contextlib.suppress(OSError):
            await loop.connect_accepted_socket(protocols, connection, ssl=tls)

    def protocol() -> asyncio.Protocol:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = listener.accept()
            except OSError:
                # Mostly nobody waits. What else there is to say, uvloop will find out when it tries.
                break
            connection.setblocking(False)
            arrival = loop.create_task(come_in(connection))
            arrivals.add(arrival)
            arrival.add_done_callback(arrivals.discard)
        return protocols()

    return protocol
