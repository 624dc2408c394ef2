"""`/v1/responses/{id}`: responses that are stored, which a client looks up, deletes or cancels."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.yandex.errors import fault
from mockserver.dialects.yandex.responses.shelf import Shelf, Stored
from mockserver.dialects.yandex.responses.write import written_plain

# "A limit on the number of objects to be returned. Limit can range between 1 and 100, and the default is 20."
_USUAL_PAGE, _LONGEST_PAGE = 20, 100


def get_response(call: Call, site: Site) -> Reply | Rejection:
    """A response as it is now: one in the background is in progress until its answer would have been complete."""
    found = _found(site)
    return found if isinstance(found, Rejection) else _shown(found, call, site)


def delete_response(call: Call, site: Site) -> Reply | Rejection:
    """Forget a response."""
    found = _found(site)
    if isinstance(found, Rejection):
        return found
    _shelf(site).remove(_id(site))
    return body_reply({"id": _id(site), "object": "response", "deleted": True})


def cancel_response(call: Call, site: Site) -> Reply | Rejection:
    """Cancel a response in the background; one that is complete stays so."""
    found = _found(site)
    if isinstance(found, Rejection):
        return found
    if not found.answer.body.get("background"):
        return Rejection(FailureKind.INVALID_REQUEST, "Only responses created with 'background' can be cancelled")
    found.cancelled = found.cancelled or call.received_at < found.ready
    return _shown(found, call, site)


def list_input_items(call: Call, site: Site) -> Reply | Rejection:
    """The items of the request of a response, the latest first unless the `order` is `asc`."""
    found = _found(site)
    if isinstance(found, Rejection):
        return found
    query = dict(parse_qsl(call.query))
    limit, order = query.get("limit", str(_USUAL_PAGE)), query.get("order", "desc")
    if not (limit.isascii() and limit.isdecimal() and len(limit) < 4 and 1 <= int(limit) <= _LONGEST_PAGE):
        return fault("limit", f"must be from 1 to {_LONGEST_PAGE}")
    if order not in ("asc", "desc"):
        return fault("order", "must be one of 'asc', 'desc'")
    items = [{**each, "id": each.get("id") or _item_id(found, place)} for place, each in enumerate(found.input)]
    items = items if order == "asc" else items[::-1]
    start = next((place for place, each in enumerate(items, 1) if each["id"] == query.get("after")), 0)
    return body_reply(_page(items[start : start + int(limit)], more=start + int(limit) < len(items)))


def _page(items: list[dict[str, Any]], *, more: bool) -> Mapping[str, Any]:
    ends = (items[0]["id"], items[-1]["id"]) if items else (None, None)
    return {"object": "list", "data": items, "first_id": ends[0], "last_id": ends[1], "has_more": more}


def _item_id(stored: Stored, place: int) -> str:
    return f"msg_{hex_digits(stored.answer.site.identity, 48, 'input', place)}"


def _shown(stored: Stored, call: Call, site: Site) -> Reply:
    return body_reply(written_plain(stored.view(call.received_at), stored.answer.site.edition))


def _found(site: Site) -> Stored | Rejection:
    found = _shelf(site).get(_id(site))
    message = f"Response with id '{_id(site)}' not found"
    return Rejection(FailureKind.INVALID_REQUEST, message, status=404) if found is None else found


def _shelf(site: Site) -> Shelf:
    return site.ledger if isinstance(site.ledger, Shelf) else Shelf()


def _id(site: Site) -> str:
    return site.variables.get("id", "")
