"""Texts to token ids and back: `tokenize` and `detokenize` of the three places (vendor note B6).

All models here share one vocabulary, so the ids may be sent as the `tokens` of a completion.
"""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.friendli.errors import invalid, unknown_model, worded
from mockserver.dialects.friendli.models import Place
from mockserver.dialects.friendli.read import ints, json_body
from mockserver.dialects.friendli.schemas import DETOKENIZATIONS, TOKENIZATIONS, Requests
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.fields import Body
from mockserver.model import tokens


def tokenize(place: Place, call: Call, site: Site) -> Reply | Rejection:
    """The token ids of a text."""
    body = _valid(call, site, place, TOKENIZATIONS)
    if isinstance(body, Rejection):
        return body
    return body_reply({"tokens": tokens.encode(body["prompt"])})


def detokenize(place: Place, call: Call, site: Site) -> Reply | Rejection:
    """The text of token ids."""
    body = _valid(call, site, place, DETOKENIZATIONS)
    if isinstance(body, Rejection):
        return body
    return body_reply({"text": tokens.decode(ints(body["tokens"]))})


def _valid(call: Call, site: Site, place: Place, requests: Requests) -> Body | Rejection:
    """The body, if it keeps to the contract and there is such a model; else the refusal."""
    body = json_body(call.body)
    if isinstance(body, Rejection):
        return worded(body, site.edition)
    violations = requests.at(place, site.edition).violations(body)
    if violations:
        return worded(invalid(violations), site.edition)
    asked = place(body.get("model"), site)
    return unknown_model(asked.name, site.edition) if asked.model is None else body
