"""Whether texts match patterns, as a validator has it."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jsonschema_rs


@lru_cache(maxsize=512)
def matcher(patterns: Sequence[str], no_patterns: Sequence[str] = ()) -> Callable[[Any], bool] | None:
    """Whether a text matches all of some patterns and none of others; None where there are none at all."""
    if not patterns and not no_patterns:
        return None
    wanted = [{"pattern": pattern} for pattern in patterns]
    unwanted = [{"not": {"pattern": pattern}} for pattern in no_patterns]
    try:
        return jsonschema_rs.Draft202012Validator({"allOf": [*wanted, *unwanted]}).is_valid
    except ValueError:
        return lambda text: True
