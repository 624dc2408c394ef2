"""What a model is asked and what it generates, independent of any vendor's format."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Literal, NamedTuple, Protocol, runtime_checkable

FinishReason = Literal["stop", "length", "content_filter", "tool_calls", "function_call"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]

_token_count, _steps = attrgetter("token_count"), attrgetter("steps")


class Message(NamedTuple):
    """One message of a chat. `answers` names the tool whose result it carries, `calls` the tools that it calls."""

    role: str
    text: str
    answers: str | None = None
    calls: tuple[str, ...] = ()


# The roles of messages that instruct the model.
INSTRUCTING = ("system", "developer")


class Prompt(NamedTuple):
    """One prompt.

    `text` is everything that the model reads; `topic` is the part that gives an answer its subject and language (the
    last user message of a chat); `token_count` is what the vendor would bill. A `chat` prompt is answered, any other
    is continued. `ids` are its tokens if it was sent as token ids, `messages` the history of a chat, oldest first.
    """

    text: str
    topic: str
    token_count: int
    chat: bool = False
    ids: tuple[int, ...] = ()
    messages: tuple[Message, ...] = ()

    @property
    def instructions(self) -> list[str]:
        """The texts of the messages that instruct the model, oldest first."""
        return [message.text for message in self.messages if message.role in INSTRUCTING]


# The maximum length of a choice in tokens, whether or not the request has a limit.
LONGEST_CHOICE = 131_072


@runtime_checkable
class Lengths(Protocol):
    """A distribution of lengths, given by its quantile function."""

    def quantile(self, share: float) -> float:
        """The length at that share (0 to 1) of the distribution, in tokens."""


class Limits(NamedTuple):
    """How long a choice may be, in tokens. Without `max_tokens` it ends when its text is complete, or at `context`.

    With `lengths` free prose ends after as many tokens as are drawn from them, complete or not.
    """

    max_tokens: int | None = None
    min_tokens: int = 0
    ignore_eos: bool = False
    context: int = 131_072
    lengths: Lengths | None = None


class Stops(NamedTuple):
    """Stop sequences, as texts and as token ids. With `include` the matched text stays in the answer."""

    texts: tuple[str, ...] = ()
    tokens: tuple[tuple[int, ...], ...] = ()
    include: bool = False


class Sampling(NamedTuple):
    """How tokens are sampled.

    `seeds` are those that the request states, one per choice (the last serves any further choices); without them seeds
    are derived. A `top_k` of 0 means all tokens, an `xtc_threshold` of 0 no exclusion of top choices, a
    `no_repeat_ngram` below 2 no such check. `bad_words` and `bad_tokens` are texts and token sequences that must not
    appear. More than one of `beams` is a beam search: it returns the beam with the best log-probability / length **
    `length_penalty`, with `early_stopping` among those that finish first.
    """

    seeds: tuple[int, ...] = ()
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    xtc_threshold: float = 0.0
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


Form = Literal[
    "json_object",
    "json_array",
    "json_schema",
    "json_complete",
    "regex",
    "grammar",
    "sections",
    "action",
    "steps",
    "tags",
]


class Constraint(NamedTuple):
    """The format that an answer must have. Depending on `kind`, `schema` is a JSON Schema, a regular expression or the
    root rule of a grammar.

    A `json_complete` answer conforms to a JSON Schema and has all the properties that it names, optional ones too. A
    `json_object` or a `json_array` has the content that the prompt describes. `sections` are the values of an object,
    each under its name. An `action` is code that calls tools.
    """

    kind: Form
    schema: object = None


class Tool(NamedTuple):
    """A tool that the model may call.

    `parameters` is the JSON Schema of a function's arguments, or the constraint on a custom tool's input (None for any
    text).
    """

    name: str
    description: str = ""
    parameters: object = None
    kind: Literal["function", "custom"] = "function"


class ToolChoice(NamedTuple):
    """Whether tools are called: never, as the prompt suggests, or in any case. `names` narrows down which.

    With `parallel` an answer may hold several calls. `legacy` marks a request with `functions`, the predecessor of
    tools. A `compact` model writes the JSON of its arguments without whitespace.
    """

    mode: Literal["none", "auto", "required"] = "auto"
    names: tuple[str, ...] = ()
    parallel: bool = True
    legacy: bool = False
    compact: bool = False


class Cacheable(NamedTuple):
    """The beginning of its prompt that a request has the engine cache: the tools and the first `characters` of the
    text, unless they have fewer than `least` tokens; for so many seconds after the last use."""

    characters: int
    least: int
    lifetime: float


class Output(NamedTuple):
    """What the answer contains. `logprobs` is the number of alternatives per position, None for no log-probabilities.

    With `reasoning` the answer shows the model's thoughts ahead of its text.
    """

    stream: bool = False
    include_usage: bool = False
    echo: bool = False
    logprobs: int | None = None
    token_ids: bool = False
    reasoning: bool = False


class GenerationRequest(NamedTuple):
    """A request as a model sees it: what every dialect's `read` makes of a vendor's body.

    An `n` of 0 means that the model only reads, as for embeddings and scores. `effort` is the reasoning effort, None
    if the request names none, and `budget` the most tokens that may be spent on reasoning; `prediction` is the text
    that the client expects. `patience` is how many seconds the client would wait in the queue of a busy engine, None
    for any time. `cacheable` is what it has the engine cache, None for whatever the engine would. `extra` is a value of
    the dialect's own, which only its `write` understands.
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
    cacheable: Cacheable | None = None
    extra: object = None

    @property
    def generates(self) -> bool:
        """Whether the model generates anything, rather than only read."""
        return self.n > 0

    @property
    def prompt_tokens(self) -> int:
        """The number of tokens in all prompts together."""
        return sum(map(_token_count, self.prompts))


