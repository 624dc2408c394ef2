"""The door: a server's listening socket, which can fail for a while. Whoever is inside already notices nothing.

refuse           nobody listens: the address is kept, connections to it are refused
accept_nothing   the system makes connections, and nobody takes them; they are served when the time is over
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Literal, get_args

from mockserver.faults.rules import Fault

State = Literal["open", "accept_nothing", "refuse"]
Failure = Literal["accept_nothing", "refuse"]
Listen = Callable[[socket.socket], Awaitable[asyncio.AbstractServer]]

BACKLOG = 2048

# How often a socket that is being closed is asked whether its address is free, in seconds.
_RETRY = 0.001


def listening_socket(family: int, address: tuple[str | int, ...], *, shared: bool = False) -> socket.socket:
    """A socket that is bound to an address, and does not listen yet. Raises OSError.

    A `shared` address may have several sockets, to which the system deals its connections out. The protocol is named
    because asyncio only switches Nagle's algorithm off on sockets that say they are TCP.
    """
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


class Door:
    """A listening socket, which nobody serves before it is opened; `listen` makes a server of a socket, which it then
    owns."""

    def __init__(self, listener: socket.socket, listen: Listen) -> None:
        self._family, self._address = listener.family, listener.getsockname()
        self._listener = listener
        self._shared = sys.platform == "linux" and bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT))
        self._server: asyncio.AbstractServer | None = None
        self._listen = listen
        self._state: State = "accept_nothing"
        self._failures: dict[Failure, int] = dict.fromkeys(get_args(Failure), 0)
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> State:
        """What a client finds at present."""
        return self._state

    async def open(self) -> None:
        """Serve, unless a failure has begun already."""
        await self._settle()

    def fail(self, failure: Failure, start: float, seconds: float) -> None:
        """Let the listener fail from `start` seconds on, for so many seconds. Of two failures the worse one shows."""
        if not start:
            self._failures[failure] += 1
        task = asyncio.ensure_future(self._fail(failure, start, seconds))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def fail_as(self, fault: Fault) -> None:
        """Fail as a fault of the listener says; its time runs from now."""
        chance = fault.chance
        assert chance.seconds is not None, "a fault of a listener has an end"
        self.fail("refuse" if fault.kind == "refuse" else "accept_nothing", chance.start, chance.seconds)

    async def mend(self) -> None:
        """End all failures, and those to come."""
        await self._forget()
        self._failures = dict.fromkeys(self._failures, 0)
        await self._settle()

    async def close(self) -> None:
        """Close it for good."""
        await self._forget()
        if self._server is not None:
            self._server.close()
        self._listener.close()

    async def _forget(self) -> None:
        """Give up what is still to come. A change that has begun is let through, lest the door be left ajar."""
        async with self._changing:
            tasks = tuple(self._tasks)
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _fail(self, failure: Failure, start: float, seconds: float) -> None:
        if start:
            await asyncio.sleep(start)
            self._failures[failure] += 1
        await self._settle()
        await asyncio.sleep(seconds)
        self._failures[failure] -= 1
        await self._settle()

    async def _settle(self) -> None:
        """Bring the socket into the state that the failures ask for; one change at a time."""
        async with self._changing:
            wanted: State = next(
                (failure for failure in ("refuse", "accept_nothing") if self._failures[failure]), "open"
            )
            if wanted == self._state:
                return
            if self._server is not None:
                await self._dismiss(self._server)
            if wanted == "refuse":
                await self._bind_anew()
            else:
                self._listener.listen(BACKLOG)
            if wanted == "open":
                self._server = await self._listen(self._listener)
            self._state = wanted

    async def _dismiss(self, server: asyncio.AbstractServer) -> None:
        """Nobody takes connections any more, though the socket listens on."""
        # asyncio loses connections that it has just accepted when its server is closed: accept no more, and let it have
        # a few rounds for those. Other loops do not know the socket as a file, and have no such trouble.
        with contextlib.suppress(NotImplementedError, ValueError):
            asyncio.get_running_loop().remove_reader(self._listener)
        for _ in range(3):
            await asyncio.sleep(0)
        # The server closes its own socket; a second handle keeps the socket alive.
        self._listener = self._listener.dup()
        server.close()
        self._server = None

    async def _bind_anew(self) -> None:
        """Give up listening, and keep the address by a socket that is bound and does nothing."""
        self._listener.close()
        while True:
            # uvloop lets go of a server's socket in its next round.
            with contextlib.suppress(OSError):
                self._listener = listening_socket(self._family, self._address, shared=self._shared)
                return
            await asyncio.sleep(_RETRY)
