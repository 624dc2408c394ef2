"""Turns: one piece of long work in each turn of the event loop, whoever's it is."""

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from mockserver.core.haste import breathe
from mockserver.serving import turns
from mockserver.serving.server import Loop
from mockserver.serving.turns import after_all_due, call_in_turn, in_thread, in_turns, next_turn
from tests.support.sockets import LOOPS


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine on each loop. Every item of long work takes a whole turn."""
    monkeypatch.setattr(turns, "_TURN_SECONDS", -1.0)
    kind: Loop = request.param
    if kind == "asyncio":
        return asyncio.run
    import uvloop

    return uvloop.run


async def pieces_per_turn(*work: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> list[int]:
    """How many pieces were done in each turn of the loop until all work, begun at once, is done."""
    loop, done, counts = asyncio.get_running_loop(), 0, list[int]()

    def piece() -> None:
        nonlocal done
        done += 1

    def tick() -> None:
        nonlocal done
        counts.append(done)
        done = 0
        if not everything.done():
            loop.call_soon(tick)

    everything = asyncio.ensure_future(asyncio.gather(*(each(piece) for each in work)))
    loop.call_soon(tick)
    await everything
    await asyncio.sleep(0)
    return counts


async def ten_items(piece: Callable[[], None]) -> None:
    await in_turns(lambda _: piece(), range(10))


def test_long_work_alone_goes_on_in_every_turn(run: Callable[..., Any]) -> None:
    counts = run(pieces_per_turn(ten_items))
    assert (sum(counts), max(counts)) == (10, 1)
    assert len(counts) <= 10 + 4


def test_many_tasks_do_no_more_in_a_turn_than_one(run: Callable[..., Any]) -> None:
    counts = run(pieces_per_turn(*[ten_items] * 6))
    # All begin in the same turn.
    assert sorted(counts)[-2:] == [1, 6]
    assert sum(counts) == 60
    assert len(counts) <= 60 + 4


def test_callbacks_and_tasks_share_the_turns(run: Callable[..., Any]) -> None:
    async def ten_callbacks(piece: Callable[[], None]) -> None:
        left, ended = 10, asyncio.get_running_loop().create_future()

        def do_one() -> None:
            nonlocal left
            piece()
            left -= 1
            if left:
                call_in_turn(do_one)
            else:
                ended.set_result(None)

        call_in_turn(do_one)
        await ended

    counts = run(pieces_per_turn(ten_callbacks, ten_callbacks, ten_items))
    assert (sum(counts), max(counts)) == (30, 1)


def test_a_thread_does_one_piece_in_a_turn_and_shares_the_turns(run: Callable[..., Any]) -> None:
    async def turns_of_pieces() -> tuple[list[int], list[int]]:
        loop, turn, ended = asyncio.get_running_loop(), 0, False
        in_threads: list[int] = []
        on_loop: list[int] = []

        def tick() -> None:
            nonlocal turn
            turn += 1
            if not ended:
                loop.call_soon(tick)

        def work() -> None:
            for _ in range(10):
                in_threads.append(turn)
                breathe()

        loop.call_soon(tick)
        await asyncio.gather(in_thread(work), in_turns(lambda _: on_loop.append(turn), range(10)))
        ended = True
        return in_threads, on_loop

    in_threads, on_loop = run(turns_of_pieces())
    assert in_threads == sorted({*in_threads})
    assert on_loop == sorted({*on_loop})
    assert len(in_threads) == len(on_loop) == 10


def test_a_thread_waits_for_no_turn_of_a_loop_that_has_ended(run: Callable[..., Any]) -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    turns._Pauses(run(loop())).pause()


def test_a_thread_waits_for_no_turn_of_a_loop_that_is_ending(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_PATIENCE_SECONDS", 0.001)

    async def wait_in_the_loops_own_thread() -> None:
        turns._Pauses(asyncio.get_running_loop()).pause()

    run(wait_in_the_loops_own_thread())


def test_who_waits_longest_is_next(run: Callable[..., Any]) -> None:
    async def order() -> str:
        order: list[str] = []
        await asyncio.gather(*(in_turns(order.append, name * 4) for name in "abc"))
        return "".join(order)

    assert run(order()) == "abc" * 4


def test_a_task_that_is_cancelled_while_it_waits_holds_up_nobody(run: Callable[..., Any]) -> None:
    async def all_but_one() -> list[str]:
        done: list[str] = []
        tasks = {name: asyncio.ensure_future(in_turns(done.append, name * 5)) for name in "abc"}
        await asyncio.sleep(0)
        tasks["b"].cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
        return done

    done = run(asyncio.wait_for(all_but_one(), 5))
    assert (done.count("a"), done.count("b"), done.count("c")) == (5, 1, 5)


def test_what_became_due_in_a_piece_is_done_before_a_longer_one(run: Callable[..., Any]) -> None:
    async def order() -> list[str]:
        loop, done = asyncio.get_running_loop(), list[str]()
        here, there = socket.socketpair()
        with here, there:
            loop.add_reader(here, lambda: done.append(here.recv(100).decode()))
            await next_turn()
            there.send(b"due")
            done.append("piece")
            await after_all_due()
            done.append("longer piece")
            loop.remove_reader(here)
        return done

    assert run(order()) == ["piece", "due", "longer piece"]


def test_each_loop_has_turns_of_its_own(run: Callable[..., Any]) -> None:
    counts: list[list[int]] = []
    threads = [threading.Thread(target=lambda: counts.append(run(pieces_per_turn(ten_items)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(each) for each in counts] == [10] * 3
    assert all(len(each) <= 10 + 4 for each in counts)


def test_nothing_is_left_of_a_loop_that_has_ended(run: Callable[..., Any]) -> None:
    async def loop_of_long_work() -> weakref.ref[asyncio.AbstractEventLoop]:
        await asyncio.gather(*(in_turns(str, range(5)) for _ in range(3)))
        return weakref.ref(asyncio.get_running_loop())

    ended = run(loop_of_long_work())
    gc.collect()
    assert ended() is None
