"""Answers that leave together: those that are complete within one turn of the event loop.

A write to a client that sleeps has to wake it, which in a virtual machine takes as long as making an answer. A client
of many connections that gets each answer alone falls asleep after each; one that gets several at once is woken for the
first of them only. So an answer that is sent whole waits for others of its turn, for half a millisecond at most. The
first of a turn, which may well be the only one, does not wait.
"""

import asyncio
from collections.abc import Callable
from math import inf
from time import perf_counter
from typing import Any

# How long an answer waits for others of its turn, in seconds: while some ten answers to known prompts are made.
_PATIENCE = 0.000_5


class Batch:
    """The connections of a server whose answers wait to be sent."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float] = perf_counter) -> None:
        self._loop = loop
        self._now = now
        self._waiting: list[BatchedTransport] = []
        self._in_turn = False
        # When something was last sent in this turn, in seconds.
        self._sent = -inf

    def begin_turn(self) -> None:
        """Send what will wait at the end of this turn of the event loop: before whatever is put off from now on."""
        if not self._in_turn:
            self._in_turn = True
            self._sent = -inf
            self._loop.call_soon(self._end_turn)

    def keeps(self, connection: "BatchedTransport") -> bool:
        """Whether an answer on a connection is to wait until the connection is told to send it."""
        if not self._in_turn:
            self.begin_turn()
        now = self._now()
        if now - self._sent < _PATIENCE:
            self._waiting.append(connection)
            return True
        self._sent = now
        if self._waiting:
            self._send()
        return False

    def _end_turn(self) -> None:
        self._in_turn = False
        if self._waiting:
            self._send()

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            connection.send()


class BatchedTransport(asyncio.Transport):
    """The transport of a connection, above which a whole answer may wait.

    Whatever else happens to the connection happens after that answer is sent, so that none is lost or out of order.
    """

    __slots__ = ("_batch", "_transport", "_unsent", "begin_answer", "is_closing", "write_now")

    def __init__(self, transport: asyncio.Transport, batch: Batch) -> None:
        self._transport = transport
        self._batch = batch
        self._unsent = b""
        # To be called when an answer begins, which may be written soon.
        self.begin_answer = batch.begin_turn
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        # The transport's own write, for the rest of an answer of which a part is written already: nothing waits then.
        self.write_now: Callable[[bytes], object] = transport.write

    def write_soon(self, data: bytes) -> None:
        """Write a whole answer before the turn of the event loop in which it began is over."""
        if self._unsent:
            self._unsent += data
        elif self._batch.keeps(self):
            self._unsent = data
        else:
            self.write_now(data)

    def send(self) -> None:
        """Write what waits."""
        data, self._unsent = self._unsent, b""
        if data and not self._transport.is_closing():
            self.write_now(data)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write at once, as far as the client reads."""
        if self._unsent:
            self.send()
        self._transport.write(data)

    def close(self) -> None:
        """Close the connection once everything is written."""
        self.send()
        self._transport.close()

    def abort(self) -> None:
        """Drop the connection."""
        self.send()
        self._transport.abort()

    def can_write_eof(self) -> bool:
        """Whether the end of what is written can be told while the connection is still read."""
        return self._transport.can_write_eof()

    def write_eof(self) -> None:
        """Tell the end of what is written, once everything is."""
        self.send()
        self._transport.write_eof()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """A fact about the connection, such as its `socket`."""
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """How many bytes have not left the process yet."""
        return len(self._unsent) + self._transport.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Leave what arrives to the system for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read what arrives again."""
        self._transport.resume_reading()
