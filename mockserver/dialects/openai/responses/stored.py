"""`/v1/responses/{id}`: stored responses, which a client looks up, deletes or cancels (facts C4, F5)."""

from mockserver.core.failures import Refusal
from mockserver.dialects.openai.flavour import Members
from mockserver.dialects.openai.refusals import no_stored, not_cancellable, refused
from mockserver.dialects.openai.responses.answers import RESPONSE, made_id, plain
from mockserver.dialects.openai.responses.store import LONGEST_PAGE, ResponseStore, Stored, StoredOperations

# The prefixes of the ids of input items, by their types.
_PREFIXES = {"function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}


def make_store() -> ResponseStore:
    """An empty store."""
    return ResponseStore(lambda scope: RESPONSE)


def _input_item(stored: Stored, item: Members, place: int) -> Members:
    """An item with an id and all members of its kind; the content of a message becomes parts."""
    kind = str(item.get("type") or "message")
    id_ = item.get("id") or made_id(stored.response.scope, _PREFIXES.get(kind, "msg"), "input", place)
    if kind != "message":
        return {"id": id_, "type": kind, **{name: value for name, value in item.items() if name not in ("id", "type")}}
    content, status = item["content"], item.get("status", "completed")
    if isinstance(content, str):
        said: Members = {"type": "input_text", "text": content}
        if item["role"] == "assistant":
            said = {"type": "output_text", "annotations": [], "logprobs": [], "text": content}
        content = [said]
    return {"id": id_, "type": kind, "status": status, "content": content, "role": item["role"]}


def _wrong_limit(limit: str) -> Refusal:
    number = limit[:9].removeprefix("-")
    if not (number.isascii() and number.isdecimal()):
        words = "Invalid type for 'limit': expected an integer, but got a string instead."
        return refused(words, "limit", "invalid_type")
    above = not limit.startswith("-") and number.strip("0") != ""
    word, sign, bound = ("above maximum", "<=", LONGEST_PAGE) if above else ("below minimum", ">=", 1)
    words = f"integer {word} value. Expected a value {sign} {bound}, but got {limit[:9]} instead."
    return refused(f"Invalid 'limit': {words}", "limit", f"integer_{word.replace('imum', '').replace(' ', '_')}_value")


def _wrong_order(order: str) -> Refusal:
    words = f"Invalid value: '{order[:1000]}'. Supported values are: 'asc' and 'desc'."
    return refused(words, "order", "invalid_value")


_OPERATIONS = StoredOperations(
    lambda id_: no_stored("Response", id_), not_cancellable, _wrong_limit, _wrong_order, _input_item, plain
)
get_response, delete_response = _OPERATIONS.get, _OPERATIONS.delete
cancel_response, list_input_items = _OPERATIONS.cancel, _OPERATIONS.list_input
