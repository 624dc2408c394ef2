"""Values that a prompt states as pairs: `city=San Francisco, state=CA, temp=60`."""

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

# How many characters of a text are searched, and how many pairs are taken.
_SEARCHED = 20_000
_MOST = 50

# A value in quotes, or one without brackets, which would be code, up to what ends it.
_VALUE = r""""[^"\n]{0,200}"|'[^'\n]{0,200}'|[^\s,;=&"'(){}\[\]<>][^,;\n=&(){}\[\]<>]{0,200}?"""
_END = r"(?=\s*(?:[,;\n]|\.?\s*$|\.\s|\s(?:and|и)\s+\w+\s?=))"
_PAIR = re.compile(rf"(?<![\w.$?&])([^\W\d]\w{{0,40}})\s?=\s?({_VALUE}){_END}")
# What is between two pairs of a list.
_BETWEEN = re.compile(r"\s*[,;\n]\s*(?:(?:and|и)\s+)?|\s+(?:and|и)\s+")


def stated_pairs(text: str) -> Mapping[str, Any]:
    """The values that a text states by `name=value`, if it lists at least two such pairs; the first list counts.

    Numbers, true, false and null have their JSON types; all other values are strings.
    """
    found: dict[str, Any] = {}
    end = None
    for pair in _PAIR.finditer(text[:_SEARCHED]) if "=" in text else ():
        if end is not None and not _BETWEEN.fullmatch(text, end, pair.start()):
            if len(found) > 1:
                break
            found = {}
        found[pair[1]] = _value(pair[2])
        end = pair.end()
        if len(found) == _MOST:
            break
    return found if len(found) > 1 else {}


def _value(written: str) -> Any:
    if written[0] in "\"'":
        return written[1:-1]
    try:
        value = json.loads(written)
    except ValueError:
        return written
    return value if value is None or isfinite(value) else written
