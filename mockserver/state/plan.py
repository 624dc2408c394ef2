"""The plan of an answer: the one value of a request's way, which each stage of `mockserver/pipeline.py` adds to; and
the faults that are triggered by it, where they come from, and what their rules have counted; and what requests cost."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple

from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.http import Call, Reply, Timeline, TokenTiming
from mockserver.core.matching.requests import Mismatch, RequestMatcher
from mockserver.core.quotas import Reservation
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.rules import Fault
from mockserver.model.intent import detect_intent
from mockserver.model.prepared import ScriptedOutput
from mockserver.model.sampling import is_plain
from mockserver.state.context import RequestContext
from mockserver.state.engines import EngineState, Reuse, Slot
from mockserver.state.facts import RequestFacts
from mockserver.state.stubs.registry import NearMiss
from mockserver.state.stubs.stub import Prepared

# Where a fault comes from: a rule (armed, of the settings or of the route), a stub, or the request's own header.
Origin = Literal["armed", "settings", "route", "stub", "header"]

# A rule that applies to a share counts the repetitions of this many different requests, those that came last.
_REMEMBERED = 4096


@dataclass(slots=True)
class RuleCount:
    """What a rule has seen in a namespace: the requests that matched, and those that it was applied to. Requests whose
    match is `undecided`, because a search was given up, are neither.
    """

    matched: int = 0
    applied: int = 0
    undecided: int = 0
    _seen: OrderedDict[int, int] = field(default_factory=OrderedDict, repr=False, compare=False)

    def times_seen(self, request: int) -> int:
        """Count a request, known by its number, and return how often it has come, this time included."""
        times = self._seen[request] = self._seen.pop(request, 0) + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return times


class TriggeredFault(NamedTuple):
    """A fault that one request triggers. `rule` is the name of the armed rule that asks for it; where any rule
    does, `seen` is what it has counted.
    """

    fault: Fault
    by: Origin
    rule: str = ""
    seen: RuleCount | None = None

    @property
    def kind(self) -> FaultKind:
        """The fault's row in the catalogue."""
        return FAULTS[self.fault.kind]

    @property
    def leaves_nothing(self) -> bool:
        """Whether nothing is sent of an answer to which it is applied."""
        return self.kind.ends and self.fault.place.is_beginning


def refund_counts(triggered: Iterable[TriggeredFault], applied: Sequence[TriggeredFault] = ()) -> None:
    """Undo the counts of faults that a request has triggered and that were not applied to its answer after all."""
    for fault in triggered:
        if fault.seen is not None and not is_among(fault, applied):
            fault.seen.applied -= 1


def is_among(fault: TriggeredFault, others: Iterable[TriggeredFault]) -> bool:
    """Whether this fault is one of the others, by identity: one request may trigger equal faults."""
    return any(fault is other for other in others)


# What is known of an answer before it is scheduled: no status, and no event.
NOTHING_YET = Timeline(0, (), ())


@dataclass(slots=True, eq=False)
class Plan:
    """A request, what will be answered, and why. `context` is the request with all that was settled before it was read.

    - parse: what the `request` asks of a model; or the `reply` of an operation that asks none; or the `refusal`.
    - resolve: the `number` of the request among the questions of its namespace, 0 if it asks no model, and which
      `attempt` it is after failures, from 1 on; the stub named `rule` with its `prepared` answer and the `criteria`
      that the request has met, and where it is `stale`, since it was recorded for another request; or the `nearest`
      stubs if there are some and none matches; the faults that are `triggered`; the state of its `engine`, and the
      `reservation` of its quotas. `handler_error` is what a function of the user's has raised.
    - generate: the `generation` with its `pace`; the `slot` and the part of the prompt for `reuse` that the engine had.
    - write, schedule, apply faults: the `reply`, its `timeline`, and the faults that were `applied` to it.
    """

    context: RequestContext
    request: GenerationRequest | None = None
    refusal: Refusal | None = None
    reply: Reply | None = None
    number: int = 0
    attempt: int = 1
    rule: str | None = None
    prepared: Prepared | None = None
    criteria: tuple[RequestMatcher, ...] = ()
    nearest: tuple[NearMiss, ...] | None = None
    stale: tuple[Mismatch, ...] = ()
    handler_error: str | None = None
    triggered: tuple[TriggeredFault, ...] = ()
    engine: EngineState | None = None
    reservation: Reservation | None = None
    generation: Generation | None = None
    pace: TokenTiming | None = None
    slot: Slot | None = None
    reuse: Reuse | None = None
    timeline: Timeline = NOTHING_YET
    applied: Sequence[TriggeredFault] = ()
    _facts: RequestFacts | None = field(default=None, init=False)

    @property
    def facts(self) -> RequestFacts:
        """What criteria are applied to, and what functions of the user's receive; made when it is first asked for."""
        if self._facts is None:
            self._facts = RequestFacts(self.context, self.request, self.number, self.attempt)
        return self._facts

    @property
    def asks_model(self) -> bool:
        """Whether a model is to answer: the request was accepted, and its operation asks one."""
        return self.request is not None and self.refusal is None

    @property
    def generates(self) -> bool:
        """Whether a model generates something for it, rather than only reads."""
        return self.request is not None and self.refusal is None and self.request.generates

    @property
    def faults(self) -> tuple[str, ...]:
        """The kinds of the faults that were applied."""
        return tuple(each.fault.kind for each in self.applied)

    @property
    def orders(self) -> tuple[object, ...]:
        """What the answer sets going, for the dialect's webhook queue or its history."""
        return self.reply.orders if self.reply is not None else ()

    @property
    def visible_generation(self) -> Generation | None:
        """What the model generates, unless a fault keeps all of it from the client."""
        return None if any(each.leaves_nothing for each in self.applied) else self.generation

    @property
    def by(self) -> str:
        """What has prepared the answer, for messages."""
        return "X-Mockserver-Reply" if self.rule is None else f"stub {self.rule!r}"


