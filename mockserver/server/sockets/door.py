"""The door: a server's listening socket, which can fail for a while. Existing connections are not affected.

refuse           the socket does not listen: its address is kept, and connections are refused
accept_nothing   the system makes connections, but they are not accepted until the time is over
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

# How often to retry binding while a socket that is being closed still has its address, in seconds.
_RETRY = 0.001


def listening_socket(family: int, address: tuple[str | int, ...], *, shared: bool = False) -> socket.socket:
    """A socket that is bound to an address but not listening yet. Raises OSError.

    Several sockets may bind a `shared` address, and the system distributes connections among them. The protocol is
    given explicitly because asyncio only disables Nagle's algorithm on sockets that are declared as TCP.
    """
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound


class Door:
    """A listening socket, not served before it is opened; `listen` makes a server, which then owns the socket."""

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
        """What a client that connects now encounters."""
        return self._state

    async def open(self) -> None:
        """Serve, unless a failure has already begun."""
        await self._settle()

    def fail(self, failure: Failure, start: float, seconds: float) -> None:
        """Make the listener fail in `start` seconds, for `seconds`. Of overlapping failures the worse takes effect."""
        if not start:
            self._failures[failure] += 1
        task = asyncio.ensure_future(self._fail(failure, start, seconds))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def fail_as(self, fault: Fault) -> None:
        """Fail as a listener fault prescribes; its time starts now."""
        chance = fault.chance
        assert chance.seconds is not None, "a fault of a listener has an end"
        self.fail("refuse" if fault.kind == "refuse" else "accept_nothing", chance.start, chance.seconds)

    async def mend(self) -> None:
        """End all failures, and cancel future ones."""
        await self._forget()
        self._failures = dict.fromkeys(self._failures, 0)
        await self._settle()

    async def close(self) -> None:
        """Close the socket for good; connections that were accepted before are made."""
        await self._forget()
        if self._server is not None:
            await self._dismiss(self._server)
        self._listener.close()

    async def _forget(self) -> None:
        """Cancel all scheduled changes. One that is under way is completed first, to keep the state consistent."""
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
        """Bring the socket into the state required by the failures; one change at a time."""
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
        """Stop accepting connections, while the socket keeps listening."""
        # asyncio loses connections that it has just accepted when its server is closed: stop accepting, and give it a
        # few iterations for those. Other loops do not know the socket as a file descriptor, and have no such problem.
        with contextlib.suppress(NotImplementedError, ValueError):
            asyncio.get_running_loop().remove_reader(self._listener)
        for _ in range(3):
            await asyncio.sleep(0)
        # The server closes its own socket; a duplicate keeps the listening socket open.
        self._listener = self._listener.dup()
        server.close()
        self._server = None

    async def _bind_anew(self) -> None:
        """Stop listening, but keep the address with a socket that is only bound."""
        self._listener.close()
        while True:
            # uvloop closes a server's socket in its next iteration.
            with contextlib.suppress(OSError):
                self._listener = listening_socket(self._family, self._address, shared=self._shared)
                return
            await asyncio.sleep(_RETRY)
