"""The clock of a loop: alarms ring in their order and not before their instants, can be set anew and be cancelled."""

import asyncio
import gc
import json
import subprocess
import sys
from functools import partial
from weakref import WeakKeyDictionary, ref

import pytest

from mockserver.server.app import create_app
from mockserver.server.clock import LoopClock, ShiftedClock, TimerClock, clock_of
from mockserver.state.settings import Settings
from tests.support.virtual import run_virtually


async def calls_of(clock: ShiftedClock) -> list[str]:
    """What a clock calls, in order, by six alarms of which one is cancelled and one is set anew."""
    called: list[str] = []
    done = asyncio.get_running_loop().create_future()
    start = clock.now()

    def call(name: str, instant: float, now: float) -> None:
        assert clock.now() >= now >= instant - 0.002
        called.append(name)

    for name, delay in (("c", 0.03), ("a", 0.01), ("b", 0.02), ("past", -1.0)):
        clock.alarm(partial(call, name, start + delay)).set(start + delay)
    cancelled = clock.alarm(lambda now: called.append("cancelled"))
    cancelled.set(start + 0.015)
    cancelled.cancel()
    last = clock.alarm(lambda now: done.set_result(None))
    last.set(start + 0.005)
    last.set(start + 0.04)
    await asyncio.wait_for(done, 10)
    return called


def test_calls_come_in_the_order_of_their_instants() -> None:
    async def main() -> list[str]:
        return await calls_of(ShiftedClock(LoopClock(asyncio.get_running_loop())))

    assert asyncio.run(main()) == ["past", "a", "b", "c"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="timers that are files are Linux'")
def test_a_kernel_timer_does_the_same() -> None:
    async def main() -> list[str]:
        clock = clock_of(asyncio.get_running_loop())
        assert isinstance(clock, TimerClock)
        assert clock_of(asyncio.get_running_loop()) is clock
        return await calls_of(ShiftedClock(clock))

    assert asyncio.run(main()) == ["past", "a", "b", "c"]


def test_a_shifted_clock_rings_what_an_advance_has_reached_and_forgets_it() -> None:
    rung: list[str] = []

    def ring(name: str, now: float) -> None:
        rung.append(name)

    async def story() -> None:
        clock = ShiftedClock(LoopClock(asyncio.get_running_loop()))
        alarms = {name: clock.alarm(partial(ring, name)) for name in ("ten", "twenty", "thirty")}
        for name, instant in (("ten", 10), ("twenty", 20), ("thirty", 30)):
            alarms[name].set(instant)
        clock.advance(15)
        await asyncio.sleep(0.001)
        assert rung == ["ten"]
        alarms["twenty"].cancel()
        clock.advance(20)
        await asyncio.sleep(0.001)
        assert rung == ["ten", "thirty"]
        assert clock.now() == pytest.approx(35.002)

    run_virtually(story())


def test_the_clock_of_a_namespace_goes_by_the_loop_that_runs_and_keeps_its_shift() -> None:
    app_state = create_app(Settings(latency="off")).app_state
    space = app_state.namespaces.get("mine")

    async def shift_of_a_clock_that_rings() -> float:
        clock, rung = app_state.clocks.of(space), asyncio.get_running_loop().create_future()
        assert app_state.clocks.of(space) is clock
        clock.alarm(lambda now: rung.set_result(None)).set(clock.now())
        await asyncio.wait_for(rung, 10)
        return clock.shift

    async def advance() -> float:
        return app_state.clocks.advance(space, 60)

    assert [asyncio.run(story()) for story in (shift_of_a_clock_that_rings, advance, shift_of_a_clock_that_rings)] == [
        0.0, 60.0, 60.0,
    ]  # fmt: skip


def test_a_loop_that_nobody_needs_any_more_is_not_kept_by_its_clock() -> None:
    loop = asyncio.new_event_loop()
    clocks = WeakKeyDictionary({loop: LoopClock(loop)})
    loop.close()
    gone = ref(loop)
    del loop
    gc.collect()
    assert (gone(), len(clocks)) == (None, 0)


# As freezegun does it, before anything of the server is imported: every reading is the same date.
FROZEN = """
import time
time.monotonic = time.time = lambda: {instant}

import json, sys, urllib.request
from mockserver import MockServer

body = {{"model": "m", "prompt": "Hello", "max_tokens": 4, "stream": True}}
headers = {{"Authorization": "Bearer k", "Content-Type": "application/json"}}
with MockServer(loop=sys.argv[1], latency="ttft=20ms, rate=100 tok/s") as server:
    request = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        chunks = [json.loads(line[6:]) for line in answer if line.startswith(b"data: {{")]
    print(chunks[-1]["created"], [event["sent"] >= event["due"] for event in server.last.events])
"""


@pytest.mark.parametrize("loop", ["auto", "asyncio"])
@pytest.mark.parametrize("instant", [0, 1_577_836_800])
def test_answers_with_a_latency_arrive_though_time_is_frozen_and_state_the_frozen_date(loop: str, instant: int) -> None:
    command = [sys.executable, "-c", FROZEN.format(instant=instant), loop]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    created, _, in_time = told.stdout.strip().partition(" ")
    assert (told.stderr, created) == ("", str(instant))
    assert set(json.loads(in_time.lower())) == {True}
