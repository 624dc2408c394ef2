"""Azure's way in: the name of a deployment in the path instead of the body's model, and a header of its own for the key
(vendor facts, section I). Its newer paths, `/openai/v1/...`, are the dialect's own."""

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import Read, RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.dialects.openai.fields import bearer, json_object

# What the path of an operation has instead of `/v1`, after `/openai`.
DEPLOYMENTS = "/deployments/{name}"


def api_key(call: Call) -> str | None:
    """The key of a call: that of `Authorization: Bearer`, as OpenAI takes it, or of `api-key`, as Azure does."""
    return bearer(call) or call.headers.get("api-key") or None


def of_deployments(read: Read) -> Read:
    """Reads calls at either path; a deployment stands for the model, whatever the body says."""

    def read_either(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
        name = scope.variables.get("name")
        if name is None:
            return read(call, scope)
        body = json_object(call.body)
        if isinstance(body, Refusal):
            return body
        return read(call._replace(body=orjson.dumps({**body, "model": name})), scope)

    return read_either
