"""`response_format`, which only the newer server reads: a JSON Schema, or a structural tag (vendor note 6).

The engine knows more tags than are simulated. What it cannot use "is dropped silently, the request still runs", and so
are tags that are not simulated.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.generation import Constraint
from mockserver.model.schema import schema_fault

Form = Mapping[str, Any]


def read_format(form: Form) -> Constraint | None:
    """The constraint of a format; None if any text will do."""
    tag = form.get("format") if form.get("type") == "structural_tag" else _flattened(form)
    if not isinstance(tag, Mapping):
        return None
    return _schema(tag) if tag.get("type") == "json_schema" else _matched(tag)


def _flattened(form: Form) -> Form:
    """The vendor's format as a tag: the schema replaces the object of name and schema."""
    asked = form.get("json_schema")
    return {**form, "json_schema": asked.get("schema")} if isinstance(asked, Mapping) else form


def _schema(tag: Form) -> Constraint | None:
    schema = tag.get("json_schema")
    return None if schema is None or schema_fault(schema) else Constraint("json_schema", schema)


def _matched(tag: Form) -> Constraint | None:
    """The constraint of a tag that a regular expression can express."""
    pattern = _pattern(tag)
    if pattern is None:
        return None
    # Imported with the first pattern: most servers never see one.
    from mockserver.model.regex import fault_in

    return None if fault_in(pattern) else Constraint("regex", pattern)


def _pattern(tag: object) -> str | None:
    kind = tag.get("type") if isinstance(tag, Mapping) else None
    return _PATTERNS[kind](tag) if isinstance(kind, str) and kind in _PATTERNS else None


def _constant(tag: Any) -> str | None:
    value = tag.get("value")
    return re.sub(r"[\\.^$|?*+()\[\]{}]", r"\\\g<0>", value) if isinstance(value, str) else None


def _regex(tag: Any) -> str | None:
    pattern = tag.get("pattern")
    return f"(?:{pattern})" if isinstance(pattern, str) else None


def _elements(tag: Any, between: str) -> str | None:
    """The patterns of all elements in one; None if one of them is not a pattern, or if there are none."""
    elements = tag.get("elements")
    found = list(map(_pattern, elements)) if isinstance(elements, list) else []
    known = [pattern for pattern in found if pattern is not None]
    return f"(?:{between.join(known)})" if known and len(known) == len(found) else None


_PATTERNS: Mapping[str, Callable[[Any], str | None]] = {
    "const_string": _constant,
    "regex": _regex,
    "or": lambda tag: _elements(tag, "|"),
    "sequence": lambda tag: _elements(tag, ""),
}
