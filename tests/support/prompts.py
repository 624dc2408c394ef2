"""Prompts, and the texts with which the model answers them, without a dialect."""

from collections.abc import Iterator
from typing import Any

from mockserver.core.generation import GenerationRequest, Message, Prompt
from mockserver.model.generate import generate
from mockserver.model.tokens import Phrase


def chat(*messages: Message) -> Prompt:
    """The prompt of a chat, of which the last message asks for something."""
    text = "\n".join(message.text for message in messages)
    return Prompt(text, messages[-1].text, 1, chat=True, messages=messages)


def answer_to(prompt: Prompt, seed: int = 1, **request: Any) -> str:
    """The answer to a prompt, as a request asks for it."""
    return generate(GenerationRequest("m", (prompt,), **request), seed).choices[0].text


def text_of(phrases: Iterator[Phrase | None]) -> str:
    """A text up to its natural end."""
    return "".join(text for phrase in iter(phrases.__next__, None) if phrase for text in phrase.texts)
