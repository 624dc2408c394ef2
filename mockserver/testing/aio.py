"""The waiting methods of a handle for asynchronous tests: they wait in a thread, so the test's own loop continues."""

from functools import partial
from typing import Protocol

from anyio import to_thread

from mockserver.state.deliveries import Delivered
from mockserver.state.journal.views import View

_TIMEOUT = 5.0


class _Clock(Protocol):
    def advance(self, seconds: float) -> float: ...


class _Waiting(Protocol):
    """The parts of a handle that wait for clients or for a server elsewhere."""

    @property
    def clock(self) -> _Clock: ...
    @property
    def requests(self) -> list[View]: ...
    @property
    def last(self) -> View: ...
    def wait_for_requests(self, number: int, timeout: float) -> list[View]: ...
    def wait_for_deliveries(self, number: int, timeout: float) -> list[Delivered]: ...
    def wait_idle(self, timeout: float) -> None: ...
    def reset(self) -> None: ...


class Aio:
    """A handle whose waiting methods can be awaited, under asyncio and trio."""

    def __init__(self, handle: _Waiting) -> None:
        self._handle = handle

    async def wait_for_requests(self, count: int, timeout: float = _TIMEOUT) -> list[View]:
        """Wait until a model was asked so many times. Raises TimeoutError."""
        return await _in_thread(partial(self._handle.wait_for_requests, count, timeout))

    async def wait_for_deliveries(self, count: int, timeout: float = _TIMEOUT) -> list[Delivered]:
        """Wait until so many deliveries have ended. Raises TimeoutError."""
        return await _in_thread(partial(self._handle.wait_for_deliveries, count, timeout))

    async def wait_idle(self, timeout: float = _TIMEOUT) -> None:
        """Wait until every answer has ended. Raises TimeoutError."""
        await _in_thread(partial(self._handle.wait_idle, timeout))

    async def advance(self, seconds: float) -> float:
        """Advance the namespace's clock, and return how far it is ahead now."""
        return await _in_thread(partial(self._handle.clock.advance, seconds))

    async def requests(self) -> list[View]:
        """The exchanges in which a model was asked, oldest first."""
        return await _in_thread(lambda: self._handle.requests)

    async def last(self) -> View:
        """The latest exchange in which a model was asked."""
        return await _in_thread(lambda: self._handle.last)

    async def reset(self) -> None:
        """Forget all stubs, armed faults, counts, messages, deliveries and the journal."""
        await _in_thread(self._handle.reset)


_in_thread = partial(to_thread.run_sync, abandon_on_cancel=True)
