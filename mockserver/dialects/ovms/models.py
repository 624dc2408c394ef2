"""The models that are served, and the endpoints about them and about the server itself (vendor note 1)."""

import json

from mockserver.core.calls import Call
from mockserver.core.dialects import Model, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.ovms.headers import JSON

MODELS = (
    # The page's own example.
    Model("llama3", "OVMS", context=8_192),
    Model("meta-llama/Meta-Llama-3-8B-Instruct", "OVMS", context=8_192),
    # One with a draft model beside it, for the parameters of speculative decoding.
    Model("llama3-speculative", "OVMS", context=8_192),
)
DRAFTED = frozenset({"llama3-speculative"})

_VERSIONS = {"documented": "2025.0", "observed": "2026.3"}
_STATUS = {
    "model_version_status": [
        {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": "OK"}}
    ]
}


def list_models(call: Call, site: Site) -> Reply | Rejection:
    """The models on offer, `data` first; "400 `Invalid request URL`" before v2025.3."""
    if site.edition == "documented":
        return Rejection(FailureKind.UNKNOWN_PATH)
    return _answer({"data": [_model(model, site) for model in site.models], "object": "list"})


def get_model(call: Call, site: Site) -> Reply | Rejection:
    """One model of the list; an unknown one is "HTTP 500 (MODEL_NOT_LOADED maps to 500)"."""
    if site.edition == "documented":
        return Rejection(FailureKind.UNKNOWN_PATH)
    found = next((model for model in site.models if model.id == site.variables.get("id", "")), None)
    if found is None:
        return Rejection(FailureKind.UNKNOWN_MODEL, "Model not found", status=500)
    return _answer(_model(found, site))


def server_metadata(call: Call, site: Site) -> Reply:
    """The server's name and version."""
    return _answer({"name": "OpenVINO Model Server", "version": _VERSIONS[site.edition]})


def healthy(call: Call, site: Site) -> Reply:
    """Live and ready: "200 with empty body"."""
    return _answer(b"")


def model_ready(call: Call, site: Site) -> Reply | Rejection:
    """A model is ready when it is there at all, in whatever version is asked for."""
    name, _, _ = site.variables.get("id", "").partition("/versions/")
    if site.model(name) is None:
        return Rejection(FailureKind.UNKNOWN_MODEL, "Model with requested name is not found")
    return _answer(b"")


def config_status(call: Call, site: Site) -> Reply:
    """Every model's state, "printed with newlines and one-space indents"; a reload finds nothing to do."""
    status = json.dumps(_STATUS, indent=1)
    models = [
        f"{json.dumps(name, ensure_ascii=False)} : \n{status}" for name in sorted({model.id for model in site.models})
    ]
    return _answer(("{\n" + ",\n".join(models) + "\n}" if models else "{}").encode())


def _model(model: Model, site: Site) -> dict[str, object]:
    return {"id": model.id, "object": "model", "created": int(site.now), "owned_by": "OVMS"}


def _answer(value: object) -> Reply:
    return body_reply(value, content_type=JSON)
