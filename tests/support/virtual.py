"""An event loop whose clock jumps to the next timer, so that tests of timing take no time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that advances the clock instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """What is ready now; if nothing is, the timeout passes at once."""
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = _JumpingSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def be_busy(seconds: float) -> None:
    """Advance the clock of the running loop, as if it had been busy for so many seconds."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, _VirtualLoop)
    loop.selector.now += seconds


def run_virtually(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in a loop whose clock starts at 0.0 and never waits."""
    loop = _VirtualLoop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()
