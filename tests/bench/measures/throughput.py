"""Throughput: requests and events per second at zero latency, against bare servers that send the same bytes."""

from functools import partial
from statistics import median

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Load, load
from tests.bench.rounds import alternate, ratio
from tests.bench.section import Section
from tests.bench.servers import bare, product
from tests.bench.wire import again, growing, numbered

# The rows by the names of their facts: the title of each, and the name of the row that it is compared with.
_ROWS = {
    "bare plain": ("plain, bare Starlette + orjson", "bare plain"),
    "plain": ("plain, mockserver, the same prompt", "bare plain"),
    "plain new": ("plain, mockserver, a new prompt each time", "bare plain"),
    "bare growing": ("a conversation that grows by a turn each time, bare Starlette + orjson", "bare growing"),
    "growing": ("a conversation that grows by a turn each time, mockserver", "bare growing"),
    "bare stream": ("stream, bare ASGI, one write per event", "bare stream"),
    "stream single": ("stream, mockserver, one write per event", "bare stream"),
    "stream joined": ("stream, mockserver, due events joined", "bare stream"),
    "stream joined new": ("stream, mockserver, joined, a new prompt each time", "bare stream"),
}


def measure(effort: Effort) -> Section:
    """Rates of plain answers and of streams."""
    plain, stream = questions.plain(effort.tokens), questions.stream(effort.tokens)
    with product(plain) as joined, product(plain, "--writes", "single") as single:
        probe = questions.bare_plain(effort.tokens)
        with bare(probe, questions.answers(joined.address, effort.tokens)) as base:
            streamed = questions.bare_stream(effort.tokens)
            asked = {
                "bare plain": (base.address, again(probe)),
                "plain": (joined.address, again(plain)),
                "plain new": (joined.address, numbered(plain)),
                "bare growing": (
                    base.address,
                    growing(questions.bare_conversation(effort.tokens), effort.connections),
                ),
                "growing": (joined.address, growing(questions.conversation(effort.tokens), effort.connections)),
                "bare stream": (base.address, again(streamed)),
                "stream single": (single.address, again(stream)),
                "stream joined": (joined.address, again(stream)),
                "stream joined new": (joined.address, numbered(stream)),
            }
            runs = {name: partial(load, *it, effort.connections, effort.seconds) for name, it in asked.items()}
            taken = alternate(runs, effort.rounds)
    rates = {name: [one.requests for one in loads] for name, loads in taken.items()}
    ratios = {name: ratio(rates[name], rates[base]) for name, (_, base) in _ROWS.items()}
    return Section(
        title=f"Throughput: {effort.tokens} tokens, {effort.connections} connections, latency off",
        about=(
            "The bare servers send the same bytes as mockserver, without computing them, and log nothing, while "
            "mockserver logs a line for each answer, as it does by default. `ratio` compares answers per "
            "second with the bare server of the same kind. `client` is the share of a core that the load client used; "
            "if it is well below 100 %, the client did not limit the figure."
        ),
        columns=("", "answers/s", "events/s", "ratio", "p50 ms", "p99 ms", "client"),
        rows=tuple(_row(name, taken[name], ratios[name]) for name in _ROWS),
        facts=ratios,
        rounds=rates,
    )


def _row(name: str, loads: list[Load], compared: float) -> tuple[str, ...]:
    middle = Load(*(median(getattr(one, field) for one in loads) for field in Load.__slots__))
    events = words.rate(middle.events) if middle.events else ""
    times = words.ms(middle.p50), words.ms(middle.p99)
    return _ROWS[name][0], words.rate(middle.requests), events, words.times(compared), *times, words.share(middle.share)
