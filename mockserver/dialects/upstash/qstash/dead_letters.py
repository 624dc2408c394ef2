"""`/v2/dlq`: the messages whose delivery has failed for good."""

from collections.abc import Iterable, Sequence
from itertools import chain

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.headers import by_name
from mockserver.core.seeding import derive
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.filters import Query, cursor, fits, page, query_of
from mockserver.dialects.upstash.qstash.options import HeaderError, read_wishes
from mockserver.dialects.upstash.qstash.replies import empty_reply, json_reply, mailbox_of
from mockserver.dialects.upstash.qstash.signing import digits
from mockserver.dialects.upstash.qstash.values import Dead, Publish, Unbury
from mockserver.dialects.upstash.qstash.views import dead_view

# How many dead letters a page has at most, and how many are published again by one request.
_MOST = 100


def list_dead(call: Call, site: Site) -> Reply | Rejection:
    """The dead letter queue, oldest first."""
    query = query_of(call, "dlqIds")
    if isinstance(query, Rejection):
        return query
    found = page(_dead(mailbox_of(site).dead(), query), query, _MOST)
    if isinstance(found, Rejection):
        return found
    return json_reply({"messages": [dead_view(each) for each in found[0]], **cursor(found[1])})


def get_dead(call: Call, site: Site) -> Reply | Rejection:
    """A dead letter."""
    dead = mailbox_of(site).dead_letter(site.variables.get("dlqId", ""))
    return _no_dead(site) if dead is None else json_reply(dead_view(dead))


def delete_dead(call: Call, site: Site) -> Reply | Rejection:
    """Remove a dead letter."""
    dead = mailbox_of(site).dead_letter(site.variables.get("dlqId", ""))
    return _no_dead(site) if dead is None else empty_reply(Unbury((dead.id,)))


def delete_dead_letters(call: Call, site: Site) -> Reply | Rejection:
    """Remove the dead letters that are named, or that pass the filters; all of them if there are neither."""
    query = query_of(call, "dlqIds")
    if isinstance(query, Rejection):
        return query
    ids = tuple(each.id for each in _dead(mailbox_of(site).dead(), query))
    return json_reply({"deleted": len(ids)}, orders=(Unbury(ids),))


def retry_dead(call: Call, site: Site) -> Reply | Rejection:
    """Publish a dead letter again, with the options of this request over its own."""
    dead = mailbox_of(site).dead_letter(site.variables.get("dlqId", ""))
    if dead is None:
        return _no_dead(site)
    orders = _again(call, site, [dead])
    if isinstance(orders, Rejection):
        return orders
    return json_reply({"messageId": orders[0][0].message.id}, 201, tuple(chain.from_iterable(orders)))


def retry_dead_letters(call: Call, site: Site) -> Reply | Rejection:
    """Publish again the dead letters that are named, or that pass the filters."""
    query = query_of(call, "dlqIds")
    if isinstance(query, Rejection):
        return query
    orders = _again(call, site, _dead(mailbox_of(site).dead(), query)[:_MOST])
    if isinstance(orders, Rejection):
        return orders
    answers = [{"messageId": publish.message.id} for publish, _ in orders]
    return json_reply({"responses": answers}, 201, tuple(chain.from_iterable(orders)))


def _again(call: Call, site: Site, dead: Sequence[Dead]) -> list[tuple[Publish, Unbury]] | Rejection:
    """The orders that publish dead letters again: "a new message with the same body and headers is created"."""
    fields, orders = by_name(call.headers.raw), []
    for each in dead:
        message, now = each.message, call.received_at
        try:
            wishes = read_wishes(fields, message.options)
        except HeaderError as error:
            return refused(str(error))
        identity = derive(site.identity, "again", each.id)
        again = message._replace(
            id=f"msg_{digits(63, identity, mailbox_of(site).copies(identity))}",
            options=wishes.options,
            created=now,
            due=now + wishes.options.delay,
            callback=wishes.callback or message.callback,
            failure_callback=wishes.failure_callback or message.failure_callback,
        )
        orders.append((Publish(again, identity), Unbury((each.id,))))
    return orders


def _dead(dead: Iterable[Dead], query: Query) -> list[Dead]:
    """The dead letters that are named, else those that pass the filters."""
    if "dlqIds" in query:
        return [each for each in dead if each.id in query["dlqIds"]]
    statuses = query.get("responseStatus")
    return [
        each
        for each in dead
        if fits(each.message, each.died, query) and (statuses is None or str(each.outcome.status or 0) in statuses)
    ]


def _no_dead(site: Site) -> Rejection:
    dlq_id = site.variables.get("dlqId", "")
    return refused(f"message with dlqId {dlq_id} not found", 404)
