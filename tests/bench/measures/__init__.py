"""The measures by name, in the order of the report. Each takes an effort and returns a section."""

from collections.abc import Callable

from tests.bench.effort import Effort
from tests.bench.measures import (
    growth,
    interference,
    keep_alive,
    long_prompt,
    memory,
    pacing,
    peers,
    schemas,
    start,
    suite,
    throughput,
    workers,
)
from tests.bench.section import Section

Measure = Callable[[Effort], Section]

MEASURES: dict[str, Measure] = {
    "throughput": throughput.measure,
    "pacing": pacing.measure,
    "start": start.measure,
    "suite": suite.measure,
    "memory": memory.measure,
    "long-prompt": long_prompt.measure,
    "schemas": schemas.measure,
    "interference": interference.measure,
    "keep-alive": keep_alive.measure,
    "workers": workers.measure,
    "growth": growth.measure,
    "peers": peers.measure,
}
