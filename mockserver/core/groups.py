"""Named groups: what the regular expressions of criteria have found in a request, as `(?P<city>\\w+)` does."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mockserver.core.criteria import Criteria, Criterion, Facts

if TYPE_CHECKING:
    from mockserver.core.matchers import Matcher, Regex


def group_names(criteria: Criteria) -> tuple[str, ...]:
    """The names of all groups that a request may meet."""
    return tuple(dict.fromkeys(name for _, regex in _regexes(criteria) for name in regex.expression.group_names))


def groups_of(criteria: tuple[Criteria, ...], facts: Facts) -> Mapping[str, str]:
    """What the named groups have found in a request; of equal names the first that has found anything counts."""
    found: dict[str, str] = {}
    for each in criteria:
        for criterion, regex in _regexes(each):
            if regex.expression.group_names:
                for value in facts.values(criterion.field, criterion.path):
                    groups = regex.expression.groups(value) if isinstance(value, str) else {}
                    found = {**groups, **found}
    return found


def _regexes(criteria: Criteria) -> "Iterator[tuple[Criterion, Regex]]":
    """The regular expressions in criteria, but for those that a request must not match."""
    for criterion in criteria.criteria:
        for regex in _within(criterion.matcher):
            yield criterion, regex
    for each in (*criteria.all, *criteria.any):
        yield from _regexes(each)


def _within(matcher: "Matcher") -> "Iterator[Regex]":
    # Imported with the first criterion that somebody states.
    from mockserver.core.matchers import Every, Regex

    if isinstance(matcher, Regex):
        yield matcher
    elif isinstance(matcher, Every):
        for each in matcher.matchers:
            yield from _within(each)
