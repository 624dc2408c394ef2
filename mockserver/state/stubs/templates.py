"""Templates with gaps that a request fills: `You said {{ last_user | upper }}, {{ body.user }}.`

A gap names a field of a request (as in criteria), a header (`headers.x-trace`), a parameter (`query.limit`), a path
into the body (`body.messages[0].content`), or a group of a regular expression that has matched (`groups.city`); if
there is no such value, it stays empty. FILTERS follow after bars. Inserted text is not searched for gaps, and nothing
is ever executed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from mockserver.core.caches import cache_short
from mockserver.core.json_values import Path, read_path
from mockserver.core.matching.requests import FIELDS, Facts
from mockserver.core.messages import short_repr, unknown_name

_GAP = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)

_GROUPS = "groups"
_NO_GROUPS: Mapping[str, str] = MappingProxyType({})

FILTERS: Mapping[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "json": lambda text: orjson.dumps(text).decode(),
}


class TemplateError(ValueError):
    """A template that is invalid; the message quotes its gap and says what would have been valid."""


# A gap: its field, the path into it, and its filters.
_Gap = tuple[str, Path, tuple[str, ...]]


@cache_short(256, 8_192)
def _read_template(text: str) -> tuple[str | _Gap, ...]:
    """The alternating texts and gaps of a template. Raises TemplateError."""
    parts = _GAP.split(text)
    for part in parts[::2]:
        if "{{" in part:
            raise TemplateError(f"{short_repr(part[part.index('{{') :])}: has no }}}} at its end")
    return tuple(_read_gap(part) if number % 2 else part for number, part in enumerate(parts))


def fill(value: Any, facts: Facts, groups: Mapping[str, str] = _NO_GROUPS) -> Any:
    """A value with the gaps in all of its strings filled, at any depth; keys are unchanged. Raises TemplateError."""
    if isinstance(value, str):
        parts = _read_template(value)
        return "".join(part if isinstance(part, str) else _filling(part, facts, groups) for part in parts)
    if isinstance(value, Mapping):
        return {key: fill(item, facts, groups) for key, item in value.items()}
    return [fill(item, facts, groups) for item in value] if isinstance(value, list | tuple) else value


def groups_in(value: Any) -> Iterator[str]:
    """The names of the groups in the gaps of all strings within a value. Raises TemplateError if one is no template."""
    if isinstance(value, str):
        gaps = (part for part in _read_template(value) if not isinstance(part, str))
        yield from (str(path[0]) for field, path, _ in gaps if field == _GROUPS)
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from groups_in(item)


def _read_gap(text: str) -> _Gap:
    name, *filters = (part.strip() for part in text.split("|"))
    for each in filters:
        if each not in FILTERS:
            raise TemplateError(f"{{{{{text}}}}}: {unknown_name('filter', each, FILTERS)}")
    if name in FIELDS:
        return name, (), tuple(filters)
    field, _, rest = name.partition(".")
    if field in ("headers", "query") and rest:
        return field, (rest.lower() if field == "headers" else rest,), tuple(filters)
    if field == _GROUPS and rest.isidentifier():
        return field, (rest,), tuple(filters)
    if re.match(r"body(?:\.\S|\[|\Z)", name):
        try:
            return "body", read_path(name.removeprefix("body").removeprefix(".")), tuple(filters)
        except ValueError as error:
            raise TemplateError(f"{{{{{text}}}}}: {error}") from None
    known = (*FIELDS, "headers.NAME", "query.NAME", "body.PLACE", "groups.NAME")
    raise TemplateError(f"{{{{{text}}}}}: {unknown_name('field', name, known)}")


def _filling(gap: _Gap, facts: Facts, groups: Mapping[str, str]) -> str:
    field, path, filters = gap
    if field == _GROUPS:
        text = groups.get(str(path[0]), "")
    else:
        values = facts.values(field, path)
        text = _text(values[0]) if values else ""
    for name in filters:
        text = FILTERS[name](text)
    return text


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
