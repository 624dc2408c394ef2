"""`GET /v1/models` and `/v1/models/{id}`, and `DELETE` of the latter (facts C1, D)."""

from collections.abc import Callable, Mapping

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.chats import pretty
from mockserver.dialects.openai.models import created_at
from mockserver.dialects.openai.refusals import refused
from mockserver.dialects.openai.replies import body_reply

Row = Callable[[Model], Mapping[str, object]]
Dump = Callable[[object], bytes]


def model_row(model: Model) -> dict[str, object]:
    """What is told of a model."""
    return {"id": model.id, "object": "model", "created": created_at(model.id), "owned_by": model.owned_by or "system"}


def list_models(call: Call, scope: RequestScope, row: Row = model_row, dump: Dump = pretty) -> Reply:
    """The models on offer; a vendor may tell something else of each, and lay bodies out in its own way."""
    return body_reply(dump({"object": "list", "data": [row(model) for model in scope.models]}))


def get_model(call: Call, scope: RequestScope, row: Row = model_row, dump: Dump = pretty) -> Reply | Refusal:
    """One model of the list, or the vendor's 404."""
    found = _found(scope)
    return body_reply(dump(row(found))) if isinstance(found, Model) else found


def delete_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """The refusal to delete a model that is nobody's own; a fine-tuned one is said to be deleted, but stays."""
    name = scope.variables["id"]
    if name.startswith("ft:"):
        return body_reply(pretty({"id": name, "object": "model", "deleted": True}))
    found = _found(scope)
    if isinstance(found, Refusal):
        return found
    return refused("You have insufficient permissions for this operation.", status=403)


def _found(scope: RequestScope) -> Model | Refusal:
    name = scope.variables["id"]
    return scope.listed(name) or Refusal(FailureKind.UNKNOWN_MODEL, model=name)
