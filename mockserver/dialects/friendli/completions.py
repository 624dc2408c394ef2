"""The three completions endpoints; and what texts are to the models: token ids, texts of chats, vectors.

    body -> schema -> checks between fields -> model -> request -> checks against model and prompt -> timeout

Each stage refuses with all violations that it finds, and ends the way. By the page, streams have `token_sampled`
events and one `complete` event, without `[DONE]`; today's keys are in alphabetical order, as the engine was recorded to
send them (vendor note B3). All models here share one vocabulary (note B6, SDK 0.16).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from mockserver.core.dialects import Edition, Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import Choice, Generation, GenerationRequest, Limits, Output, Position, Sampling
from mockserver.core.http import Call, FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.core.seeding import derive, fingerprint, hex_digits
from mockserver.dialects.friendli.chats import is_late, spaced
from mockserver.dialects.friendli.checks import CHECKS, conflicts, read_format
from mockserver.dialects.friendli.errors import invalid
from mockserver.dialects.friendli.read import (
    NO_STOPS,
    FriendliOptions,
    Place,
    beyond_window,
    contract_of,
    ints,
    json_body,
    misfits,
    options_of,
    read_limits,
    read_sampling,
    read_stops,
    read_timeout,
    valid_body,
    without_unknown,
)
from mockserver.dialects.openai.embeddings import EmbeddingForm, embedding_request, embedding_rows
from mockserver.dialects.openai.read import Body, text_prompt, text_prompts, whole
from mockserver.dialects.openai.replies import (
    EVENT_STREAM,
    NOTHING,
    Flavour,
    Members,
    Rendering,
    Segment,
    body_reply,
    legacy_logprobs,
    usage_object,
    write,
)
from mockserver.dialects.openai.streams import at_step, legacy_scores, weave
from mockserver.model import tokens
from mockserver.model.intent import detect_intent
from mockserver.model.logprobs import positions, scale

# The vendor's evaluation harness writes these as a batch of one, `"tokens": [[1, 2]]`, which the page does not say.
_IN_BATCHES = ("tokens", "forced_output_tokens")
# What takes the place of tokens of the prompt, or stands ahead of them.
_VECTORS = ("token_index_to_replace", "embedding_to_replace", "soft_prompts")


def read_completion(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request to a place, or its refusal."""
    edition = scope.edition
    sent = json_body(call.body)
    if isinstance(sent, Refusal):
        return sent
    body = without_unknown(sent, edition, "CompletionFields")
    if edition == "documented":
        body = {**body, **{name: _alone(body[name]) for name in _IN_BATCHES if name in body}}
    contract = contract_of("CompletionRequest", place, edition)
    if not contract.accepts(body):
        return invalid(contract.violations(body))
    violations = conflicts(body, CHECKS[edition])
    if body.get("prompt") is None and body.get("tokens") is None:
        # "Either prompt or tokens field is required."
        violations.insert(0, Violation(("prompt",), "required", "Field required"))
    if violations:
        return invalid(violations)
    asked = place(body.get("model"), scope)
    if isinstance(asked, Refusal):
        return asked
    name, model = asked
    request = _request(body, name, model, edition)
    return misfits(body, request, model) or request


def _request(body: Body, name: str, model: Model, edition: Edition) -> GenerationRequest:
    prompt = body.get("prompt")
    prompts = (text_prompt(ints(body["tokens"])),) if prompt is None else text_prompts(prompt)
    if any(map(body.get, _VECTORS)):
        # The model reads them, but they have no text.
        read = fingerprint(orjson.dumps([*map(body.get, _VECTORS)]))
        prompts = tuple([each._replace(text=f"{read}\n{each.text}") for each in prompts])
    forced, limits = ints(body.get("forced_output_tokens")), read_limits(body, model, prompts)
    if forced:
        # As many tokens as are forced, or as many of them as are allowed.
        most = len(forced) if limits.max_tokens is None else min(limits.max_tokens, len(forced))
        limits = Limits(most, ignore_eos=True, context=limits.context)
    logprobs, logits = bool(body.get("include_output_logprobs")), bool(body.get("include_output_logits"))
    beams = int(body.get("num_beams") or 1)
    return GenerationRequest(
        model=name,
        prompts=prompts,
        output=Output(
            stream=bool(body.get("stream")),
            include_usage=bool((body.get("stream_options") or {}).get("include_usage")),
            logprobs=0 if logprobs or logits else whole(body.get("logprobs")),
            token_ids=True,
        ),
        limits=limits,
        stops=NO_STOPS if forced else read_stops(body),
        sampling=read_sampling(body),
        constraint=None if forced else read_format(body, edition),
        n=int(body.get("n") or 1),
        # One beam is no search. As in the search that the page names as similar, there are twice as many candidates as
        # beams.
        best_of=2 * beams if beams > 1 else 1,
        extra=FriendliOptions(read_timeout(body), forced, logprobs, logits),
    )


