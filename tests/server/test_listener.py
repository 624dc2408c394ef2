"""The listener: its failures, and their end, at any moment."""

import asyncio
import socket
from importlib import import_module
from typing import Any

import pytest

from mockserver.server.listener import Failure, Listener, bind_socket
from mockserver.server.server import Loop
from tests.support.sockets import LOOPS
from tests.support.virtual import run_virtually


async def listen(listener: socket.socket) -> asyncio.AbstractServer:
    class Greeter(asyncio.Protocol):
        def connection_made(self, transport: Any) -> None:
            transport.write(b"hi")
            transport.close()

    return await asyncio.get_running_loop().create_server(Greeter, sock=listener)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("failure", ["refuse", "accept_nothing"])
def test_a_listener_that_recovers_while_it_begins_to_fail_serves_again(failure: Failure, loop: Loop) -> None:
    async def story() -> None:
        for rounds in range(8):
            bound = bind_socket(socket.AF_INET, ("127.0.0.1", 0))
            address, listener = bound.getsockname(), Listener(bound, listen)
            await listener.open()
            listener.fail(failure, 0.0, 600.0)
            for _ in range(rounds):
                await asyncio.sleep(0)
            await listener.recover()
            assert listener.state == "open"
            reader, writer = await asyncio.wait_for(asyncio.open_connection(*address), 5)
            assert await asyncio.wait_for(reader.read(), 5) == b"hi"
            writer.close()
            await listener.close()

    new_loop = import_module(loop).new_event_loop
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(story())


def test_failures_begin_and_end_at_their_instants_and_the_worse_of_two_counts() -> None:
    async def story() -> list[tuple[float, str]]:
        loop = asyncio.get_running_loop()
        bound = bind_socket(socket.AF_INET, ("127.0.0.1", 0))
        # As with a server, whose clients may come before it has started.
        bound.listen()
        address, listener = bound.getsockname(), Listener(bound, listen)
        listener.fail("accept_nothing", 0.0, 6.0)
        listener.fail("refuse", 4.0, 5.0)
        await listener.open()
        seen: list[tuple[float, str]] = []
        for instant in (0.5, 3.5, 4.5, 8.5, 9.5):
            await asyncio.sleep(instant - loop.time())
            with socket.socket() as client:
                refused = client.connect_ex(address) != 0
            assert refused == (listener.state == "refuse")
            seen.append((instant, listener.state))
        await listener.close()
        return seen

    assert run_virtually(story()) == [
        (0.5, "accept_nothing"),
        (3.5, "accept_nothing"),
        (4.5, "refuse"),
        (8.5, "refuse"),
        (9.5, "open"),
    ]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_connection_that_was_accepted_just_before_its_listener_closes_is_served(loop: Loop) -> None:
    async def story() -> None:
        for rounds in range(8):
            bound = bind_socket(socket.AF_INET, ("127.0.0.1", 0))
            listener = Listener(bound, listen)
            await listener.open()
            with socket.create_connection(bound.getsockname(), timeout=5) as client:
                for _ in range(rounds):
                    await asyncio.sleep(0)
                await listener.close()
                for _ in range(8):
                    await asyncio.sleep(0)
                assert end_of(client) in (b"hi", "reset")

    new_loop = import_module(loop).new_event_loop
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(story())


def end_of(client: socket.socket) -> bytes | str:
    """What is received until the connection ends, or "reset" if it was never accepted."""
    try:
        return client.recv(2) + client.recv(1)
    except ConnectionResetError:
        return "reset"
