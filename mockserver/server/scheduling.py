"""Long work beside the requests of others: piece by piece on the event loop, or in a thread.

A server switches between threads every half millisecond (`sys.setswitchinterval`), so that a thread which computes
holds up the loop by no more than that at a time.
"""

import asyncio
import os
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# How long a piece of work may hold up the loop, in seconds.
_SLICE_SECONDS = 0.000_5
# At its end a loop leaves so much time to its threads.
_SHUTDOWN_SECONDS = 0.2


async def resumed(coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
    """The rest of a coroutine that has begun, and waits for something."""
    await _resume(coroutine, awaited)


@types.coroutine
def _resume(coroutine: Coroutine[Any, Any, None], awaited: Any) -> Generator[Any, Any, None]:
    while True:
        try:
            sent = yield awaited
        except BaseException as error:
            step = partial(coroutine.throw, error)
        else:
            step = partial(coroutine.send, sent)
        try:
            awaited = step()
        except StopIteration:
            return


async def in_slices(
    work: Callable[[Item], Result], items: Iterable[Item], is_long: Callable[[Item], bool] = lambda item: False
) -> list[Result]:
    """The results of `work` for the items, in order; others get their turn in between, and long items a thread."""
    results: list[Result] = []
    began = time.monotonic()
    for item in items:
        results.append(await asyncio.to_thread(partial(work, item)) if is_long(item) else work(item))
        if time.monotonic() - began > _SLICE_SECONDS:
            await asyncio.sleep(0)
            began = time.monotonic()
    return results


class Threads(ThreadPoolExecutor):
    """Threads for event loops, which neither the end of a loop nor that of the process waits for any longer: `most` of
    them, or some more than there are processors.

    Those of the class itself are joined by both, so that one endless computation would keep a process for ever.
    """

    def __init__(self, most: int | None = None) -> None:
        # A loop takes no other class. None of the threads of the class itself is ever started.
        super().__init__()
        self._most = most or min(32, (os.cpu_count() or 1) + 4)
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
            # Loops in several threads may share these, and each starts its own.
            member = threading.Thread(target=self._run, name=f"mockserver-{len(self._members)}", daemon=True)
            member.start()
            self._members.append(member)
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
        deadline = time.monotonic() + _SHUTDOWN_SECONDS
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
