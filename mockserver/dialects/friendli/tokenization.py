"""Texts to token ids and back, and chats to texts: `tokenize`, `detokenize`, `chat/render` (vendor note B6, SDK 0.16).

All models here share one vocabulary, so the ids may be sent as the `tokens` of a completion.
"""

from collections.abc import Callable
from typing import Any

import orjson

from mockserver.core.calls import Call
from mockserver.core.dialects import RequestScope
from mockserver.core.failures import Refusal
from mockserver.core.timeline import Reply
from mockserver.dialects.friendli.errors import worded
from mockserver.dialects.friendli.models import Place
from mockserver.dialects.friendli.read import ints, valid_body
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import body_reply
from mockserver.model import tokens


def tokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The token ids of a text."""
    return _answer(place, call, scope, "TokenizationRequest", lambda body: {"tokens": tokens.encode(body["prompt"])})


def detokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The text of token ids."""

    def text(body: Body) -> dict[str, Any]:
        return {"text": tokens.decode(ints(body["tokens"]))}

    return _answer(place, call, scope, "DetokenizationRequest", text)


def render(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The text that a chat is to the model, up to where the answer begins."""
    return _answer(place, call, scope, "ChatRenderRequest", lambda body: {"text": _rendered(body)})


def _answer(
    place: Place, call: Call, scope: RequestScope, schema: str, answer: Callable[[Body], dict[str, Any]]
) -> Reply | Refusal:
    found = valid_body(place, call, scope, schema)
    return worded(found, scope.edition) if isinstance(found, Refusal) else body_reply(answer(found[0]))


def _rendered(body: Body) -> str:
    """The conversation in ChatML, a common template: those of the models are not simulated."""
    turns = []
    if body.get("tools"):
        offered = b"\n".join([orjson.dumps(tool) for tool in body["tools"]]).decode()
        turns.append(("system", f"# Tools\n\n<tools>\n{offered}\n</tools>"))
    for message in body["messages"]:
        said = message.get("content") or ""
        if isinstance(said, list):
            said = "".join([part.get("text") or f"<|{part['type'].removesuffix('_url')}|>" for part in said])
        for call in message.get("tool_calls") or ():
            said += f"\n<tool_call>\n{orjson.dumps(call['function']).decode()}\n</tool_call>"
        turns.append((message["role"], said.lstrip("\n")))
    text = "".join([f"<|im_start|>{role}\n{said}<|im_end|>\n" for role, said in turns])
    thoughtless = (body.get("chat_template_kwargs") or {}).get("enable_thinking") is False
    return f"{text}<|im_start|>assistant\n" + ("<think>\n\n</think>\n\n" if thoughtless else "")
