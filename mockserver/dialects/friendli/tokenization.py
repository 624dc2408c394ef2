"""Texts to token ids and back, and chats to texts: `tokenize`, `detokenize`, `chat/render` (vendor note B6, SDK 0.16).

All models here share one vocabulary, so the ids may be sent as the `tokens` of a completion.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.models import Place
from mockserver.dialects.friendli.read import ints, json_body
from mockserver.dialects.friendli.schemas import contract_of
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.fields import Body
from mockserver.model import tokens


def tokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The token ids of a text."""
    body = _valid(call, scope, place, "TokenizationRequest")
    return body if isinstance(body, Refusal) else body_reply({"tokens": tokens.encode(body["prompt"])})


def detokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The text of token ids."""
    body = _valid(call, scope, place, "DetokenizationRequest")
    return body if isinstance(body, Refusal) else body_reply({"text": tokens.decode(ints(body["tokens"]))})


def _valid(call: Call, scope: RequestScope, place: Place, schema: str) -> Body | Refusal:
    """The body, if it keeps to the contract and there is such a model; else the refusal."""
    body = json_body(call.body)
    if isinstance(body, Refusal):
        return worded(body, scope.edition)
    violations = contract_of(schema, place, scope.edition).violations(body)
    if violations:
        return worded(invalid(violations), scope.edition)
    name, model = place(body.get("model"), scope)
    return unknown_model(name, scope.edition) if model is None else body
