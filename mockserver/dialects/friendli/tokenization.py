"""Texts to token ids and back: `tokenize` and `detokenize` of the three places (vendor note B6).

All models here share one vocabulary, so the ids may be sent as the `tokens` of a completion.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.models import Place
from mockserver.dialects.friendli.read import ints, json_body
from mockserver.dialects.friendli.schemas import DETOKENIZATIONS, TOKENIZATIONS, Requests
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.fields import Body
from mockserver.model import tokens


def tokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The token ids of a text."""
    body = _valid(call, scope, place, TOKENIZATIONS)
    if isinstance(body, Refusal):
        return body
    return body_reply({"tokens": tokens.encode(body["prompt"])})


def detokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The text of token ids."""
    body = _valid(call, scope, place, DETOKENIZATIONS)
    if isinstance(body, Refusal):
        return body
    return body_reply({"text": tokens.decode(ints(body["tokens"]))})


def _valid(call: Call, scope: RequestScope, place: Place, requests: Requests) -> Body | Refusal:
    """The body, if it keeps to the contract and there is such a model; else the refusal."""
    body = json_body(call.body)
    if isinstance(body, Refusal):
        return worded(body, scope.edition)
    violations = requests.at(place, scope.edition).violations(body)
    if violations:
        return worded(invalid(violations), scope.edition)
    asked = place(body.get("model"), scope)
    return unknown_model(asked.name, scope.edition) if asked.model is None else body
