"""Messages for names that are not known, and values in messages."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

# The least similarity of near names, 1 being equal: `rst` is near to `reset`, and `server` is not to `seed`.
_NEAR = 0.7
# The beginning of a longer name is near to it from so many letters on: `after` is near to `after_event`.
_PREFIX = 3
# No more of a value than this many characters is shown.
_MOST_SHOWN = 160
# The words that a name begins with.
_FIRST_WORDS = re.compile(r".*[-_. ]")


def unknown(what: str, name: object, known: Iterable[object]) -> str:
    """A sentence that names the nearest of the known names, and all of them."""
    names = [str(each) for each in known]
    near = _nearest(str(name), names)
    return f"unknown {what} {name!r}.{f' Did you mean {near!r}?' if near else ''} Known: {', '.join(names)}"


def close_matches(name: str, names: Sequence[str], count: int, likeness: float) -> list[str]:
    """The names that are most like one, so many at the most and so much alike (1 is equal), the likest first."""
    # Imported with the first mistake that somebody makes.
    from difflib import get_close_matches

    return get_close_matches(name, names, count, likeness)


def shortened(value: object) -> str:
    """A value as Python writes it, or its beginning where it is long."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} characters)"


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """The nearest of some names, None where none is near. What all of them begin with makes none of them nearer."""
    lowered = [each.lower() for each in (name, *names)]
    # What the first and the last of them by the alphabet have in common, all have.
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(lowered), max(lowered), strict=False))
    shared = _FIRST_WORDS.match("".join(letter for letter, _ in same))
    wanted, *rest = (each[shared.end() if shared is not None else 0 :] for each in lowered)
    near = close_matches(wanted, rest, 1, _NEAR)
    longer = (each for each in rest if len(wanted) >= _PREFIX and each.startswith(wanted))
    found = near[0] if near else next(longer, None)
    return None if found is None else names[rest.index(found)]
