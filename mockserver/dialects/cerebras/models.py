"""`GET /v1/models` and `/v1/models/{id}`, the same below `/public`, and `/v1/tcp_warming`."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply


def list_models(call: Call, site: Site) -> Reply:
    """The models on offer; `created` is 0 for all of them (recorded)."""
    return body_reply({"object": "list", "data": [_model(model) for model in site.models]})


def get_model(call: Call, site: Site) -> Reply | Rejection:
    """One model of the list, or the vendor's 404."""
    found = _found(site)
    return body_reply(_model(found)) if found else Rejection(FailureKind.UNKNOWN_MODEL)


def list_public_models(call: Call, site: Site) -> Reply:
    """The models on offer with their prices, capabilities and limits, for anyone."""
    from mockserver.dialects.cerebras.catalogue import format_of

    form = format_of(call.query_value("format"))
    return body_reply({**form.around, "data": [form.model(model) for model in site.models]})


def get_public_model(call: Call, site: Site) -> Reply | Rejection:
    """One model of the public list, or the vendor's 404."""
    from mockserver.dialects.cerebras.catalogue import format_of

    found = _found(site)
    if found is None:
        return Rejection(FailureKind.UNKNOWN_MODEL)
    return body_reply(format_of(call.query_value("format")).model(found))


def warm_up(call: Call, site: Site) -> Reply:
    """An empty answer at once: the SDK's constructor waits for it, and retries a 5xx."""
    return body_reply({})


def _found(site: Site) -> Model | None:
    return next((model for model in site.models if model.id == site.variables["id"]), None)


def _model(model: Model) -> dict[str, object]:
    # A model that only the settings know is owned by the vendor, as most are.
    return {"id": model.id, "object": "model", "created": 0, "owned_by": model.owned_by or "Cerebras"}
