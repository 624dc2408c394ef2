"""What becomes of messages: `/v2/messages`, `/v2/events` and `/v2/logs`; and the keys that sign them, `/v2/keys`."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.filters import cursor, fits, page, query_of
from mockserver.dialects.upstash.qstash.replies import json_reply, mailbox_of
from mockserver.dialects.upstash.qstash.signing import signing_key
from mockserver.dialects.upstash.qstash.values import Cancel, RotateKeys
from mockserver.dialects.upstash.qstash.views import event_view, message_view

# "The number of events to return. Default and max is 1000."
_MOST_EVENTS = 1_000


def get_message(call: Call, site: Site) -> Reply | Rejection:
    """A message that is not delivered yet."""
    id = site.variables.get("messageId", "")
    message = mailbox_of(site).message(id)
    return refused(f"message {id} not found", 404) if message is None else json_reply(message_view(message))


def cancel_message(call: Call, site: Site) -> Reply | Rejection:
    """Cancel a message that is not delivered yet."""
    id = site.variables.get("messageId", "")
    if mailbox_of(site).message(id) is None:
        return refused(f"message {id} not found", 404)
    return json_reply({"cancelled": 1}, 202, orders=(Cancel((id,)),))


def cancel_messages(call: Call, site: Site) -> Reply | Rejection:
    """Cancel the messages that are named, or that pass the filters; all of them if there are neither."""
    query = query_of(call, "messageIds")
    if isinstance(query, Rejection):
        return query
    ids = tuple(each.id for each in mailbox_of(site).messages() if fits(each, each.created, query))
    return json_reply({"cancelled": len(ids)}, 202, orders=(Cancel(ids),))


def list_events(call: Call, site: Site) -> Reply | Rejection:
    """The log of all messages, latest first."""
    query = query_of(call)
    if isinstance(query, Rejection):
        return query
    states = query.get("state")
    events = [
        each
        for each in mailbox_of(site).events()
        if (states is None or each.state in states) and fits(each.message, each.time, query)
    ]
    found = page(events, query, _MOST_EVENTS)
    if isinstance(found, Rejection):
        return found
    return json_reply({**cursor(found[1]), "events": [event_view(each) for each in found[0]]})


def get_keys(call: Call, site: Site) -> Reply:
    """The signing keys."""
    current, following = mailbox_of(site).signing_keys
    return json_reply({"current": current, "next": following})


def rotate_keys(call: Call, site: Site) -> Reply:
    """Replace the current signing key with the next one, and the next one with a new one."""
    mailbox = mailbox_of(site)
    _, current = mailbox.signing_keys
    following = signing_key(mailbox.rotations + 2)
    return json_reply({"current": current, "next": following}, orders=(RotateKeys(),))
