"""Refusals in the vendor's words, and the headers of every answer."""

from math import ceil

import orjson

from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import FrameBatch, RawHeaders, Reply
from mockserver.state.context import RequestContext


def refuse(refusal: Refusal, context: RequestContext, request: GenerationRequest | None = None) -> Reply:
    """The vendor's refusal, with all its headers; in its words for streams if the request asks for one."""
    row = context.route.dialect.error(context.scope.edition, refusal.kind)
    streams = refusal.streamed or (request is not None and request.output.stream and refusal.status is None)
    streamed = streams and row.streamed is not None
    if streams and row.streamed is not None:
        row = row.streamed
    refusal = refusal._replace(identity=context.scope.identity, call=context.call)
    body = row.body(refusal, refusal.message or row.message)
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    resets = tuple((name, b"%d" % ceil(context.scope.now + seconds)) for name, seconds in row.resets)
    headers: RawHeaders = ((b"content-type", row.content_type), *row.headers, *resets, *refusal.headers)
    if row.status == 405:
        headers = (*headers, (b"allow", ", ".join(context.route.allowed).encode()))
    reply = Reply(refusal.status or row.status, headers, (FrameBatch((data,), (0,), (0,)),), streamed)
    reply = with_headers(reply, context._replace(scope=context.scope._replace(refused=refusal.kind)))
    # Counted limits, which come last, replace the examples in the vendor's error table.
    return reply._replace(headers=tuple(dict(reply.headers).items()))


def with_headers(reply: Reply, context: RequestContext) -> Reply:
    """The reply with the headers of every answer: the vendor's, and our own."""
    status, headers, frames, streamed, orders = reply
    headers = (*headers, *context.route.dialect.headers(context.call, context.scope))
    if not context.settings.strict:
        headers = (
            *headers,
            (b"x-mockserver-request-id", hex_digits(context.scope.identity, 16, "request").encode()),
            (b"x-mockserver-seed", b"%d" % context.scope.seed),
        )
        if context.route.chosen_by:
            chosen = f"{context.route.dialect.name}; by={context.route.chosen_by}"
            headers = (*headers, (b"x-mockserver-dialect", chosen.encode()))
    return Reply(status, headers, frames, streamed, orders)
