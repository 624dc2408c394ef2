"""Timed requests: sent one after the other on one connection, each with its duration."""

import time
from collections.abc import Iterable

from tests.bench.load import Address, connect
from tests.bench.wire import Reader


def timed(address: Address, requests: Iterable[bytes]) -> list[float]:
    """The seconds from sending each request to the end of its answer. ConnectionError if the server closes."""
    reader = Reader()
    taken: list[float] = []
    with connect(address, keeps_blocking=True) as connection:
        for sent in requests:
            began = time.perf_counter()
            connection.sendall(sent)
            while not reader.feed(data := connection.recv(1 << 18)):
                if not data:
                    raise ConnectionError("The server has closed the connection within an answer.")
            taken.append(time.perf_counter() - began)
    return taken
