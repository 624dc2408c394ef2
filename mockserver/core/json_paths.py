"""Places in a JSON value, in a subset of JSONPath: `$.messages[0].content`, `messages[-1]['role']`, `$.tools[*].type`.

The subset has keys, indexes (negative ones count from the end), and `[*]` for every item.
"""

import re
from collections.abc import Iterable, Iterator

from mockserver.core.naming import shortened

# The steps to a place: keys, indexes, and EVERY.
Path = tuple[str | int | None, ...]
EVERY = None

_STEP = re.compile(r"""\.?(?P<key>[^.\[\]'"\s$][^.\[\]'"]*)|\[(?P<index>-?\d{1,9})\]|\[(?P<every>\*)\]"""
                   r"""|\[(?:'(?P<single>[^']*)'|"(?P<double>[^"]*)")\]""")  # fmt: skip


def read_path(text: str) -> Path:
    """Parse a path; the leading `$` may be omitted. Raises ValueError."""
    at, steps = int(text.startswith("$")), []
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or (at == 1 and text[0] == "$" and text[1] not in ".["):
            raise ValueError(
                f"{shortened(text)} is not a path such as '$.messages[0].content': cannot read {shortened(text[at:])}"
            )
        steps.append(_step(step))
        at = step.end()
    return tuple(steps)


def _step(step: re.Match[str]) -> str | int | None:
    if step["every"]:
        return EVERY
    if step["index"]:
        return int(step["index"])
    return next(key for key in (step["key"], step["single"], step["double"]) if key is not None)


def values_at(path: Path, value: object) -> list[object]:
    """The values at a place: none if there is no such place, several if the path has `[*]`."""
    found: Iterable[object] = (value,)
    for step in path:
        found = [inner for outer in found for inner in _inside(outer, step)]
    return list(found)


def _inside(value: object, step: str | int | None) -> Iterator[object]:
    if step is EVERY and isinstance(value, list | dict):
        yield from value.values() if isinstance(value, dict) else value
    elif isinstance(step, str):
        if isinstance(value, dict) and step in value:
            yield value[step]
    elif step is not EVERY and isinstance(value, list) and -len(value) <= step < len(value):
        yield value[step]
