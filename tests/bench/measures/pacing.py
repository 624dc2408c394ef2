"""Pacing: the timing of many streams at once, compared with a bare loop that sleeps until each token's instant."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from statistics import median

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Address
from tests.bench.pacing import Pace, Precision, pace
from tests.bench.rounds import alternate, ratio
from tests.bench.section import Chart, Point, Section
from tests.bench.servers import bare, product
from tests.bench.wire import request

_PRODUCT, _BARE = "mockserver", "bare loop"
_FIELDS = ("gap_p50", "gap_p99", "schedule_p50", "schedule_p99")


def measure(effort: Effort) -> Section:
    """Errors of gaps and of schedules, for each number of streams and each gap."""
    plain = questions.plain(effort.tokens)
    rows: list[tuple[str, ...]] = []
    facts: dict[str, float] = {}
    rounds: dict[str, list[float]] = {}
    curves: dict[float, dict[str, list[Point]]] = {}
    with ExitStack() as stack:
        latencies = {gap: f"ttft={effort.ttft * 1e3:g}ms, itl={gap * 1e3:g}ms" for gap in effort.gaps}
        servers = {gap: stack.enter_context(product(plain, "--latency", text)) for gap, text in latencies.items()}
        answers = questions.answers(next(iter(servers.values())).address, effort.tokens)
        base = stack.enter_context(bare(questions.bare_plain(effort.tokens), answers))
        for gap, server in servers.items():
            for streams in effort.streams:
                taken = _compare(effort, gap, streams, server.address, base.address)
                for name, all_rounds in taken.items():
                    rows.append(_row(name, gap, streams, all_rounds))
                    rounds[f"{name}, {streams} streams, {gap * 1e3:g} ms: gap error p99"] = [
                        r.gap_p99 for r in all_rounds
                    ]
                    for kind, field in (("gap", "gap_p99"), ("schedule", "schedule_p99")):
                        curve = curves.setdefault(gap, {}).setdefault(f"{name}: {kind}", [])
                        curve.append((streams, _middle(all_rounds, field) * 1e3))
                facts |= _facts(f"pacing {streams} {gap * 1e3:g}", taken)
    return Section(
        title=f"Pacing: streams of {effort.tokens} tokens, the first after {effort.ttft * 1e3:g} ms",
        about=(
            "All streams run at once; their starts are spread evenly over the duration of one stream. The error of a "
            "gap is its difference from the requested gap. The schedule error of a token is its difference from "
            "request + TTFT + k gaps, which includes the way of the request and any drift. Times are those at which "
            "the kernel received the data. The bare loop is uvicorn and uvloop with a coroutine per stream that "
            "sleeps until each token is due."
        ),
        columns=("", "gap ms", "streams", "gap error p50 ms", "p99", "schedule error p50 ms", "p99", "drift", "client"),
        rows=tuple(rows),
        facts=facts,
        rounds=rounds,
        charts=_charts(curves),
    )


def _compare(effort: Effort, gap: float, streams: int, address: Address, base: Address) -> dict[str, list[Precision]]:
    wanted = Pace(effort.ttft, gap, effort.tokens, questions.BEFORE)
    plainly = Pace(effort.ttft, gap, effort.tokens)
    paced = request("/paced", {"ttft": effort.ttft, "itl": gap, "events": effort.tokens})
    runs = {
        _PRODUCT: partial(pace, address, questions.stream(effort.tokens), wanted, streams, effort.seconds),
        _BARE: partial(pace, base, paced, plainly, streams, effort.seconds),
    }
    return alternate(runs, effort.pacing_rounds)


def _middle(rounds: Sequence[Precision], field: str) -> float:
    return float(median(getattr(one, field) for one in rounds))


def _row(name: str, gap: float, streams: int, rounds: Sequence[Precision]) -> tuple[str, ...]:
    errors = (words.ms(_middle(rounds, field)) for field in _FIELDS)
    drift = words.drift(_middle(rounds, "drift"))
    return name, f"{gap * 1e3:g}", f"{streams:,}", *errors, drift, words.share(_middle(rounds, "share"))


def _facts(name: str, taken: dict[str, list[Precision]]) -> dict[str, float]:
    rounds = taken[_PRODUCT]
    gaps = {who: [one.gap_p99 for one in theirs] for who, theirs in taken.items()}
    return {
        f"{name} gap": _middle(rounds, "gap_p99"),
        f"{name} gap compared": ratio(gaps[_PRODUCT], gaps[_BARE]),
        f"{name} schedule": _middle(rounds, "schedule_p99"),
        f"{name} drift": abs(_middle(rounds, "drift")),
    }


def _charts(curves: dict[float, dict[str, list[Point]]]) -> tuple[Chart, ...]:
    return tuple(
        Chart(
            name=f"pacing-{gap * 1e3:g}ms",
            title=f"Error of events against streams, {gap * 1e3:g} ms per token (p99)",
            x="streams at once",
            y="error, ms",
            series={name: tuple(points) for name, points in series.items()},
            log="xy",
        )
        for gap, series in curves.items()
    )
