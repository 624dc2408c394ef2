"""Peers: the product compared with the other mock servers that are installed."""

import tempfile
from contextlib import ExitStack
from functools import partial
from math import isnan
from pathlib import Path
from statistics import median

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Address, Load, load
from tests.bench.peers import PEERS, Peer, installed, question
from tests.bench.rounds import alternate, ratio
from tests.bench.section import Section
from tests.bench.servers import Server, ask, bare, product, running
from tests.bench.wire import BadAnswerError, again

_PRODUCT, _BARE = "mockserver", "bare Starlette + orjson; bare ASGI"
_NOTHING = Load(*[float("nan")] * len(Load.__slots__))
_ABOUT = (
    "Each server is started by its own command with its defaults, without latency; answers have 128 words or tokens. "
    "Servers that could not be started have no figures. Notes: "
)


def measure(effort: Effort) -> Section:
    """Rates of plain answers and of streams, in one alternated run with all servers up."""
    with ExitStack() as stack:
        asked = {_PRODUCT: _product(stack, effort)}
        asked[_BARE] = _bare(stack, effort, asked[_PRODUCT][0])
        asked |= {peer.name: (it.address, question(), question(stream=True)) for peer, it in _started(stack)}
        runs = {
            f"{name}, {kind}": partial(_try, address, sent, effort)
            for name, (address, *both) in asked.items()
            for kind, sent in zip(("plain", "stream"), both, strict=True)
        }
        taken = alternate(runs, effort.rounds)
        sizes = {name: _size(address, plain) for name, (address, plain, _) in asked.items()}
    plain = {name: [one.requests for one in taken[f"{name}, plain"]] for name in asked}
    events = {name: [one.events for one in taken[f"{name}, stream"]] for name in asked}
    packages = {peer.name: peer.package for peer in PEERS}
    rows = [(packages.get(name, name), *_row(name, plain, events, sizes[name])) for name in asked]
    rows += [(peer.package, "-", "", "-", "", "-") for peer in installed() if peer.name not in asked]
    rows += [(f"{peer.package}: not installed", "", "", "", "", "") for peer in PEERS if peer not in installed()]
    return Section(
        title=f"Beside other mock servers, {effort.connections} connections",
        about=_ABOUT + "; ".join(f"{peer.name} {peer.remark}" for peer in PEERS if peer.remark) + ".",
        columns=("", "answers/s", "mockserver is", "events/s", "mockserver is", "bytes"),
        rows=tuple(rows),
        facts=_facts(plain, events),
        rounds={f"{name}, answers": rates for name, rates in plain.items()}
        | {f"{name}, events": rates for name, rates in events.items()},
    )


def _product(stack: ExitStack, effort: Effort) -> tuple[Address, bytes, bytes]:
    plain, stream = questions.plain(effort.tokens), questions.stream(effort.tokens)
    return stack.enter_context(product(plain)).address, plain, stream


def _bare(stack: ExitStack, effort: Effort, address: Address) -> tuple[Address, bytes, bytes]:
    plain, stream = questions.bare_plain(effort.tokens), questions.bare_stream(effort.tokens)
    return stack.enter_context(bare(plain, questions.answers(address, effort.tokens))).address, plain, stream


def _started(stack: ExitStack) -> list[tuple[Peer, Server]]:
    """The installed peers that start and answer."""
    started: list[tuple[Peer, Server]] = []
    for peer in installed():
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        peer.prepare(folder)
        try:
            server = running(peer.command, question(), folder=folder, environment={"HF_HUB_OFFLINE": "1"})
            started.append((peer, stack.enter_context(server)))
        except OSError as error:
            print(f"{peer.name} is left out: {error}")
    return started


def _try(address: Address, sent: bytes, effort: Effort) -> Load:
    """A load, or NaN for all figures if the server fails under it."""
    try:
        return load(address, again(sent), effort.connections, effort.seconds)
    except (OSError, BadAnswerError):
        return _NOTHING


def _size(address: Address, plain: bytes) -> int:
    try:
        return len(ask(address, plain))
    except (OSError, BadAnswerError):
        return 0


def _row(name: str, plain: dict[str, list[float]], events: dict[str, list[float]], size: int) -> tuple[str, ...]:
    return (
        words.rate(median(plain[name])),
        f"{words.times(ratio(plain[_PRODUCT], plain[name]))} times as fast",
        words.rate(median(events[name])),
        f"{words.times(ratio(events[_PRODUCT], events[name]))} times as fast",
        f"{size:,}" if size else "-",
    )


def _facts(plain: dict[str, list[float]], events: dict[str, list[float]]) -> dict[str, float]:
    """Ratios to the best peer of each kind, if there is any."""
    kinds = {
        kind: [peer.name for peer in PEERS if peer.language == kind and peer.name in plain]
        for kind in ("python", "node")
    }
    facts = {f"peers {kind}": _over_best(plain, names) for kind, names in kinds.items() if names}
    everyone = [name for names in kinds.values() for name in names]
    return facts | ({"peers stream": _over_best(events, everyone)} if everyone else {})


def _over_best(rates: dict[str, list[float]], names: list[str]) -> float:
    best = max(names, key=lambda name: _known(median(rates[name])))
    return ratio(rates[_PRODUCT], rates[best])


def _known(value: float) -> float:
    return 0.0 if isnan(value) else value
