"""How messages word unknown names (with the nearest known one), values (shortened) and counts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

# How similar two names must be to count as near, 1 being equal: `rst` is near `reset`, `server` is not near `seed`.
_NEAR = 0.7
# How like a path that is served another is that is taken for a slip.
MISSPELT = 0.92
# A prefix of a name counts as near from this many letters on: `after` is near `after_event`.
_PREFIX = 3
# How many characters of a value are shown at most.
_MOST_SHOWN = 160
_NONE: Mapping[str, str] = MappingProxyType({})
# What other tools and vendors call the things that our files and functions have names for.
_OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("content", "message", "messages", "text", "user"), ("last_user", "text")),
    **dict.fromkeys(("answer", "respond", "response", "return", "returns"), ("reply",)),
    **dict.fromkeys(("args", "input", "parameters"), ("arguments",)),
    **dict.fromkeys(("api_key", "api_keys", "token"), ("key", "auth")),
    **dict.fromkeys(("delay", "timeout", "sleep"), ("latency",)),
    **dict.fromkeys(("request", "when", "where"), ("match",)),
    **dict.fromkeys(("url", "uri", "endpoint"), ("path",)),
    **dict.fromkeys(("probability", "chance", "percentage", "rate"), ("share",)),
    **dict.fromkeys(("scenario", "scenarioname", "requiredscenariostate", "state", "sequence", "steps"), ("script",)),
    **dict.fromkeys(("count", "max_uses", "once", "uses"), ("times",)),
    **dict.fromkeys(("n", "candidates", "completions"), ("choices",)),
    "function": ("name", "tool"),
}
# All words of a name but the last.
_FIRST_WORDS = re.compile(r".*[-_. ]")


def unknown_name(what: str, name: object, known: Iterable[object], synonyms: Mapping[str, str] = _NONE) -> str:
    """An error message that suggests a known name, the nearest or one of the `synonyms`, and lists all of them."""
    names = [str(each) for each in known]
    near = None
    if isinstance(name, str) and len(name) <= _MOST_SHOWN:
        word = name.lower().lstrip("-").replace("-", "_")
        others = (each for each in _OTHER_WORDS.get(word, ()) if each in names)
        near = synonyms.get(word) or next(others, None) or _nearest(name, names)
    meant = f" Did you mean {near!r}?" if near else ""
    return f"unknown {what} {short_repr(name)}.{meant} Known: {', '.join(names) or 'none'}"


class WithHints:
    """A base of classes that tests use: the error about an unknown attribute names the nearest ones, and all of them.

    Python suggests names only for errors that nobody catches, and a runner of tests catches them all.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                # A property that has raised an AttributeError of its own raises it again.
                return object.__getattribute__(self, name)
            known = [each for each in dir(self) if not each.startswith("_")]
            raise AttributeError(
                f"{type(self).__name__}: {unknown_name('attribute', name, known)}", name=name, obj=self
            )


def short_repr(value: object) -> str:
    """The `repr` of a value, cut where it is long."""
    if isinstance(value, str) and len(value) > _MOST_SHOWN:
        # The quotes count.
        return f"{repr(value[:_MOST_SHOWN])[:_MOST_SHOWN]}... ({len(value) + 2} characters)"
    try:
        text = repr(value)
    except RecursionError:
        return "a value that is nested too deeply"
    except ValueError:
        # An integer of more digits than Python writes.
        return "a number of too many digits"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}... ({len(text)} characters)"


def shortened(text: str, most: int = _MOST_SHOWN) -> str:
    """A text, cut where it is longer than so many characters."""
    return text if len(text) <= most else f"{text[:most]}..."


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, as `1 stub` and `2 stubs`; the plural of the noun may be irregular."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """The nearest of some names, None if none is near. A prefix that all of them share does not count."""
    lowered = [each.lower() for each in (name, *names)]
    # What the alphabetically first and last names have in common, all have.
    same = takewhile(lambda pair: pair[0] == pair[1], zip(min(lowered), max(lowered), strict=False))
    shared = _FIRST_WORDS.match("".join(letter for letter, _ in same))
    wanted, *rest = (each[shared.end() if shared is not None else 0 :] for each in lowered)
    near = get_close_matches(wanted, rest, 1, _NEAR)
    longer = (each for each in rest if len(wanted) >= _PREFIX and each.startswith(wanted))
    found = near[0] if near else next(longer, None)
    return None if found is None else names[rest.index(found)]
