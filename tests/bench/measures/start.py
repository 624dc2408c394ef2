"""Start: from the start of the process to the first 200."""

from statistics import median

from tests.bench import questions
from tests.bench.effort import Effort
from tests.bench.rounds import alternate
from tests.bench.section import Section
from tests.bench.servers import bare, product

_PRODUCT, _BARE = "mockserver serve", "bare uvicorn + Starlette"


def measure(effort: Effort) -> Section:
    """The time that a server takes to start, including Python's own start."""
    plain, probe = questions.plain(effort.tokens), questions.bare_plain(effort.tokens)

    def started() -> float:
        with product(plain) as server:
            return server.first_answer

    def started_bare() -> float:
        with bare(probe, (b"{}", b"data: {}\n\n")) as server:
            return server.first_answer

    taken = alternate({_PRODUCT: started, _BARE: started_bare}, effort.starts)
    return Section(
        title="From start to the first 200",
        about="From the start of the process, Python's own included, to the end of the first answer with status 200.",
        columns=("", "median s", "best s", "worst s"),
        rows=tuple((name, f"{median(it):.3f}", f"{min(it):.3f}", f"{max(it):.3f}") for name, it in taken.items()),
        facts={"first answer": median(taken[_PRODUCT]), "first answer bare": median(taken[_BARE])},
        rounds=taken,
    )
