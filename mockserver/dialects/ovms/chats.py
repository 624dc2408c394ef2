"""`POST /v3/chat/completions` becomes a request to a model, or is refused (vendor note 6)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import Rejection
from mockserver.core.generation import GenerationRequest, Prompt
from mockserver.dialects.ovms.checks import CHAT_CHECKS, token_limit
from mockserver.dialects.ovms.families import effort, shows_thoughts
from mockserver.dialects.ovms.intake import Endpoint, read_request, take
from mockserver.dialects.ovms.messages import read_prompt
from mockserver.dialects.ovms.paths import CHATS_PATHS
from mockserver.dialects.ovms.rows import Fields
from mockserver.dialects.ovms.tools import offered, read_choice, read_tools


class Asked(NamedTuple):
    """What a writer has to know: whether thoughts and calls are parsed out of the text, and the fields it repeats."""

    parsed: bool
    fields: Mapping[str, Any] = {}


def read_chat(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why the server or its graph refuses it."""
    taken = take(call, site, _CHATS)
    if isinstance(taken, Rejection):
        return taken
    request = read_request(taken, site.edition)
    return parsed(request, taken.fields) if site.edition == "observed" else request


def parsed(request: GenerationRequest, fields: Fields) -> GenerationRequest:
    """The request with tools and reasoning, as the parsers find them; "skip_special_tokens=false turns them off"."""
    tools = offered(fields)
    request = request._replace(tools=read_tools(tools), tool_choice=read_choice(fields, request.model))
    if fields.get("skip_special_tokens") is False:
        return request
    template: Mapping[str, Any] = fields.get("chat_template_kwargs", {})
    output = request.output._replace(reasoning=shows_thoughts(request.model, template))
    return request._replace(output=output, effort=effort(request.model, template), extra=Asked(parsed=True))


def _templated(fields: Fields, edition: Edition) -> Prompt:
    """The conversation as one prompt, which includes the tools except in the older server."""
    return read_prompt(fields["messages"], edition, offered(fields) if edition == "observed" else ())


_CHATS = Endpoint(CHATS_PATHS, CHAT_CHECKS, _templated, token_limit)
