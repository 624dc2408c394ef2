"""The clock of a loop: calls come in the order of their instants, not before them, and can be cancelled."""

import asyncio
import sys

import pytest

from mockserver.serving.clock import Clock, LoopClock, ShiftedClock, TimerClock, clock_of
from tests.support.virtual import run_virtually


async def calls_of(clock: Clock) -> list[str]:
    """What a clock calls, in order, of five calls of which one is cancelled."""
    called: list[str] = []
    done = asyncio.get_running_loop().create_future()
    start = clock.now()

    def call(name: str, instant: float) -> None:
        assert clock.now() >= instant - 0.002
        called.append(name)

    for name, delay in (("c", 0.03), ("a", 0.01), ("b", 0.02), ("past", -1.0)):
        clock.call_at(start + delay, lambda name=name, instant=start + delay: call(name, instant))  # type: ignore[misc]
    clock.call_at(start + 0.015, lambda: called.append("cancelled"))()
    clock.call_at(start + 0.04, lambda: done.set_result(None))
    await asyncio.wait_for(done, 10)
    return called


def test_calls_come_in_the_order_of_their_instants() -> None:
    async def main() -> list[str]:
        return await calls_of(LoopClock(asyncio.get_running_loop()))

    assert asyncio.run(main()) == ["past", "a", "b", "c"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="timers that are files are Linux'")
def test_a_kernel_timer_does_the_same() -> None:
    async def main() -> list[str]:
        clock = clock_of(asyncio.get_running_loop())
        assert isinstance(clock, TimerClock)
        assert clock_of(asyncio.get_running_loop()) is clock
        return await calls_of(clock)

    assert asyncio.run(main()) == ["past", "a", "b", "c"]


def test_a_shifted_clock_rings_what_an_advance_has_reached_and_forgets_it() -> None:
    rung: list[str] = []

    async def story() -> None:
        clock = ShiftedClock(LoopClock(asyncio.get_running_loop()))
        clock.call_at(10, lambda: rung.append("ten"))
        cancel = clock.call_at(20, lambda: rung.append("twenty"))
        clock.call_at(30, lambda: rung.append("thirty"))
        clock.advance(15)
        await asyncio.sleep(0.001)
        assert rung == ["ten"]
        cancel()
        clock.advance(20)
        await asyncio.sleep(0.001)
        assert rung == ["ten", "thirty"]
        assert clock.now() == pytest.approx(35.002)

    run_virtually(story())
