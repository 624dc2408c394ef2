"""What is asked of a model, and what it says: requests and generations, independent of any vendor's format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "function_call"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class Message(NamedTuple):
    """One message of a chat. `answers` is the name of the tool whose result it is, `calls` the tools that it calls."""

    role: str
    text: str
    answers: str | None = None
    calls: tuple[str, ...] = ()


class Prompt(NamedTuple):
    """One prompt.

    `text` is all that the model reads; `topic` the part an answer takes its subject and language from (for a chat, the
    last user message); `token_count` what the vendor would bill. A `chat` prompt is answered, any other is continued.
    `ids` are its tokens, where it came as tokens, `messages` the history of a chat, oldest first.
    """

    text: str
    topic: str
    token_count: int
    chat: bool = False
    ids: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()


class Limits(NamedTuple):
    """How long a choice may be, in tokens. Without `max_tokens` it ends where its story ends, or at `context`."""

    max_tokens: int | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    context: int = 131_072


class Stops(NamedTuple):
    """What ends a choice early: texts, and token sequences. `include` leaves the matched text in the answer."""

    texts: tuple[str, ...] = ()
    tokens: tuple[tuple[int, ...], ...] = ()
    include: bool = False


class Sampling(NamedTuple):
    """How tokens are drawn. `seeds` are the request's own, one per choice (the last serves the rest); none: derived.

    `top_k` 0 stands for all tokens; `no_repeat_ngram` below 2 for none. `bad_words` and `bad_tokens` are texts and
    token sequences that must not appear. `beams` above 1 searches: the best by log-probability over
    length ** `length_penalty` is taken, among the first to end where `early_stopping` is set.
    """

    seeds: tuple[int, ...] = ()
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    xtc_threshold: float = 0.5
    xtc_probability: float = 0.0
    beams: int = 1
    length_penalty: float = 1.0
    early_stopping: bool = True
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    repetition_penalty: float = 1.0
    no_repeat_ngram: int = 0
    logit_bias: tuple[tuple[int, float], ...] = ()
    bad_words: tuple[str, ...] = ()
    bad_tokens: tuple[tuple[int, ...], ...] = ()


class Constraint(NamedTuple):
    """The form an answer must have. `schema` is a JSON Schema, a pattern or a grammar's root, by `kind`.

    To be `json_complete` is to keep to a JSON Schema with every property that it names, the optional ones too. A
    `json_object` or a `json_array` is such as the prompt describes.
    """

    kind: Literal["json_object", "json_array", "json_schema", "json_complete", "regex", "grammar"]
    schema: object = None


class Tool(NamedTuple):
    """A tool that the model may call.

    `parameters` is the JSON Schema of a function's arguments, or the constraint on a custom tool's text, None for free.
    """

    name: str
    description: str = ""
    parameters: object = None
    kind: Literal["function", "custom"] = "function"


class ToolChoice(NamedTuple):
    """Whether tools are called: never, as the prompt suggests, or at any rate. `names` narrows the choice.

    A `compact` model writes no blanks between the parts of the arguments.
    """

    mode: Literal["none", "auto", "required"] = "auto"
    names: tuple[str, ...] = ()
    parallel: bool = True
    legacy: bool = False
    compact: bool = False


class Output(NamedTuple):
    """What the answer shows. `logprobs` is the number of alternatives per position, None for no log-probabilities.

    With `reasoning` it shows what the model thinks, before what it says.
    """

    stream: bool = False
    include_usage: bool = False
    echo: bool = False
    logprobs: int | None = None
    token_ids: bool = False
    reasoning: bool = False


class GenerationRequest(NamedTuple):
    """A request as a model sees it: what every dialect's `read` makes of a vendor's body.

    With `n` of 0 the model reads and says nothing: that is how embeddings and scores are asked for. `effort` is how
    hard it thinks before it speaks, None where nobody asks, and `budget` the most tokens that it may think;
    `prediction` is a text that is expected. `patience` is how long it would wait for an engine that is busy, in
    seconds, None for ever. `wishes` is a value of the dialect's own, for what only its writer understands.
    """

    model: str
    prompts: tuple[Prompt, ...]
    output: Output = Output()
    limits: Limits = Limits()
    stops: Stops = Stops()
    sampling: Sampling = Sampling()
    constraint: Constraint | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    n: int = 1
    best_of: int = 1
    effort: Effort | None = None
    budget: int | None = None
    prediction: str | None = None
    patience: float | None = None
    wishes: object = None

    @property
    def speaks(self) -> bool:
        """Whether the model says anything."""
        return self.n > 0

    @property
    def prompt_tokens(self) -> int:
        """What the prompts count together, in tokens."""
        return sum(prompt.token_count for prompt in self.prompts)


class Position(NamedTuple):
    """The log-probability of one token, and of its likeliest rivals (best first), in natural logarithms.

    `top` holds (id, text, logprob); the chosen token is among them unless it was less likely than all of them. `rank`
    is its place among all tokens, 0 for the likeliest.
    """

    logprob: float
    top: tuple[tuple[int, str, float], ...] = ()
    rank: int = 0


class ToolCall(NamedTuple):
    """A tool that the model calls. `texts[k]` is what token `ids[k]` adds to its arguments: JSON, or any text.

    A call takes one decoding step for its name, and one for each token of its arguments.
    """

    name: str
    ids: Sequence[int]
    texts: Sequence[str]
    kind: Literal["function", "custom"] = "function"

    @property
    def arguments(self) -> str:
        """The arguments as the model writes them."""
        return "".join(self.texts)

    @property
    def steps(self) -> int:
        """How many decoding steps it takes."""
        return 1 + len(self.ids)

    def beginning(self, count: int) -> "ToolCall":
        """The call as far as the first `count` tokens of its arguments."""
        return self._replace(ids=self.ids[:count], texts=self.texts[:count])


def first_steps(calls: Sequence[ToolCall], steps: int) -> tuple[ToolCall, ...]:
    """What has come of calls after so many decoding steps."""
    kept: list[ToolCall] = []
    for call in calls:
        if steps <= 0:
            break
        kept.append(call.beginning(steps - 1))
        steps -= call.steps
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer. `texts[k]` is what token `ids[k]` adds; joined they are `text`. Its tool `calls` come after its text.

    `refusal` says that the text declines to answer. `stop` is the text or the token id that ended it, None when it
    ended by itself or at its limit. `positions` has one entry per token when log-probabilities are asked for. The echo
    is the prompt, given back before the text, in tokens. So many tokens of `reasoning` went before all that; where they
    are shown, `thoughts` are their texts.
    """

    index: int
    seed: int
    ids: Sequence[int]
    texts: Sequence[str]
    finish_reason: FinishReason
    prompt: Prompt
    stop: str | int | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: bool = False
    positions: Sequence[Position] = ()
    echo_ids: Sequence[int] = ()
    echo_texts: Sequence[str] = ()
    echo_positions: Sequence[Position] = ()
    reasoning: int = 0
    thoughts: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The generated text, without any echo of the prompt."""
        return "".join(self.texts)

    @property
    def said(self) -> int:
        """How many tokens the choice says: those of its text and of its calls."""
        return len(self.ids) + sum(call.steps for call in self.calls)

    @property
    def steps(self) -> int:
        """How many decoding steps of the choice can be seen: one for each token that it shows, thoughts included."""
        return len(self.thoughts) + self.said

    @property
    def last_step(self) -> int:
        """The decoding step with which the choice is complete: its last token's, the first where it has none."""
        return max(self.steps - 1, 0)


