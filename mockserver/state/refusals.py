"""Refusals in the vendor's words, and the headers of every answer."""

from math import ceil

import orjson

from mockserver.core.failures import Rejection
from mockserver.core.generation import GenerationRequest
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Frames, RawHeaders, Reply
from mockserver.state.context import RequestContext


def refuse(rejection: Rejection, context: RequestContext, request: GenerationRequest | None = None) -> Reply:
    """The vendor's refusal, with all its headers; in its words for streams if the request asks for one."""
    row = context.route.dialect.errors[context.site.edition][rejection.kind]
    streams = rejection.streamed or (request is not None and request.output.stream and rejection.status is None)
    streamed = streams and row.streamed is not None
    if streams and row.streamed is not None:
        row = row.streamed
    body = row.body(rejection, rejection.message or row.message)
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    resets = tuple((name, b"%d" % ceil(context.site.now + seconds)) for name, seconds in row.resets)
    headers: RawHeaders = ((b"content-type", row.content_type), *row.headers, *resets, *rejection.headers)
    if row.status == 405:
        headers = (*headers, (b"allow", ", ".join(context.route.allowed).encode()))
    reply = Reply(rejection.status or row.status, headers, (Frames((data,), (0,), (0,)),), streamed)
    reply = with_headers(reply, context._replace(site=context.site._replace(refused=rejection.kind)))
    # Counted limits, which come last, replace the examples in the vendor's error table.
    return reply._replace(headers=tuple(dict(reply.headers).items()))


def with_headers(reply: Reply, context: RequestContext) -> Reply:
    """The reply with the headers of every answer: the vendor's, and our own."""
    status, headers, frames, streamed, orders = reply
    headers = (*headers, *context.route.dialect.headers(context.call, context.site))
    if not context.settings.strict:
        headers = (
            *headers,
            (b"x-mockserver-request-id", hex_digits(context.site.identity, 16, "request").encode()),
            (b"x-mockserver-seed", b"%d" % context.site.seed),
        )
    return Reply(status, headers, frames, streamed, orders)
