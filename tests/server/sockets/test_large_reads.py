"""Large reads: after each of them, other connections are read first."""

import asyncio

import pytest

from tests.support.connections import connection
from tests.support.virtual import run_virtually

MUCH, LITTLE = b"x" * 65_536, b"x" * 65_535
SLOW = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


def head(length: int) -> bytes:
    return b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % length


def test_a_connection_that_has_delivered_much_is_read_again_in_the_next_turn() -> None:
    async def scenario() -> list[object]:
        protocol, line = connection()
        protocol.data_received(head(2 * len(MUCH) + len(LITTLE)))
        seen: list[object] = []
        for part in (MUCH, LITTLE, MUCH):
            protocol.data_received(part)
            at_once = line.is_read
            await asyncio.sleep(0)
            seen += [(at_once, line.is_read)]
        await asyncio.sleep(1)
        return [*seen, line.writes]

    assert run_virtually(scenario()) == [(False, True), (True, True), (False, True), 1]


def test_a_connection_that_may_not_be_read_yet_stays_so() -> None:
    async def scenario() -> list[bool]:
        protocol, line = connection(answers_after=5)
        protocol.data_received(SLOW)
        # Behind a request that is being answered.
        protocol.data_received(head(len(MUCH)) + MUCH)
        seen = [line.is_read]
        for seconds in (1, 5):
            await asyncio.sleep(seconds)
            seen.append(line.is_read)
        return seen

    assert run_virtually(scenario()) == [False, False, True]


@pytest.mark.parametrize("ends", [True, False])
def test_a_connection_that_ends_meanwhile_is_not_read_again(ends: bool) -> None:
    async def scenario() -> bool:
        protocol, line = connection()
        protocol.data_received(head(2 * len(MUCH)))
        protocol.data_received(MUCH)
        if ends:
            protocol.transport.close()
        await asyncio.sleep(0)
        return line.is_read

    assert run_virtually(scenario()) is not ends
