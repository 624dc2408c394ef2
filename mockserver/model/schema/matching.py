"""Whether texts match patterns, as a validator has it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jsonschema_rs

from mockserver.core.caches import Cache
from mockserver.model.regex.sizes import size_of
from mockserver.model.schema.bounds import MOST_FOLLOWED
from mockserver.model.schema.documents import PATTERNS

# The bytes of a validator, roughly: of every one, and for each state of its patterns.
_LEAST, _STATE = 8_000, 200
# So many bytes of validators are kept: enough for all patterns of the largest schema, which are tried again and again.
_matchers: Cache[tuple[Sequence[str], Sequence[str]], Callable[[Any], bool]] = Cache(16 * 2**20)


def matcher(patterns: Sequence[str], no_patterns: Sequence[str] = ()) -> Callable[[Any], bool] | None:
    """Whether a text matches all of some patterns and none of others; None where there are none at all."""
    if not patterns and not no_patterns:
        return None
    key = tuple(patterns), tuple(no_patterns)
    known = _matchers.find(key)
    if known is None:
        known = _made(*key)
        _matchers.keep(
            key, known, _LEAST + _STATE * sum(size_of(pattern).states for pattern in (*patterns, *no_patterns))
        )
    return known


def longest_searched(patterns: Iterable[str]) -> int:
    """The characters of the longest text in which patterns can be searched for soon."""
    return MOST_FOLLOWED // max(sum(size_of(pattern).loose for pattern in patterns), 1)


def _made(patterns: Sequence[str], no_patterns: Sequence[str]) -> Callable[[Any], bool]:
    wanted = [{"pattern": pattern} for pattern in patterns]
    unwanted = [{"not": {"pattern": pattern}} for pattern in no_patterns]
    try:
        made = jsonschema_rs.Draft202012Validator({"allOf": [*wanted, *unwanted]}, pattern_options=PATTERNS)
    except ValueError:
        return lambda text: True
    # A text that would take too long to be searched counts as one that does not match.
    longest = longest_searched((*patterns, *no_patterns))
    return lambda text: len(text) <= longest and made.is_valid(text)
