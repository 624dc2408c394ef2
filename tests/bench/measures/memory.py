"""Memory: after the start, with a full journal, and many requests later."""

from tests.bench import questions
from tests.bench.effort import Effort
from tests.bench.load import Address, Group, ask_so_often
from tests.bench.section import Chart, Section
from tests.bench.servers import bare, product
from tests.bench.wire import numbered
from tests.bench.words import mb


def measure(effort: Effort) -> Section:
    """The memory of a server, its growth, and what a full journal adds."""
    rows, facts = _growth(effort)
    sizes = tuple((float(journal), _full(effort, journal)) for journal in effort.journals)
    rows += [(f"mockserver, a full journal of {int(journal):,}", mb(held), "") for journal, held in sizes]
    chart = Chart(
        name="memory",
        title="Memory against the size of the journal",
        x="exchanges that the journal keeps",
        y="memory, MB",
        series={"mockserver, the journal full": sizes},
        log="x",
    )
    return Section(
        title="Memory",
        about=(
            "Resident memory of the server's process. Each prompt is new. Growth is counted from when the journal "
            "(by default 1,000 exchanges) is full."
        ),
        columns=("", "MB", "growth MB"),
        rows=tuple(rows),
        facts=facts,
        charts=(chart,),
    )


def _growth(effort: Effort) -> tuple[list[tuple[str, ...]], dict[str, float]]:
    plain, probe = questions.plain(effort.tokens), questions.bare_plain(effort.tokens)
    bound = min(2_000, effort.asked)
    with bare(probe, (b"{}", b"data: {}\n\n")) as base:
        least = base.memory()
    with product(plain) as server:
        start = server.memory()
        _ask(server.address, plain, bound, effort, 0)
        full = server.memory()
        _ask(server.address, plain, effort.asked, effort, bound)
        end = server.memory()
    rows: list[tuple[str, ...]] = [
        ("bare Starlette + orjson, after start", mb(least), ""),
        ("mockserver, after start", mb(start), ""),
        (f"mockserver, after {bound:,} requests (journal full)", mb(full), mb(full - start)),
        (f"mockserver, after {effort.asked:,} more", mb(end), mb(end - full)),
    ]
    return rows, {"memory start": start, "memory growth": end - full}


def _full(effort: Effort, journal: int) -> float:
    """The memory of a server whose journal of so many exchanges has been full for a while."""
    plain = questions.plain(effort.tokens)
    with product(plain, "--journal", str(journal)) as server:
        _ask(server.address, plain, journal + journal // 5 + 1, effort, 0)
        return server.memory()


def _ask(address: Address, plain: bytes, times: int, effort: Effort, first: int) -> None:
    ask_so_often(address, Group(effort.connections, numbered(plain, first)), times)
