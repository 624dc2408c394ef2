"""Embeddings as the one shape has them: texts or token ids in, a row of numbers for each of them out."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from mockserver.core.generation import Generation, GenerationRequest, Limits, Prompt
from mockserver.core.seeding import derive
from mockserver.dialects.openai_style.fields import text_prompts
from mockserver.generation import tokens

if TYPE_CHECKING:
    from array import array


class EmbeddingForm(NamedTuple):
    """What embeddings are wanted: those of a `space`, which several models may share, of `size` dimensions.

    So many `dimensions` of them are told, None for all, as numbers or in base64.
    """

    space: str
    size: int
    dimensions: int | None = None
    base64: bool = False


def embedding_request(
    model: str, texts: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]], context: int, form: EmbeddingForm
) -> GenerationRequest:
    """What asks for embeddings, as a request to a model that says nothing."""
    return GenerationRequest(model, text_prompts(texts), limits=Limits(context=context), n=0, wishes=form)


def read_usage(generation: Generation) -> dict[str, int]:
    """The usage of what is read, and not answered in words."""
    count = generation.usage.prompt_tokens
    return {"prompt_tokens": count, "total_tokens": count}


def embeddings(generation: Generation) -> Iterator[orjson.Fragment]:
    """An embedding for each text, as JSON: its numbers, or in base64 these in single precision, the lowest byte first.

    No seed changes them: what one server has put into an index, another one finds there. Each is written for itself:
    to write a thousand at once would hold up every thread.
    """
    # Most servers are never asked for one.
    from mockserver.generation.embeddings import embed, shortened

    form: Any = generation.request.wishes
    key = derive(0, "embedding", form.space)
    for prompt in generation.request.prompts:
        full = embed(_text(prompt), form.size, key)
        vector = full if form.dimensions is None else shortened(full, form.dimensions)
        yield orjson.Fragment(orjson.dumps(_base64(vector) if form.base64 else vector.tolist()))


def _text(prompt: Prompt) -> str:
    """What is embedded of a prompt: tokens of another vocabulary than ours stand there as their numbers."""
    strange = [token for token in prompt.ids if not 0 <= token < tokens.VOCABULARY_SIZE]
    return " ".join([prompt.text, *map(str, strange)])


def _base64(embedding: "array[float]") -> str:
    return b64encode(pack(f"<{len(embedding)}f", *embedding)).decode()
