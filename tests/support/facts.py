"""Facts of a request as a test states them, to which criteria are applied."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.json_values import Path, values_at


class Given:
    """Facts from the values of fields; those of the body, of headers and of the query are found by their path."""

    def __init__(self, body: object = None, **fields: Any) -> None:
        self._body = body
        self._fields = fields

    def values(self, field: str, path: Path) -> Sequence[object]:
        if field == "body":
            return values_at(path, self._body)
        if field in ("headers", "query"):
            found: Mapping[Any, str] = self._fields.get(field, {})
            return [found[path[0]]] if path[0] in found else []
        value = self._fields.get(field)
        return value if isinstance(value, list) else [] if value is None else [value]