def _alone(value: Any) -> Any:
    """The list in a batch of one; any other value as it is."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value


# --- answers ---------------------------------------------------------------------------------------------------------


def write_completion(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply | Refusal:
    """A completion as in the page, or as today's service sends it; or a refusal if it takes too long."""
    if scope.edition == "documented" and is_late(generation, pace):
        return Refusal(FailureKind.TIMEOUT)
    forced = options_of(generation.request).forced
    if forced and not generation.prepared:
        choices = [_enforced(choice, forced, generation.request) for choice in generation.choices]
        generation = generation._replace(choices=tuple(choices))
    if scope.edition == "observed":
        return write(_COMPLETION, generation, pace, scope)
    if generation.request.output.stream:
        return Reply(200, ((b"content-type", EVENT_STREAM),), LazyFrames(partial(_events, generation)), streamed=True)
    return body_reply(spaced(_answer(generation)), generation)


def _enforced(choice: Choice, forced: tuple[int, ...], request: GenerationRequest) -> Choice:
    """The choice with the tokens of `forced_output_tokens`: "a token sequence that is enforced as a generation output".

    The model has generated a text of the same length, whose timing is kept. The scores are those of the forced tokens:
    they depend on the model, the prompt and the preceding tokens, but on no seed, as needed by an evaluation that
    compares the likelihood of several answers to one question.
    """
    ids = forced[: len(choice.ids)]
    texts, scores = tokens.texts(ids), list[Position]()
    if choice.positions:
        likely = scale(Sampling(), detect_intent(choice.prompt.topic).language)
        key = derive(0, "forced", request.model, choice.prompt.text)
        for token, text in zip(ids, texts, strict=True):
            key = derive(key, token)
            scores += positions((token,), (text,), request.output.logprobs or 0, key, likely)
    reason = choice.finish_reason if len(ids) < len(forced) else "stop"
    return choice._replace(ids=ids, texts=texts, finish_reason=reason, positions=tuple(scores))


# --- answers of today ------------------------------------------------------------------------------------------------


def _around(rendering: Rendering) -> Members:
    """A body has no `created`, a chunk no `model`. A container is called without a model's name, and states none."""
    model, scope = rendering.generation.request.model, rendering.scope
    around = {"id": f"cmpl-{hex_digits(scope.identity, 32, 'id')}", "created": int(scope.now)}
    return {**around, "model": model} if model else around


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    scored = rendering.generation.request.output.logprobs is not None
    # "The starting character position of each token in the generated text." "The number of items in each dictionary
    # matches the value of `logprobs`", so a token that is not among the likeliest is not added to them.
    logprobs = {"logprobs": legacy_logprobs(choice.texts, choice.positions, 0, with_own=False)} if scored else NOTHING
    return {**logprobs, "seed": choice.seed, "text": choice.text, "tokens": list(choice.ids)}


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """A chunk for each token, with its id."""

    def delta(at: range) -> Members:
        return {"text": choice.texts[at.start], "token": choice.ids[at.start]}

    return (Segment(delta, choice.texts, beside=legacy_scores(rendering, choice, 0, with_own=False)),)


_COMPLETION = Flavour(
    around=_around,
    counts=lambda rendering: dict(sorted(usage_object(rendering.generation.usage).items())),
    choice_members=_choice_members,
    segments=_segments,
    # The finish reason comes alone: "text":"" and no `token`.
    closing=lambda rendering, choice: {"logprobs": None, "text": ""},
    kind="text_completion",
    chunk_kind="text_completion",
    body=("choices", "id", "model", "object", "usage"),
    chunk=("choices", "created", "id", "object", "usage"),
    choice=("finish_reason", "index", "logprobs", "seed", "text", "tokens"),
    part=("finish_reason", "index", "logprobs", "text", "token"),
)

