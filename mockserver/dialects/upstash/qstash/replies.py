"""Answers of QStash in JSON, and the mailbox that they are about."""

import orjson

from mockserver.core.dialects import Site
from mockserver.core.timeline import Frames, Reply
from mockserver.dialects.openai_style.bodies import JSON
from mockserver.dialects.upstash.qstash.mailbox import Mailbox


def mailbox_of(site: Site) -> Mailbox:
    """The messages of the namespace; none if there is no server, as for `mockserver plan`."""
    return site.outbox if isinstance(site.outbox, Mailbox) else Mailbox()


def json_reply(value: object, status: int = 200, orders: tuple[object, ...] = ()) -> Reply:
    """An answer of one JSON value."""
    headers = ((b"content-type", JSON),)
    return Reply(status, headers, (Frames((orjson.dumps(value),), (0,), (0,)),), orders=orders)


def empty_reply(*orders: object) -> Reply:
    """An answer without a body."""
    return Reply(200, (), (), orders=orders)
