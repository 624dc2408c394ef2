"""What a request asks of the writer of responses alone."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class ResponseOptions(NamedTuple):
    """The fields of the request that its answer repeats, whether thoughts are summarised, and the query with which the
    service searches the web before the model answers, if it does."""

    body: Mapping[str, Any]
    summary: bool
    query: str | None = None