# --- answers of the page ---------------------------------------------------------------------------------------------

# What stands between the logits of a position and its log-probabilities: the same number everywhere.
_LOG_PARTITION = 18.0


def _events(generation: Generation) -> Iterator[FrameBatch]:
    yield from weave([_token_events(choice) for choice in generation.choices])
    # On one line, though the page prints it on many, since its client reads line by line; and without a `token`.
    yield at_step(generation.last_step, (_event({"event": "complete", **_answer(generation)}),))


def _token_events(choice: Choice) -> Iterator[FrameBatch]:
    for step, (text, token) in enumerate(zip(choice.texts, choice.ids, strict=True)):
        sampled = {"event": "token_sampled", "index": choice.index, "text": text, "token": token}
        yield FrameBatch((_event(sampled),), (step,), (1,))


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + spaced(value) + b"\n\n"


def _answer(generation: Generation) -> Members:
    options = options_of(generation.request)
    choices = []
    for choice in generation.choices:
        # One number for each token: the vendor's own evaluation tool sums them up; logits are a guess.
        logprobs = [position.logprob for position in choice.positions]
        members: dict[str, Any] = {"index": choice.index, "seed": choice.seed, "text": choice.text}
        members["tokens"] = list(choice.ids)
        if options.logprobs:
            members["logprobs"] = logprobs
        if options.logits:
            members["logits"] = [round(logprob + _LOG_PARTITION, 6) for logprob in logprobs]
        choices.append(members)
    return {"choices": choices, "usage": usage_object(generation.usage)}


# --- token ids, and the texts of chats -------------------------------------------------------------------------------


def tokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The token ids of a text."""
    found = valid_body(place, call, scope, "TokenizationRequest")
    return found if isinstance(found, Refusal) else body_reply({"tokens": tokens.encode(found[0]["prompt"])})


def detokenize(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The text of token ids."""
    found = valid_body(place, call, scope, "DetokenizationRequest")
    return found if isinstance(found, Refusal) else body_reply({"text": tokens.decode(ints(found[0]["tokens"]))})


def render_chat(place: Place, call: Call, scope: RequestScope) -> Reply | Refusal:
    """The text that a chat is to the model, up to where the answer begins."""
    found = valid_body(place, call, scope, "ChatRenderRequest")
    return found if isinstance(found, Refusal) else body_reply({"text": _rendered(found[0])})


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


# --- embeddings -------------------------------------------------------------------------------------------------------

# "The length of vector depends on the model": a usual one.
_DIMENSIONS = 1_024


def read_embedding(place: Place, call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or its refusal."""
    found = valid_body(place, call, scope, "EmbeddingRequest")
    if isinstance(found, Refusal):
        return found
    body, name, model = found
    texts, tokens = body.get("input"), body.get("tokens")
    # "Either `input` or `tokens` field is required."
    if texts is None and tokens is None:
        return invalid([Violation(("input",), "required", "Field required")])
    if texts is not None and tokens is not None:
        return invalid([Violation(("tokens",), "conflict", "only one of input and tokens is allowed")])
    form = EmbeddingForm(name, _DIMENSIONS, base64=body.get("encoding_format") == "base64")
    given: Any = tokens if texts is None else texts
    request = embedding_request(name, given, model.context, form)
    longest = max([prompt.token_count for prompt in request.prompts])
    if longest <= model.context:
        return request
    misfit = beyond_window("tokens" if texts is None else "input", longest, model.context)
    return invalid((misfit,), FailureKind.CONTEXT_LENGTH)


def write_embedding(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The vectors, their usage and their model, with the keys in alphabetical order, as all answers of today."""
    body = {
        "created": int(scope.now),
        "data": embedding_rows(generation, "embedding", "index", "object"),
        "id": f"embd-{hex_digits(scope.identity, 32, 'id')}",
        "model": generation.request.model,
        "object": "list",
        "usage": dict(sorted(usage_object(generation.usage).items())),
    }
    return body_reply(body, generation)
