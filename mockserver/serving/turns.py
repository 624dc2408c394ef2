"""Long work that takes turns: in each turn of the event loop, one task does a piece of about half a millisecond.

So a request is held up by about as long as one of them, however many there are; alone, long work hardly waits.
"""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from mockserver.core.haste import at_leisure

Item = TypeVar("Item")
Result = TypeVar("Result")

_TURN_SECONDS = 0.0005
# A thread waits no longer than this for a turn.
_PATIENCE_SECONDS = 0.05
# At its end a loop leaves so much time to its threads.
_FAREWELL_SECONDS = 0.2


class _Queue:
    """The tasks that wait for a turn of one event loop, first come, first served."""

    def __init__(self) -> None:
        self._taken = False
        self._waiting: deque[Callable[[], object]] = deque()

    def takes(self) -> bool:
        """Take the loop's next turn, if nobody has it yet; whether that was so."""
        if self._taken:
            return False
        self._taken = True
        asyncio.get_running_loop().call_soon(self._pass_on)
        return True

    def wait(self, resume: Callable[[], object]) -> None:
        """Have `resume` called in the turn before that of the one who waits."""
        self._waiting.append(resume)

    def _pass_on(self) -> None:
        if self._waiting:
            self._waiting.popleft()()
            asyncio.get_running_loop().call_soon(self._pass_on)
        else:
            self._taken = False


# A queue refers to no loop, so that both end together.
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()


def call_in_turn(piece: Callable[[], object]) -> None:
    """Do a piece of work in a later turn of the running event loop, which it shares with no other piece."""
    loop = asyncio.get_running_loop()
    queue = _queue(loop)
    if queue.takes():
        loop.call_soon(piece)
    else:
        queue.wait(partial(loop.call_soon, piece))


async def next_turn() -> None:
    """Continue in a later turn of the running event loop, which this task shares with no other's long work."""
    loop = asyncio.get_running_loop()
    queue = _queue(loop)
    if queue.takes():
        await asyncio.sleep(0)
        return
    turn: asyncio.Future[None] = loop.create_future()
    queue.wait(partial(_begin, turn))
    await turn


def _begin(turn: asyncio.Future[None]) -> None:
    # A task that is cancelled meanwhile loses its turn.
    if not turn.done():
        turn.set_result(None)


async def after_all_due() -> None:
    """The same once everything is done that has become due meanwhile: before a piece of work that takes longer.

    A turn begins with the tasks that have waited for it; only then come the alarms and data of the turn before.
    """
    await next_turn()
    await next_turn()


def _queue(loop: asyncio.AbstractEventLoop) -> _Queue:
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = _Queue()
    return queue


async def in_turns(
    work: Callable[[Item], Result], items: Iterable[Item], is_long: Callable[[Item], bool] = lambda item: False
) -> list[Result]:
    """The results of `work` for the items, in order; long items are processed in a thread."""
    results: list[Result] = []
    began = time.monotonic()
    for item in items:
        results.append(await in_thread(partial(work, item)) if is_long(item) else work(item))
        if time.monotonic() - began > _TURN_SECONDS:
            await next_turn()
            began = time.monotonic()
    return results


async def in_thread(work: Callable[[], Result]) -> Result:
    """The result of long work, done in a thread, which takes turns like any other long work where it can (`breathe`).

    Otherwise the system lets the thread run on for several milliseconds where both share a core, and elsewhere the
    thread takes the interpreter from the loop after each callback.
    """
    loop = asyncio.get_running_loop()
    return await asyncio.to_thread(at_leisure, work, _Pauses(loop).pause)


class _Pauses:
    """The pauses of a thread after each piece of its work, until the event loop gives it a turn."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._turn = threading.Event()
        self._began = time.monotonic()

    def pause(self) -> None:
        if time.monotonic() - self._began <= _TURN_SECONDS:
            return
        self._turn.clear()
        # A loop that has ended, or ends meanwhile, waits for this thread.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call_in_turn, self._turn.set)
            self._turn.wait(_PATIENCE_SECONDS)
        self._began = time.monotonic()


class Threads(ThreadPoolExecutor):
    """Threads for an event loop, which neither the end of the loop nor that of the process waits for any longer.

    Those of the class itself are joined by both, so that one endless computation would keep a process for ever.
    """

    def __init__(self) -> None:
        # A loop takes no other class. None of the threads of the class itself is ever started.
        super().__init__()
        self._most = min(32, (os.cpu_count() or 1) + 4)
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._free = threading.Semaphore(0)
        self._members: list[threading.Thread] = []
        self._ended = False

    def submit(self, work: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Have a function called in a thread. Raises RuntimeError after the shutdown."""
        if self._ended:
            raise RuntimeError("the threads of this loop have ended")
        future: Future[Result] = Future()
        self._tasks.put((future, partial(work, *args, **kwargs)))
        if not self._free.acquire(blocking=False) and len(self._members) < self._most:
            name = f"mockserver-{len(self._members)}"
            self._members.append(threading.Thread(target=self._run, name=name, daemon=True))
            self._members[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end after what they do, and wait for that a moment at most."""
        self._ended = True
        while cancel_futures:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                break
            if task is not None:
                task[0].cancel()
        for _ in self._members:
            self._tasks.put(None)
        deadline = time.monotonic() + _FAREWELL_SECONDS
        for member in self._members if wait else ():
            member.join(max(deadline - time.monotonic(), 0))

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            future, work = task
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:
                    future.set_exception(error)
                    del error
                else:
                    future.set_result(result)
                    del result
            del task, future, work
            self._free.release()
