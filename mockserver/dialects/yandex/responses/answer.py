"""What a response is written from: a generation, the request that it repeats, and the engine."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.dialects.openai.logprobs import chat_logprobs
from mockserver.dialects.openai.responses.spoken import Spoken, Thoughts, spoken_of
from mockserver.dialects.yandex.models import Backend, ModelUri, backend_of, parse_uri
from mockserver.dialects.yandex.responses.options import ResponseOptions


class Answer(NamedTuple):
    """A generation that answers a request for a response."""

    generation: Generation
    asked: ResponseOptions
    backend: Backend
    scope: RequestScope

    @property
    def choice(self) -> Choice:
        """The only choice: the API has no `n`."""
        return self.generation.choices[0]

    @property
    def body(self) -> Mapping[str, Any]:
        """The fields of the request."""
        return self.asked.body

    @property
    def streamed(self) -> bool:
        """Whether it is a stream."""
        return self.generation.request.output.stream

    @property
    def detailed(self) -> bool:
        """Whether it has log-probabilities."""
        return self.generation.request.output.logprobs is not None

    @property
    def query(self) -> str | None:
        """The query of the search that precedes the answer; None if there is no search, as before a call."""
        return None if self.choice.calls else self.asked.query

    @property
    def reasoning_tokens(self) -> int:
        """The tokens of reasoning that is not returned in full."""
        unseen = self.generation.usage.unseen
        return unseen.reasoning if unseen else 0

    @property
    def spoken(self) -> list[Spoken]:
        """The items of the answer; thoughts are summarised if requested, else hidden."""
        thoughts: Thoughts | None = "summary" if self.choice.thoughts else None
        if thoughts is None and self.reasoning_tokens:
            thoughts = "hidden"
        return spoken_of(self.choice, thoughts)

    def logprobs(self, tokens: range) -> list[dict[str, Any]]:
        """The log-probabilities of tokens of the text; none unless the request includes them."""
        return chat_logprobs(self.choice, tokens.start, tokens.stop) if self.detailed else []


def answer_of(generation: Generation, scope: RequestScope) -> Answer:
    """The answer that a generation is."""
    options = generation.request.extra
    asked = options if isinstance(options, ResponseOptions) else ResponseOptions({}, False)
    uri = parse_uri(generation.request.model) or ModelUri("gpt", "", generation.request.model)
    return Answer(generation, asked, backend_of(uri.name), scope)
