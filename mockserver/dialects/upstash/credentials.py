"""Credentials: QStash accepts its token as a bearer key, or in the query (vendor note B1); and its signing keys."""

from mockserver.core.calls import Call
from mockserver.dialects.openai.fields import bearer

# The signing keys of every server, until they are rotated: what `signing_key` of `qstash.attempts` derives.
CURRENT_SIGNING_KEY = "sig_J9BNJtiDhVqnyKjufMecfjrriym4"
NEXT_SIGNING_KEY = "sig_rraZUTNS1hG6x1Jt9FBy6DWPa8tj"


def token(call: Call) -> str | None:
    """The QStash token of a call; None if it has none."""
    return bearer(call) or call.query_value("qstash_token") or None
