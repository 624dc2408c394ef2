"""Credentials: QStash accepts its token as a bearer key, or in the query (vendor note B1)."""

from mockserver.core.calls import Call
from mockserver.dialects.openai_style.fields import bearer


def token(call: Call) -> str | None:
    """The QStash token of a call; None if it has none."""
    return bearer(call) or call.query_value("qstash_token") or None
