"""Interference: how a few heavy clients affect many plain ones."""

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Address, Group, Load, load_groups
from tests.bench.rounds import alternate, ratio
from tests.bench.section import Section
from tests.bench.servers import product
from tests.bench.wire import again, numbered, request

_QUIET, _BESIDE = "alone", "beside all three"


def measure(effort: Effort) -> Section:
    """Latencies of plain answers alone, and beside long prompts, a long stream, a journal reader, and all three."""
    plain = questions.plain(effort.tokens)
    with product(plain) as server:
        heavy = _heavy(effort)
        beside = {_QUIET: (), **{name: (sent,) for name, sent in heavy.items()}, _BESIDE: tuple(heavy.values())}
        runs = {name: partial(_load, server.address, effort, others) for name, others in beside.items()}
        taken = alternate(runs, effort.rounds)
    tails = {name: [one.p99 for one in loads] for name, loads in taken.items()}
    worse = ratio(tails[_BESIDE], tails[_QUIET])
    return Section(
        title=f"{effort.connections} connections beside three heavy clients",
        about=(
            f"Plain answers of {effort.tokens} tokens on {effort.connections} connections, alone and "
            f"while one client sends prompts of {effort.long_prompt:,} characters, one streams {effort.long_stream:,} "
            "tokens, and one reads the journal, each without pauses."
        ),
        columns=("", "answers/s", "p50 ms", "p99 ms", "longest ms"),
        rows=tuple(_row(name, loads) for name, loads in taken.items()),
        facts={"interference": worse},
        rounds=tails,
    )


def _heavy(effort: Effort) -> dict[str, Iterator[bytes]]:
    """The requests of each of the heavy clients."""
    return {
        "beside long prompts": numbered(questions.long(effort.long_prompt)),
        "beside a long stream": again(questions.stream(effort.long_stream, model="gpt-oss-120b")),
        "beside a reader of the journal": again(request("/_mockserver/journal")),
    }


def _load(address: Address, effort: Effort, others: Sequence[Iterator[bytes]]) -> Load:
    plain = Group(effort.connections, again(questions.plain(effort.tokens)))
    return load_groups(address, (plain, *(Group(1, sent) for sent in others)), effort.seconds)[0]


def _row(name: str, loads: list[Load]) -> tuple[str, ...]:
    times = (words.ms(median(getattr(one, field) for one in loads)) for field in ("p50", "p99", "longest"))
    return name, words.rate(median(one.requests for one in loads)), *times
