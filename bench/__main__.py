"""Measure the product against bare servers: alternated rounds, medians, ratios of the same run."""

import argparse
import asyncio
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from urllib.request import Request, urlopen

from bench.client import Load, load, request

PROMPT = "Explain how a suspension bridge carries its load. " * 6
BODY = {"model": "llama3.1-8b", "prompt": PROMPT, "max_tokens": 128, "min_tokens": 128}
PATH = "/cerebras/v1/completions"


def main() -> None:
    """Run all rounds and print the table."""
    parser = argparse.ArgumentParser(prog="bench", description="Requests and events per second, as ratios of one run.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="per measurement")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    plain, stream = (json.dumps(BODY | extra).encode() for extra in ({}, {"stream": True}))
    with ExitStack() as stack:
        joined = stack.enter_context(_product("joined"))
        single = stack.enter_context(_product("single"))
        bare = stack.enter_context(_bare(joined, plain, stream))
        targets = {
            "plain, bare Starlette + orjson": (bare, request("/plain", plain)),
            "plain, mockserver": (joined, request(PATH, plain)),
            "stream, bare ASGI, a write each": (bare, request("/stream", stream)),
            "stream, mockserver, a write each": (single, request(PATH, stream)),
            "stream, mockserver, joined": (joined, request(PATH, stream)),
        }
        rounds = [_round(targets, options, number) for number in range(options.rounds)]
    figures = {name: _median([each[name] for each in rounds]) for name in targets}
    _print(figures)
    if options.json:
        options.json.write_text(json.dumps({name: figure._asdict() for name, figure in figures.items()}, indent=2))


def _round(targets: dict[str, tuple[str, bytes]], options: argparse.Namespace, number: int) -> dict[str, Load]:
    """One measurement of each target; the order turns from round to round."""
    names = list(targets) if number % 2 == 0 else list(reversed(targets))
    return {name: asyncio.run(load(*targets[name], options.connections, options.seconds)) for name in names}


def _median(loads: list[Load]) -> Load:
    return Load(*(median(values) for values in zip(*loads, strict=True)))


def _print(figures: dict[str, Load]) -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    print(f"{'':36} {'requests/s':>11} {'events/s':>11} {'ratio':>7} {'client':>7}")
    bases = {"plain": "plain, bare Starlette + orjson", "strea": "stream, bare ASGI, a write each"}
    for name, figure in figures.items():
        ratio = figure.requests_per_second / figures[bases[name[:5]]].requests_per_second
        events = f"{figure.events_per_second:11,.0f}" if figure.events_per_second else " " * 11
        share = f"{figure.client_share:6.0%}"
        print(f"{name:36} {figure.requests_per_second:11,.0f} {events} {ratio:7.2f} {share:>7}")


@contextmanager
def _product(writes: str) -> Iterator[str]:
    options = ["--latency", "off", "--log-level", "warning", "--writes", writes]
    with _server(lambda port: ["-m", "mockserver", "serve", "--port", str(port), *options]) as url:
        yield url


@contextmanager
def _bare(product: str, plain: bytes, stream: bytes) -> Iterator[str]:
    """A bare server that answers with bytes which the product gave."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("plain", "stream")]
        for file, body in zip(files, (plain, stream), strict=True):
            headers = {"authorization": "Bearer bench", "content-type": "application/json"}
            with urlopen(Request(product + PATH, body, headers), timeout=10) as answer:
                file.write_bytes(answer.read())
        with _server(lambda port: ["-m", "bench.baseline", str(port), *map(str, files)]) as url:
            yield url


@contextmanager
def _server(command: Callable[[int], list[str]]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, *command(port)], stdout=subprocess.DEVNULL)
    try:
        _wait(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _wait(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")


if __name__ == "__main__":
    main()
