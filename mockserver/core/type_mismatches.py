"""Whether values are of the types that they are declared with, for tables that are written by others."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_NOUNS = {tuple: "a tuple", Mapping: "a mapping", Callable: "a function", re.Pattern: "a compiled pattern"}
# The most characters of a value that are told.
_LONGEST = 80


def mismatches(value: object, hint: Any, place: str = "") -> Iterator[str]:
    """Where a value is not of a type: `models[0] is 'm-1', not a Model`.

    The members of named tuples are looked at, and those of tuples and mappings; of functions only that they are any.
    """
    kind, arguments = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        found = [[*mismatches(value, each, place)] for each in arguments]
        yield from () if [] in found else found[0]
    elif kind is Literal:
        if value not in arguments:
            yield f"{place} is {_shown(value)}, not one of {', '.join(map(repr, arguments))}"
    elif not _is_a(value, kind, arguments):
        named = _NOUNS.get(kind) or f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
        yield f"{place or 'it'} is {_shown(value)}, not {named}"
    elif hasattr(kind, "_fields"):
        for name, each in get_type_hints(kind).items():
            yield from mismatches(getattr(value, name), each, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, Mapping) and arguments:
        for key, each in value.items():
            yield from mismatches(key, arguments[0], f"a key of {place}")
            yield from mismatches(each, arguments[1], f"{place}[{_shown(key)}]")
    elif isinstance(value, tuple) and arguments:
        hints = arguments[:1] * len(value) if arguments[-1] is ... else arguments
        if len(hints) != len(value):
            yield f"{place} has {len(value)} members, not {len(hints)}"
        for index, (each, own) in enumerate(zip(value, hints, strict=False)):
            yield from mismatches(each, own, f"{place}[{index}]")


def _is_a(value: object, kind: Any, arguments: Sequence[Any]) -> bool:
    if kind is Callable:
        return callable(value)
    if kind is re.Pattern:
        return isinstance(value, re.Pattern) and isinstance(value.pattern, tuple(arguments))
    return kind in (Any, object) or isinstance(value, (int, float) if kind is float else kind)


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, str) and type(value) is not str else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