class Unseen(NamedTuple):
    """Completion tokens that are no answer: those of thinking, and of a prediction that did not come true.

    `accepted` are the tokens of the prediction that did; those are in the text.
    """

    reasoning: int = 0
    accepted: int = 0
    rejected: int = 0


class Usage(NamedTuple):
    """What the answer cost, in tokens. `unseen` tells apart what of the completion is not text, where that was asked.

    The completion counts what is unseen too, thoughts that are shown among it.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    unseen: Unseen | None = None

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


class Generation(NamedTuple):
    """All that the model says to one request, before any vendor's format; `prepared` is what it is made to say."""

    request: GenerationRequest
    choices: tuple[Choice, ...]
    usage: Usage
    fingerprint: int = 0
    prepared: bool = False

    def with_choices(self, choices: "tuple[Choice, ...]") -> "Generation":
        """The generation with other choices, and the usage that these make."""
        said = sum(choice.said for choice in choices) - sum(choice.said for choice in self.choices)
        thought = sum(choice.reasoning for choice in choices) - sum(choice.reasoning for choice in self.choices)
        usage = self.usage._replace(completion_tokens=self.usage.completion_tokens + said + thought)
        if thought and usage.unseen is not None:
            usage = usage._replace(unseen=usage.unseen._replace(reasoning=usage.unseen.reasoning + thought))
        return self._replace(choices=choices, usage=usage)

    @property
    def steps(self) -> int:
        """How many decoding steps the longest choice takes; choices are decoded side by side."""
        return max((choice.steps for choice in self.choices), default=0)

    @property
    def last_step(self) -> int:
        """The decoding step with which every choice is complete."""
        return max(self.steps - 1, 0)

    @property
    def last_choice(self) -> Choice:
        """The choice that is complete last; of several the one with the highest index."""
        return max(self.choices, key=lambda choice: (choice.last_step, choice.index))
