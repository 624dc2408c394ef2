"""`/v1/responses/{id}`: responses that are stored, which a client looks up, deletes or cancels."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.seeding import hex_digits
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.yandex.errors import fault
from mockserver.dialects.yandex.responses.shelf import Shelf, Stored
from mockserver.dialects.yandex.responses.write import written_plain

# "A limit on the number of objects to be returned. Limit can range between 1 and 100, and the default is 20."
_USUAL_PAGE, _LONGEST_PAGE = 20, 100


def get_response(call: Call, scope: RequestScope) -> Reply | Refusal:
    """A response as it is now: one in the background is in progress until its answer would have been complete."""
    found = _found(scope)
    return found if isinstance(found, Refusal) else _shown(found, call, scope)


def delete_response(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Forget a response."""
    found = _found(scope)
    if isinstance(found, Refusal):
        return found
    _shelf(scope).remove(_id(scope))
    return body_reply({"id": _id(scope), "object": "response", "deleted": True})


def cancel_response(call: Call, scope: RequestScope) -> Reply | Refusal:
    """Cancel a response in the background; one that is complete stays so."""
    found = _found(scope)
    if isinstance(found, Refusal):
        return found
    if not found.answer.body.get("background"):
        return Refusal(FailureKind.INVALID_REQUEST, "Only responses created with 'background' can be cancelled")
    found.cancelled = found.cancelled or call.received_at < found.ready
    return _shown(found, call, scope)


def list_input_items(call: Call, scope: RequestScope) -> Reply | Refusal:
    """The items of the request of a response, the latest first unless the `order` is `asc`."""
    found = _found(scope)
    if isinstance(found, Refusal):
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
    return f"msg_{hex_digits(stored.answer.scope.identity, 48, 'input', place)}"


def _shown(stored: Stored, call: Call, scope: RequestScope) -> Reply:
    return body_reply(written_plain(stored.view(call.received_at), stored.answer.scope.edition))


def _found(scope: RequestScope) -> Stored | Refusal:
    found = _shelf(scope).get(_id(scope))
    message = f"Response with id '{_id(scope)}' not found"
    return Refusal(FailureKind.INVALID_REQUEST, message, status=404) if found is None else found


def _shelf(scope: RequestScope) -> Shelf:
    return scope.history if isinstance(scope.history, Shelf) else Shelf()


def _id(scope: RequestScope) -> str:
    return scope.variables.get("id", "")
