"""Keep-alive: one request after the other on one connection, on each event loop and with workers."""

from contextlib import ExitStack
from functools import partial
from statistics import median

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import load
from tests.bench.machine import unpin
from tests.bench.rounds import alternate, excess
from tests.bench.section import Section
from tests.bench.servers import bare, on_loop, product
from tests.bench.wire import again

# The name of each measured product, and of the bare server that it is compared with.
_PAIRS = {"uvloop": "bare uvloop", "asyncio": "bare asyncio", "workers": "bare uvloop"}


def measure(effort: Effort) -> Section:
    """The median latency of a plain answer, and its excess over that of a bare server on the same loop."""
    plain, probe = questions.plain(effort.tokens), questions.bare_plain(effort.tokens)
    with ExitStack() as stack:
        servers = {loop: stack.enter_context(on_loop(plain, loop)) for loop in ("uvloop", "asyncio")}
        servers["workers"] = stack.enter_context(product(plain, "--workers", "2", pin=unpin))
        answers = questions.answers(servers["uvloop"].address, effort.tokens)
        for loop in ("uvloop", "asyncio"):
            servers[f"bare {loop}"] = stack.enter_context(bare(probe, answers, loop))
        requests = {name: probe if name.startswith("bare") else plain for name in servers}
        runs = {
            name: partial(load, server.address, again(requests[name]), 1, effort.seconds)
            for name, server in servers.items()
        }
        taken = alternate(runs, effort.rounds)
    middle = {name: [one.p50 for one in loads] for name, loads in taken.items()}
    more = {name: excess(middle[name], middle[base]) for name, base in _PAIRS.items()}
    return Section(
        title="Keep-alive: one connection",
        about="One plain answer after the other. With two workers no process is pinned: that figure is the roughest.",
        columns=("", "p50 ms", "p99 ms", "above bare, ms"),
        rows=tuple(
            (
                name if name.startswith("bare") else f"mockserver, {name.replace('workers', '--workers 2')}",
                words.ms(median(middle[name])),
                words.ms(median(one.p99 for one in taken[name])),
                words.ms(more[name]) if name in more else "",
            )
            for name in taken
        ),
        facts={f"keep-alive {name}": value for name, value in more.items()},
        rounds=middle,
    )
