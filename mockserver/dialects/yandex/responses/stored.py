"""`/v1/responses/{id}`: responses that are stored, which a client looks up, deletes or cancels."""

from mockserver.core.failures import FailureKind, Refusal
from mockserver.dialects.openai.responses.store import LONGEST_PAGE, ResponseStore, StoredOperations
from mockserver.dialects.yandex.errors import fault
from mockserver.dialects.yandex.responses.answers import flavour_of


def make_store() -> ResponseStore:
    """An empty store."""
    return ResponseStore(flavour_of)


_OPERATIONS = StoredOperations(
    lambda id_: Refusal(FailureKind.INVALID_REQUEST, f"Response with id '{id_}' not found", status=404),
    lambda: Refusal(FailureKind.INVALID_REQUEST, "Only responses created with 'background' can be cancelled"),
    lambda limit: fault("limit", f"must be from 1 to {LONGEST_PAGE}"),
    lambda order: fault("order", "must be one of 'asc', 'desc'"),
    streams=False,
)
get_response, delete_response = _OPERATIONS.get, _OPERATIONS.delete
cancel_response, list_input_items = _OPERATIONS.cancel, _OPERATIONS.list_input
