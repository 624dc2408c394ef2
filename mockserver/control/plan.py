"""From a call to a plan: the whole way of a request, in two pure functions.

    hear:   call -> visit -> credentials -> read -> question (or the plan of a refusal)
    answer: question -> generate -> pace -> write -> assemble -> plan

Nothing here waits, reads a clock or writes: the plan says what is sent and when, and the player performs it.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import orjson

from mockserver.control import caches
from mockserver.control.engines import EngineState, Slot
from mockserver.control.prompt_cache import Reuse
from mockserver.control.routing import Landing
from mockserver.control.settings import Settings
from mockserver.control.strikes import Strike
from mockserver.control.stubs.book import Near
from mockserver.control.visits import Visit, paced, visit_of
from mockserver.core.caches import Cache
from mockserver.core.calls import Call
from mockserver.core.dialects import Operation
from mockserver.core.failures import FailureKind, Rejection, Violation
from mockserver.core.generation import Generation, GenerationRequest, Lengths, Measures
from mockserver.core.ledgers import Ledger
from mockserver.core.outbox import Outbox
from mockserver.core.quotas import Standing
from mockserver.core.seeding import derive, hex_digits
from mockserver.core.timeline import Frames, Pace, RawHeaders, Reply, Timeline
from mockserver.faults.speech import give_the_same_answer, with_changed_choices
from mockserver.generation.generate import generate
from mockserver.generation.intent import detect_intent
from mockserver.generation.prepared import Speech, speak
from mockserver.generation.refusals import word_refusals
from mockserver.generation.sampling import is_plain
from mockserver.generation.unseen import with_prediction_recounted
from mockserver.latency.assemble import assemble
from mockserver.latency.pace import delayed, instant, pace, recorded

# How many tokens an answer has at most if its length is not limited.
_USUAL_ANSWER = 512
# How many times as long a word takes if it is weighed against those before it.
_CARE = 4
# The greatest weight of an answer that is given: a second or two of work, and some 100 MB.
_HEAVIEST = 2_000_000
# The weight of a text to embed: for each of its tokens, and for the text itself.
_READ_TOKEN = 2
_READ_TEXT = 128


class Plan(NamedTuple):
    """What will be answered, and why: the timeline, the facts that explain it, and the faults that have `struck` it.

    `rule` is the stub that decided the answer; `nearest` are the closest stubs if none matched; `attempt` counts the
    tries of the same request; `trouble` is what a function of the user's has raised; `slot` and `reuse` are what it has
    got from its engine; `orders` are for the dialect's outbox.
    """

    timeline: Timeline
    visit: Visit
    request: GenerationRequest | None = None
    pace: Pace | None = None
    generation: Generation | None = None
    rejection: Rejection | None = None
    slot: Slot | None = None
    reuse: Reuse | None = None
    struck: tuple[Strike, ...] = ()
    rule: str | None = None
    nearest: tuple[Near, ...] | None = None
    attempt: int = 1
    trouble: str | None = None
    orders: tuple[object, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        """The kinds of the faults that have struck."""
        # On the path of every request, of which hardly any is struck.
        return tuple(strike.fault.kind for strike in self.struck) if self.struck else ()

    @property
    def visible_generation(self) -> Generation | None:
        """What the model generates, unless a fault keeps all of it from the client."""
        return None if self.struck and any(strike.leaves_nothing for strike in self.struck) else self.generation


class Question(NamedTuple):
    """A call whose body has been read and accepted, and which is still to be answered.

    If it is `kept`, equal calls share its request object.
    """

    visit: Visit
    request: GenerationRequest
    kept: bool = False

    def repeated_by(self, call: Call) -> "Question":
        """The same question from another call, which differs only in its time."""
        visit, site = self.visit, self.visit.site
        if visit.settings.created is None:
            site = site._replace(now=call.received_at)
        return self._replace(visit=visit._replace(call=call, site=site))

    @property
    def speaks(self) -> bool:
        """Whether a model generates something for it, rather than only reads."""
        return self.request.speaks

    @property
    def weight(self) -> int:
        """How much work the answer may be, in tokens.

        A token counts once more for every alternative that is shown, and several times if sampling controls touch the
        words; an echoed prompt counts too. If nothing is generated, what is read counts.
        """
        request, limits = self.request, self.request.limits
        if not request.speaks:
            return _READ_TOKEN * request.prompt_tokens + _READ_TEXT * len(request.prompts)
        most = limits.max_tokens
        if most is None:
            words = max((detect_intent(prompt.topic).length for prompt in request.prompts), default=0)
            drawn = ceil(limits.lengths.quantile(1)) if limits.lengths is not None else 0
            most = limits.context if limits.ignore_eos else min(limits.context, max(_USUAL_ANSWER, 2 * words, drawn))
        choices = max(request.n, request.best_of) * len(request.prompts)
        care = 1 if is_plain(request.sampling) else _CARE
        rivals = request.output.logprobs or 0
        echoed = request.prompt_tokens * request.n * (1 + rivals) if request.output.echo else 0
        return max(most, limits.min_tokens) * choices * (care + rivals) + echoed


# What a call comes to before any state is looked at: a question for the model, or the plan at once.
Heard = Question | Plan

# Recent questions, by all that distinguishes calls but their time.
_heard: Cache[tuple[object, ...], Question] = caches.cache("heard")


def hear(
    call: Call,
    landing: Landing,
    settings: Settings,
    salt: int = 0,
    standings: tuple[Standing, ...] = (),
    outbox: Outbox | None = None,
    ledger: Ledger | None = None,
) -> Heard:
    """The question that a call asks; or at once the plan of a refusal, or of an answer without a model.

    `salt` makes the ids of equal calls differ; `standings` are the caller's quotas; answers without a model may read
    the `outbox` and the `ledger`, and so may requests that depend on earlier answers.
    Raises WishError if one of our own headers cannot be obeyed.
    """
    if outbox is not None or ledger is not None:
        visit = visit_of(call, landing, settings, salt, standings)
        return _hear(visit._replace(site=visit.site._replace(outbox=outbox, ledger=ledger)))
    if len(call.body) > caches.LONGEST_CALL:
        return _hear(visit_of(call, landing, settings, salt, standings))
    key = (id(landing), call.method, call.query, call.headers.raw, call.body)
    known = _heard.find(key)
    if known is not None and known.visit.landing is landing and known.visit.settings is settings:
        if not salt and not standings:
            return known.repeated_by(call)
        heard: Heard = known
    else:
        heard = _hear(visit_of(call, landing, settings))
        if isinstance(heard, Question):
            heard = heard._replace(kept=True)
            _heard.keep(key, heard, caches.size_of(call.body))
    if not salt and not standings:
        return heard
    # What is asked depends on neither of them.
    visit = visit_of(call, landing, settings, salt, standings)
    return heard._replace(visit=paced(visit, heard.request.model)) if isinstance(heard, Question) else _hear(visit)


def _hear(visit: Visit) -> Heard:
    call, landing = visit.call, visit.landing
    operation = landing.operation
    if operation is None:
        return _plan_of(landing.dialect.unrouted(call, visit.site, landing.allowed), visit)
    fault = _credentials_fault(visit, operation)
    if fault is not None:
        return refuse(fault, visit)
    if operation.answer is not None:
        return _plan_of(operation.answer(call, visit.site), visit)
    request = operation.read(call, visit.site)
    if isinstance(request, Rejection):
        return refuse(request, visit)
    request = of_lengths(request, visit.lengths)
    too_much = _too_much(request)
    return refuse(too_much, visit) if too_much is not None else Question(paced(visit, request.model), request)


def _too_much(request: GenerationRequest) -> Rejection | None:
    """The refusal of a request whose counts come to too much together, however its answers end; None for others."""
    limits, rivals = request.limits, request.output.logprobs or 0
    most = limits.context if limits.max_tokens is None else limits.max_tokens
    drawn = ceil(limits.lengths.quantile(1)) if limits.lengths is not None else 0
    length = min(most, limits.context if limits.ignore_eos else max(_USUAL_ANSWER, limits.min_tokens, drawn))
    choices = max(request.n, request.best_of, request.sampling.beams) * len(request.prompts)
    echoed = request.prompt_tokens * request.n if request.output.echo else 0
    weight = (length * choices + echoed) * (1 + rivals)
    if not request.speaks or weight <= _HEAVIEST:
        return None
    message = (
        f"The request asks for too much: {choices} choices of up to {length} tokens, with {rivals} alternatives each, "
        f"are more than {_HEAVIEST} tokens together. Reduce the number of prompts or choices, max_tokens or logprobs."
    )
    violation = Violation(("n",), "maximum", message, max(_HEAVIEST * request.n // weight, 1), request.n)
    return Rejection(FailureKind.INVALID_REQUEST, message, "n", (violation,), model=request.model)


def of_lengths(request: GenerationRequest, lengths: Lengths | None) -> GenerationRequest:
    """The request, whose answers have these lengths."""
    if request.limits.lengths is lengths:
        return request
    return request._replace(limits=request.limits._replace(lengths=lengths))


def answer(
    question: Question,
    strikes: Sequence[Strike] = (),
    engine: EngineState | None = None,
    speech: Speech | None = None,
    measures: Measures | None = None,
) -> Plan:
    """The plan of an answer: generate, pace, write. Only faults of the model itself are applied here.

    If the `engine` has limited slots, one of them is taken. The model says the `speech` if there is one, or states
    the `measures`.
    """
    visit, request = question.visit, question.request
    generation = _generation(question, speech)
    if measures is not None:
        generation = generation._replace(measures=measures, prepared=True)
    generation, struck = _struck(generation, strikes) if strikes else (generation, ())
    generation, reuse, slot = word_refusals(generation), None, None
    if engine is not None and engine.prompts is not None:
        reuse = engine.prompts.look_up(request)
        generation = _with_reuse(generation, reuse, speech)
    timing = _timing(question, generation, speech)
    if engine is not None and engine.slots is not None:
        taken = engine.slots.take(timing)
        if isinstance(taken, Rejection):
            return refuse(taken, visit, request)
        timing, slot = taken
    operation = visit.landing.operation
    assert operation is not None, "a question is asked of an operation"
    written = operation.write(generation, timing, visit.site)
    if isinstance(written, Rejection):
        return refuse(written, visit, request)
    timeline = assemble(_headed(written, visit), timing)
    return Plan(timeline, visit, request, timing, generation, slot=slot, reuse=reuse, struck=struck)


def _generation(question: Question, speech: Speech | None) -> Generation:
    """What the model says, its own words or those of a speech."""
    request, seed = question.request, question.visit.site.seed
    if speech is not None:
        return speak(request, speech, seed)
    return caches.generated(request, seed) if question.kept else generate(request, seed)


def _with_reuse(generation: Generation, reuse: Reuse, speech: Speech | None) -> Generation:
    """The generation with the usage of a prompt that is partly cached, unless a speech states it."""
    if speech is not None and speech.counts.cached_tokens is not None:
        return generation
    usage = generation.usage._replace(cached_tokens=reuse.cached, written_tokens=reuse.written)
    return generation._replace(usage=usage)


def _timing(question: Question, generation: Generation, speech: Speech | None) -> Pace:
    """The pace of the engine, with the delays that a speech prescribes."""
    visit, request, unseen = question.visit, question.request, generation.usage.unseen
    # Thoughts that are shown take decoding steps like the rest of the answer; hidden ones take time before it.
    shown = max((len(choice.thoughts) for choice in generation.choices), default=0) if request.output.reasoning else 0
    hidden = unseen.reasoning if unseen is not None and not shown else 0
    key = derive(visit.site.seed, "pace", generation.fingerprint)
    prompt_tokens = max(request.prompt_tokens - generation.usage.cached_tokens, 0)
    timing = pace(visit.profile, generation.steps, prompt_tokens, key, hidden)
    if speech is None:
        return timing
    delays = (*[None] * shown, *speech.delays)
    return delayed(timing, delays, generation.steps, apart=request.output.stream and bool(speech.pieces))


def _struck(generation: Generation, strikes: Sequence[Strike]) -> tuple[Generation, tuple[Strike, ...]]:
    """The generation after the faults of the model itself, and those of them that have changed it."""
    struck: list[Strike] = []
    for strike in strikes:
        if strike.kind.says is None:
            continue
        changed = with_prediction_recounted(with_changed_choices(generation, strike.fault, strike.kind.says))
        if not give_the_same_answer(generation, changed):
            struck.append(strike)
        generation = changed
    return generation, tuple(struck)


def plan_reply(reply: Reply, heard: Heard, times: Sequence[float] = ()) -> Plan:
    """The plan of a given answer, at the pace of a generated one with as many tokens as it has events.

    If it has `times`, its events are sent at these, unless the request's own header sets the latency.
    """
    visit, request = heard.visit, heard.request
    steps = sum(len(frames.data) for frames in reply.frames)
    key = derive(visit.site.seed, "pace", visit.site.identity)
    timing = instant(steps) if request is None else pace(visit.profile, steps, request.prompt_tokens, key)
    if times and not visit.call.headers.get("x-mockserver-latency"):
        timing = recorded(times, visit.settings.speed)
    headed = _headed(reply, visit)
    # The answer's own headers replace the vendor's.
    headers = tuple(reversed(dict(reversed(headed.headers)).items()))
    return Plan(assemble(headed._replace(headers=headers), timing), visit, request, timing)


def plan_refusal(rejection: Rejection, call: Call, landing: Landing, settings: Settings) -> Plan:
    """The plan of a refusal that comes before everything else, such as that of a body that is too large."""
    return refuse(rejection, visit_of(call, landing, settings, 0))


def _credentials_fault(visit: Visit, operation: Operation) -> Rejection | None:
    """Why the credentials of a call are not accepted; None if they are, or if the operation needs none."""
    credentials, auth = visit.landing.dialect.credentials, visit.settings.auth
    if auth == "off" or credentials is None or not operation.secured:
        return None
    key = credentials(visit.call)
    if key is None:
        return Rejection(FailureKind.MISSING_CREDENTIALS)
    accepted = (auth,) if isinstance(auth, str) else auth
    return None if auth == "any" or key in accepted else Rejection(FailureKind.UNAUTHORIZED, key=key)


def _plan_of(outcome: Reply | Rejection, visit: Visit) -> Plan:
    """The plan of an answer without a model."""
    if isinstance(outcome, Rejection):
        return refuse(outcome, visit)
    return Plan(assemble(_headed(outcome, visit), instant(0)), visit, orders=outcome.orders)


def refuse(rejection: Rejection, visit: Visit, request: GenerationRequest | None = None) -> Plan:
    """The plan of a refusal in the vendor's words, those for streams if the request asks for one."""
    row = visit.landing.dialect.errors[visit.site.edition][rejection.kind]
    streams = rejection.streamed or (request is not None and request.output.stream and rejection.status is None)
    streamed = streams and row.streamed is not None
    if streams and row.streamed is not None:
        row = row.streamed
    body = row.body(rejection, rejection.message or row.message)
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    resets = tuple((name, b"%d" % ceil(visit.site.now + seconds)) for name, seconds in row.resets)
    headers: RawHeaders = ((b"content-type", row.content_type), *row.headers, *resets, *rejection.headers)
    if row.status == 405:
        headers = (*headers, (b"allow", ", ".join(visit.landing.allowed).encode()))
    reply = Reply(rejection.status or row.status, headers, (Frames((data,), (0,), (0,)),), streamed)
    headed = _headed(reply, visit._replace(site=visit.site._replace(refused=rejection.kind)))
    return Plan(assemble(headed, instant(0)), visit, request, rejection=rejection)


def _headed(reply: Reply, visit: Visit) -> Reply:
    """The reply with the headers of every answer: the vendor's, and our own."""
    own: RawHeaders = ()
    if not visit.settings.strict:
        own = (
            (b"x-mockserver-request-id", hex_digits(visit.site.identity, 16, "request").encode()),
            (b"x-mockserver-seed", b"%d" % visit.site.seed),
        )
    headers = (*reply.headers, *visit.landing.dialect.headers(visit.call, visit.site), *own)
    return Reply(reply.status, headers, reply.frames, reply.streamed)
