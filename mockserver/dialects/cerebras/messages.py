"""The messages of a chat: the prompt that they make, and messages that are refused."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.failures import Rejection
from mockserver.core.generation import Prompt
from mockserver.dialects.cerebras.families import Family
from mockserver.dialects.cerebras.images import Messages, image_urls, seeing
from mockserver.dialects.cerebras.refusals import refused
from mockserver.dialects.openai.fields import Body
from mockserver.dialects.openai.messages import called, chat_prompt
from mockserver.model.token_counts import token_count

# "Max images per request: 5"; "External image URLs: not supported".
_MOST_IMAGES = 5
_IMAGE_FORMS = ("data:image/png;base64,", "data:image/jpeg;base64,", "data:image/jpg;base64,")


def read_prompt(body: Body) -> tuple[Prompt, int]:
    """The conversation as a prompt, and how many of its tokens are those of images."""
    messages: Messages = body["messages"]
    prompt = chat_prompt(messages, body.get("tools"))
    thoughts = list(_remembered(messages, forget=body.get("clear_thinking") is not False))
    if thoughts:
        text = "\n".join((prompt.text, *(f"reasoning: {thought}" for thought in thoughts)))
        prompt = prompt._replace(text=text, token_count=prompt.token_count + sum(map(token_count, thoughts)))
    return seeing(prompt, messages)


def _remembered(messages: Messages, *, forget: bool) -> Iterator[str]:
    """The earlier thoughts that the model still sees; with `forget` only those since the last user message.

    "Thinking content from the current (latest unfinished) turn is always included".
    """
    spoken = [place for place, message in enumerate(messages) if message["role"] == "user"]
    since = spoken[-1] if forget and spoken else 0
    # Other roles have no thoughts: there the field is unknown, and ignored.
    thinking = (message for message in islice(messages, since, None) if message["role"] == "assistant")
    return filter(None, (_text(message.get("reasoning")) for message in thinking))


def _text(content: str | Sequence[Mapping[str, Any]] | None) -> str:
    return "".join(part["text"] for part in content or ()) if not isinstance(content, str) else content


def messages_fault(messages: Messages, family: Family, edition: Edition) -> Rejection | None:
    """Why the messages are refused, by every model or by this one; None if they are accepted."""
    return _history_fault(messages) or _images_fault(image_urls(messages), family, edition)


def _history_fault(messages: Messages) -> Rejection | None:
    """A tool's result must follow the message that calls the tool, or another result of that message."""
    calling = False
    for message in messages:
        if message["role"] == "tool" and not calling:
            # Recorded.
            fault = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
            return refused(fault, "messages")
        calling = bool(called(message)) or (message["role"] == "tool")
    return None


def _images_fault(urls: Sequence[str], family: Family, edition: Edition) -> Rejection | None:
    """The rules for images are today's: earlier it only counted whether a model accepts images."""
    if not urls:
        return None
    if family.sees is False:
        return refused("Content of type 'image_url' is not supported by this model; only 'text' content is", "messages")
    if edition == "documented":
        return None
    if len(urls) > _MOST_IMAGES:
        return refused(f"At most {_MOST_IMAGES} images are allowed per request, got {len(urls)}", "messages")
    if not all(url.lower().startswith(_IMAGE_FORMS) for url in urls):
        return refused("Images must be PNG or JPEG data URIs; external image URLs are not supported", "messages")
    return None
