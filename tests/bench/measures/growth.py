"""Growth: requests per second against the number of connections, and time against the length of prompt and answer."""

from collections.abc import Callable
from functools import partial
from statistics import median

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Address, load
from tests.bench.rounds import alternate
from tests.bench.section import Chart, Point, Section
from tests.bench.servers import bare, product
from tests.bench.timed import timed
from tests.bench.wire import NUMBER, again

_PRODUCT, _BARE = "mockserver", "bare Starlette + orjson"
# How many requests of each length and each limit there are in a round.
_TIMES = 5


def measure(effort: Effort) -> Section:
    """The curves over connections, prompts and limits."""
    plain, probe = questions.plain(effort.tokens), questions.bare_plain(effort.tokens)
    with product(plain) as server, bare(probe, questions.answers(server.address, effort.tokens)) as base:
        crowds: dict[str, list[Point]] = {_PRODUCT: [], _BARE: []}
        for crowd in effort.crowds:
            for name, rate in _rates(effort, crowd, (server.address, plain), (base.address, probe)).items():
                crowds[name].append((float(crowd), rate))
        prompts = [(float(size), _prompt(effort, server.address, size)) for size in effort.prompts]
        kinds = {"plain": questions.plain, "stream": questions.stream}
        limits = {
            kind: [(float(limit), _limit(effort, server.address, make, limit)) for limit in effort.limits]
            for kind, make in kinds.items()
        }
    rows = [
        (f"{name}, {int(x):,} connections", f"{words.rate(y)} answers/s") for name, it in crowds.items() for x, y in it
    ]
    rows += [(f"prompt of {int(x):,} characters, 16 tokens", f"{words.ms(y / 1e3)} ms") for x, y in prompts]
    rows += [(f"{kind} of {int(x):,} tokens", f"{words.ms(y / 1e3)} ms") for kind, it in limits.items() for x, y in it]
    return Section(
        title="Growth",
        about="The curves over length and limit use a new prompt for each request, on one connection.",
        columns=("", "measured"),
        rows=tuple(rows),
        charts=(
            _chart("connections", "Answers per second against connections", "connections", "answers/s", crowds, "x"),
            _chart("prompt", "Time against the prompt's length", "characters", "ms", {"mockserver": prompts}, "xy"),
            _chart("limit", "Time against max_tokens", "tokens", "ms", limits, "xy"),
        ),
    )


def _chart(name: str, title: str, x: str, y: str, series: dict[str, list[Point]], log: str) -> Chart:
    return Chart(name, title, x, y, {key: tuple(points) for key, points in series.items()}, log)


def _rates(effort: Effort, crowd: int, ours: tuple[Address, bytes], base: tuple[Address, bytes]) -> dict[str, float]:
    """Answers per second of both servers with so many connections."""
    both = ((_PRODUCT, *ours), (_BARE, *base))
    runs = {name: partial(load, address, again(sent), crowd, effort.seconds) for name, address, sent in both}
    taken = alternate(runs, effort.pacing_rounds)
    return {name: median(one.requests for one in loads) for name, loads in taken.items()}


def _prompt(effort: Effort, address: Address, size: int) -> float:
    return _median_ms(effort, address, questions.long(size), size)


def _limit(effort: Effort, address: Address, make: Callable[[int], bytes], limit: int) -> float:
    return _median_ms(effort, address, make(limit), limit)


def _median_ms(effort: Effort, address: Address, pattern: bytes, salt: int) -> float:
    """The median milliseconds of a request, each with a prompt of its own."""
    times = _TIMES * effort.pacing_rounds
    sent = [pattern.replace(NUMBER.encode(), b"%09d" % (salt % 1_000_000 * 100 + n)) for n in range(times + 1)]
    return median(timed(address, sent)[1:]) * 1e3