# What requests cost: which are too much to be answered, and which take so long that a thread is to answer them.

# What a body has, of any length, if it has a schema; and keywords with which even a short one may be dear.
_SCHEMA = re.compile(rb'"(?:properties|items|enum)"')
_DEAR = re.compile(
    rb'"(?:\$ref|\$dynamicRef|regex|guided_\w+|grammar|definition|pattern\w*|if|not|dependent\w+|unevaluated\w+|contains|'
    rb"(?:all|any|one)Of)\"\s*:"
)
# A body of so many bytes, a compressed one, one with a schema, a prepared text of so many characters, an answer of so
# many tokens, and a prompt of so many tokens to look up in a cache each take some milliseconds.
_LONG_BODY = 65_536
_LONG_PACKED = 2_048
_LONG_TEXT = 20_000
_LONG_SCHEMA = 8_192
_LONG_ANSWER = 2_048
_LONG_PROMPT = 8_192
# How many tokens an answer has at most if its length is not limited.
_USUAL_ANSWER = 512
# How many times as long a word takes if it is weighed against those before it.
_CARE = 4
# The greatest weight of an answer that is given: a second or two of work, and some 100 MB.
_HEAVIEST = 2_000_000
# The weight of a text to embed: for each of its tokens, and for the text itself.
_READ_TOKEN = 2
_READ_TEXT = 128


def too_much(request: GenerationRequest) -> Refusal | None:
    """The refusal of a request whose counts come to too much together, however its answers end; None for others."""
    limits, alternatives = request.limits, request.output.logprobs or 0
    most = limits.context if limits.max_tokens is None else limits.max_tokens
    drawn = ceil(limits.lengths.quantile(1)) if limits.lengths is not None else 0
    length = min(most, limits.context if limits.ignore_eos else max(_USUAL_ANSWER, limits.min_tokens, drawn))
    choices = max(request.n, request.best_of, request.sampling.beams) * len(request.prompts)
    echoed = request.prompt_tokens * request.n if request.output.echo else 0
    if (length * choices + echoed) * (_CARE + alternatives) <= _HEAVIEST:
        return None
    care = 1 if is_plain(request.sampling) else _CARE
    weight = (length * choices + echoed) * (care + alternatives)
    if not request.generates or weight <= _HEAVIEST:
        return None
    message = (
        f"The request asks for too much: {choices} choices of up to {length} tokens, with {alternatives} alternatives "
        f"each, weigh more than {_HEAVIEST} tokens. Reduce the number of prompts or choices, max_tokens or logprobs."
    )
    field, found = ("prompt", len(request.prompts)) if len(request.prompts) > 1 else ("n", request.n)
    violation = Violation((field,), "maximum", message, max(_HEAVIEST * found // weight, 1), found)
    return Refusal(FailureKind.INVALID_REQUEST, message, field, (violation,), model=request.model)


def reads_long(call: Call) -> bool:
    """Whether to read and to answer a call may take more than some milliseconds: by its length, or as it has a schema,
    a pattern or a grammar that may be dear."""
    size = len(call.body)
    if size > (_LONG_PACKED if call.headers.get("content-encoding") else _LONG_BODY):
        return True
    return (size > _LONG_SCHEMA and _SCHEMA.search(call.body) is not None) or _DEAR.search(call.body) is not None


def answers_long(plan: Plan) -> bool:
    """Whether to complete a plan may take more than some milliseconds, by what is asked and what is prepared."""
    request, prepared = plan.request, plan.prepared
    content = prepared.content if prepared is not None else None
    if callable(content):
        return True
    if isinstance(content, ScriptedOutput) and any(len(choice.text) > _LONG_TEXT for choice in content.choices):
        return True
    if request is None or plan.refusal is not None:
        return False
    if plan.engine is not None and plan.engine.prompts is not None and request.prompt_tokens > _LONG_PROMPT:
        return True
    return request.constraint is not None or weight(request) >= _LONG_ANSWER


def weight(request: GenerationRequest) -> int:
    """How much work the answer may be, in tokens.

    A token counts once more for every alternative that is shown, and several times if sampling controls touch the
    words; an echoed prompt counts too. If nothing is generated, what is read counts.
    """
    limits = request.limits
    if request.n < 1:
        return _READ_TOKEN * request.prompt_tokens + _READ_TEXT * len(request.prompts)
    most = limits.max_tokens
    if most is None:
        words = max((detect_intent(prompt.topic).length for prompt in request.prompts), default=0)
        drawn = ceil(limits.lengths.quantile(1)) if limits.lengths is not None else 0
        most = limits.context if limits.ignore_eos else min(limits.context, max(_USUAL_ANSWER, 2 * words, drawn))
    choices = max(request.n, request.best_of) * len(request.prompts)
    care = 1 if is_plain(request.sampling) else _CARE
    alternatives = request.output.logprobs or 0
    echoed = request.prompt_tokens * request.n * (1 + alternatives) if request.output.echo else 0
    return max(most, limits.min_tokens) * choices * (care + alternatives) + echoed
