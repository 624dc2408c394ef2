"""A long prompt: how long it holds the event loop while others stream, and whether its tokens are counted exactly."""

import json
import threading
from collections.abc import Mapping
from statistics import median

from mockserver.model.tokens import count
from tests.bench import questions, words
from tests.bench.effort import Effort
from tests.bench.load import Address
from tests.bench.pacing import Pace, Precision, pace
from tests.bench.rounds import alternate
from tests.bench.section import Section
from tests.bench.servers import ask, product
from tests.bench.wire import NUMBER

_QUIET, _BESIDE = "streams alone", "beside long prompts"
# With so many streams and such gaps, a token of one of them is due eight times per millisecond.
_STREAMS, _GAP = 8, 0.001
# How many long prompts are sent while the streams are running.
_PROMPTS = 3


def measure(effort: Effort) -> Section:
    """The longest time in which none of several dense streams got a token, and the error of the token count."""
    plain = questions.plain(effort.tokens)
    tokens = max(50, int(effort.seconds / _GAP / 2))
    with product(plain, "--latency", f"ttft=1ms, itl={_GAP * 1e3:g}ms") as server:
        stream = questions.stream(tokens)
        wanted = Pace(0.001, _GAP, tokens, questions.BEFORE)

        def alone() -> Precision:
            return pace(server.address, stream, wanted, _STREAMS, effort.seconds)

        numbers = iter(range(1, 1 << 30))

        def beside() -> Precision:
            long = [_long(effort, next(numbers)) for _ in range(_PROMPTS)]
            sender = threading.Timer(wanted.length + effort.seconds / 4, lambda: _send(server.address, long))
            sender.start()
            try:
                return alone()
            finally:
                sender.join()

        taken = alternate({_QUIET: alone, _BESIDE: beside}, effort.rounds)
        error = _count_error(server.address, effort)
    return _section(taken, error, effort)


def _section(taken: Mapping[str, list[Precision]], error: float, effort: Effort) -> Section:
    longest = {name: [one.longest for one in rounds] for name, rounds in taken.items()}
    return Section(
        title=f"A prompt of {effort.long_prompt:,} characters beside {_STREAMS} streams",
        about=(
            f"{_STREAMS} streams at {_GAP * 1e3:g} ms per token, so that some stream is due every "
            f"{_GAP / _STREAMS * 1e3:.3f} ms. The longest time in which none of them got a token shows how long the "
            "event loop was blocked (or the machine was busy: see the streams alone). All long prompts differ; "
            "`usage.prompt_tokens` is compared with the tokenizer's count of the whole text."
        ),
        columns=("", "longest silence, ms: median", "worst", "gap error p99 ms"),
        rows=(
            *(
                (name, words.ms(median(longest[name])), words.ms(max(longest[name])), _gap(rounds))
                for name, rounds in taken.items()
            ),
            ("tokens miscounted", f"{error:g}", "", ""),
        ),
        facts={"block": median(longest[_BESIDE]), "block quiet": median(longest[_QUIET]), "count error": error},
        rounds=longest,
    )


def _gap(rounds: list[Precision]) -> str:
    return words.ms(median(one.gap_p99 for one in rounds))


def _long(effort: Effort, number: int) -> bytes:
    return questions.long(effort.long_prompt).replace(NUMBER.encode(), b"%09d" % number)


def _send(address: Address, requests: list[bytes]) -> None:
    for sent in requests:
        ask(address, sent)


def _count_error(address: Address, effort: Effort) -> float:
    """By how many tokens a long prompt is miscounted; a short one shows how many the engine adds to any prompt."""
    long, short = (
        json.loads(ask(address, questions.unbounded(prompt)))["usage"]["prompt_tokens"] - count(prompt)
        for prompt in (questions.long_text(effort.long_prompt), "A bridge")
    )
    return float(abs(long - short))