class Position(NamedTuple):
    """The log-probability (natural logarithm) of one token, and of its likeliest alternatives, best first.

    `top` holds (id, text, logprob), the chosen token among them unless it was less likely than each of them. `rank` is
    the chosen token's place among all tokens, 0 for the likeliest.
    """

    logprob: float
    top: tuple[tuple[int, str, float], ...] = ()
    rank: int = 0


class ToolCall(NamedTuple):
    """A tool call. `texts[k]` is what token `ids[k]` adds to its arguments: JSON, or any text for a custom tool.

    A call takes one decoding step for its name, and one for each token of its arguments. Its `id` is empty if it is
    one of the vendor's.
    """

    name: str
    ids: Sequence[int]
    texts: Sequence[str]
    kind: Literal["function", "custom"] = "function"
    id: str = ""

    @property
    def arguments(self) -> str:
        """The arguments as one text."""
        return "".join(self.texts)

    @property
    def steps(self) -> int:
        """How many decoding steps the call takes."""
        return 1 + len(self.ids)

    def beginning(self, count: int) -> "ToolCall":
        """The call with only the first `count` tokens of its arguments."""
        return self._replace(ids=self.ids[:count], texts=self.texts[:count])


def first_steps(calls: Sequence[ToolCall], steps: int) -> tuple[ToolCall, ...]:
    """As much of the calls as is decoded after `steps` steps; the last one may be incomplete."""
    kept: list[ToolCall] = []
    for call in calls:
        if steps <= 0:
            break
        kept.append(call.beginning(steps - 1))
        steps -= call.steps
    return tuple(kept)


class Choice(NamedTuple):
    """One of the answers to a prompt. `texts[k]` is what token `ids[k]` adds to the text; tool `calls` follow the text.

    - `refusal`: whether the text declines to answer.
    - `stop`: the stop text or token id that ended the choice, None if it ended by itself or at its limit.
    - `positions`: one per token if log-probabilities were requested.
    - `echo_...`: the prompt, repeated ahead of the text.
    - `reasoning`: how many tokens the model thought first; `thoughts` are their texts if the answer shows them.
    """

    index: int  # type: ignore[assignment]  # a tuple's own method of that name is not used
    seed: int
    ids: Sequence[int]
    texts: Sequence[str]
    finish_reason: FinishReason
    prompt: Prompt
    stop: str | int | None = None
    calls: tuple[ToolCall, ...] = ()
    refusal: bool = False
    positions: Sequence[Position] = ()
    echo_texts: Sequence[str] = ()
    echo_positions: Sequence[Position] = ()
    reasoning: int = 0
    thoughts: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The generated text, without the echo of the prompt."""
        return "".join(self.texts)

    @property
    def answer_tokens(self) -> int:
        """How many tokens its text and its calls have."""
        return len(self.ids) + (sum(map(_steps, self.calls)) if self.calls else 0)

    @property
    def steps(self) -> int:
        """How many decoding steps a client can see: one for each token shown, thoughts included."""
        return len(self.thoughts) + len(self.ids) + (sum(map(_steps, self.calls)) if self.calls else 0)

    @property
    def last_step(self) -> int:
        """The decoding step that completes the choice: that of its last token, or the first if it has none."""
        return max(self.steps - 1, 0)


class Unseen(NamedTuple):
    """Completion tokens that are billed though no text shows them: those of reasoning, and those of a prediction that
    were `rejected`. Its `accepted` tokens are part of the text.
    """

    reasoning: int = 0
    accepted: int = 0
    rejected: int = 0


class Usage(NamedTuple):
    """The tokens of a request and its answer, as a vendor bills them.

    `completion_tokens` includes reasoning and rejected prediction tokens; `unseen` breaks these down, and is None if
    the request asks for neither. Of the prompt, `cached_tokens` are read from the engine's prompt cache, and
    `written_tokens` are added to it.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    unseen: Unseen | None = None
    written_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """The tokens of prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens


Measure = Literal["embedding", "scores"]


class Measures(NamedTuple):
    """What a model that only reads is to state: the numbers of an embedding for each text, or a single number, its
    score, for each document."""

    kind: Measure
    values: tuple[tuple[float, ...], ...]


class Generation(NamedTuple):
    """Everything that the model generates for one request; `prepared` if a stub has dictated it, with a `fingerprint`.

    `measures` replace what a model that only reads would state.
    """

    request: GenerationRequest
    choices: tuple[Choice, ...]
    usage: Usage
    fingerprint: int | None = None
    prepared: bool = False
    measures: Measures | None = None

    def with_choices(self, choices: "tuple[Choice, ...]") -> "Generation":
        """The generation with other choices, and its usage adjusted to them."""
        said = sum(choice.answer_tokens for choice in choices) - sum(choice.answer_tokens for choice in self.choices)
        thought = sum(choice.reasoning for choice in choices) - sum(choice.reasoning for choice in self.choices)
        usage = self.usage._replace(completion_tokens=self.usage.completion_tokens + said + thought)
        if thought and usage.unseen is not None:
            usage = usage._replace(unseen=usage.unseen._replace(reasoning=usage.unseen.reasoning + thought))
        return self._replace(choices=choices, usage=usage)

    @property
    def steps(self) -> int:
        """How many decoding steps the longest choice takes; choices are decoded in parallel."""
        return max(map(_steps, self.choices), default=0)

    @property
    def last_step(self) -> int:
        """The decoding step that completes the last choice."""
        return max(max(map(_steps, self.choices), default=0) - 1, 0)

    @property
    def last_choice(self) -> Choice:
        """The choice that is completed last; of several, the one with the highest index."""
        return max(self.choices, key=lambda choice: (choice.last_step, choice.index))
