"""Workers: the throughput of one process and of two, and whether their answers are the same."""

import json
from functools import partial
from statistics import median
from typing import Any

from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Address, load
from tests.bench.machine import unpin
from tests.bench.rounds import alternate, ratio
from tests.bench.section import Section
from tests.bench.servers import ask, product
from tests.bench.wire import NUMBER, again

_ONE, _TWO = "one process", "--workers 2"
# The number of connections for comparing answers; the system distributes them over the workers.
_COMPARED = 16
_FROZEN = ("--created", "1700000000")


def measure(effort: Effort) -> Section:
    """The rates of one process and of two on the same cores, and the number of answers that differ."""
    plain = questions.plain(effort.tokens)
    with product(plain, *_FROZEN, pin=unpin) as one, product(plain, *_FROZEN, "--workers", "2", pin=unpin) as two:
        differing = sum(_differs(one.address, two.address, effort, number) for number in range(_COMPARED))
        asked = {
            f"{kind}, {name}": partial(load, server.address, again(sent), effort.connections, effort.seconds)
            for kind, sent in (("plain", plain), ("stream", questions.stream(effort.tokens)))
            for name, server in ((_ONE, one), (_TWO, two))
        }
        taken = alternate(asked, effort.rounds)
    rates = {name: [each.requests for each in loads] for name, loads in taken.items()}
    gain = {kind: ratio(rates[f"{kind}, {_TWO}"], rates[f"{kind}, {_ONE}"]) for kind in ("plain", "stream")}
    rows = [
        (name, words.rate(median(rates[name])), words.share(median(each.share for each in taken[name])))
        for name in rates
    ]
    return Section(
        title="Workers",
        about=(
            "No process is pinned: two workers and the client share the machine, so on two cores the gain is a lower "
            f"bound. {_COMPARED} prompts are sent to both servers, each on its own connection, and the answers are "
            "compared byte by byte."
        ),
        columns=("", "answers/s", "client"),
        rows=(*rows, ("answers that differ", f"{differing} of {_COMPARED}", "")),
        facts={"workers": gain["plain"], "workers stream": gain["stream"], "workers differing": float(differing)},
        rounds=rates,
    )


def _differs(one: Address, two: Address, effort: Effort, number: int) -> bool:
    sent = questions.plain(effort.tokens).replace(NUMBER.encode(), b"%09d" % number)
    return bool(_answer(one, sent) != _answer(two, sent))


def _answer(address: Address, sent: bytes) -> Any:
    return json.loads(ask(address, sent))
