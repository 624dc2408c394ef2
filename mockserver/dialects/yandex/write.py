"""Answers in the format of `POST /v1/chat/completions` (vendor notes A3, A4 and A6: recorded bodies and streams).

"Absent keys are omitted, never null." Yandex' own models send a few large chunks, vLLM one for each token.

The form of tool calls today is `tool_calls`; the older one, for `functions`, is `function_call`. Only a plain answer
has the full form of a custom tool's call: chunks only have calls of functions, so its input is sent as arguments.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.json_values import without_blanks
from mockserver.core.seeding import hex_digits, uuid4_text
from mockserver.core.timeline import Reply, TokenTiming
from mockserver.dialects.openai.events import batches
from mockserver.dialects.openai.flavour import NOTHING, Flavour, Members, Rendering, Segment
from mockserver.dialects.openai.flavour import write as write_answer
from mockserver.dialects.openai.logprobs import chat_logprobs
from mockserver.dialects.yandex.models import Backend, ModelUri, backend_of, parse_uri

_ROLE: Members = {"role": "assistant"}
# The first word counts no more tokens than this: the first chunk ends there at the latest.
_LONGEST_WORD = 5
# "chunks of ~10-20 tokens"
_SMALLEST, _LARGEST = 10, 20


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks, in the format of the model's engine."""
    backend = backend_of(_uri(generation).name)
    flavour = _LARGE_CHUNKS if backend.large_chunks else _TOKENS
    return write_answer(flavour._replace(stream_headers=backend.stream_headers), generation, pace, scope)


def _uri(generation: Generation) -> ModelUri:
    return parse_uri(generation.request.model) or ModelUri("gpt", "", generation.request.model)


def _around(rendering: Rendering) -> Members:
    uri = _uri(rendering.generation)
    backend = backend_of(uri.name)
    return {
        "id": backend.id_prefix + uuid4_text(rendering.scope.identity, "id"),
        "created": int(rendering.scope.now),
        "model": str(uri) if backend.names_folder else uri.without_folder,
    }


def _counts(rendering: Rendering) -> Members:
    """Token counts in the recorded order: prompt, total, completion; and the details, if there are any."""
    usage = rendering.generation.usage
    counts: dict[str, Any] = {
        "prompt_tokens": usage.prompt_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens": usage.completion_tokens,
    }
    if usage.unseen is not None:
        # The page's breakdown. "Like reasoning tokens", rejected ones "are still counted in the total".
        counts["completion_tokens_details"] = {
            "accepted_prediction_tokens": usage.unseen.accepted,
            "reasoning_tokens": usage.unseen.reasoning,
            "rejected_prediction_tokens": usage.unseen.rejected,
        }
    if usage.cached_tokens:
        counts["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    return counts


def _choice_members(rendering: Rendering, choice: Choice) -> Members:
    message: dict[str, Any] = {"role": "assistant"}
    if choice.refusal:
        # "With tool calls `content` is `""` (not null)"; we assume the same of a refusal.
        message |= {"content": "", "refusal": choice.text}
    elif choice.texts or choice.calls or not choice.thoughts:
        # It is omitted if the limit was reached while the model was still thinking: users read null there.
        message["content"] = choice.text
    message |= _whole_calls(choice, _call_form(rendering), in_chunk=False)
    if choice.thoughts:
        # The last member as in vLLM's answers.
        message["reasoning_content"] = "".join(choice.thoughts)
    # Only the tokens of the message's text have log-probabilities, those of calls have none.
    if rendering.generation.request.output.logprobs is None or (choice.calls and not choice.texts):
        return {"message": message}
    rows = chat_logprobs(choice)
    # The page has `refusal` beside `content`; an absent key is omitted.
    return {"message": message, "logprobs": {"content": [], "refusal": rows} if choice.refusal else {"content": rows}}


# --- tool calls --------------------------------------------------------------------------------------------------


class _CallForm(NamedTuple):
    """How a model's engine writes its calls.

    With `repeats` the later fragments of a call repeat the keys of the first with empty strings; with `typeless` the
    first has an empty type as well. In a stream, calls that the model chose to make lack their finish reason if
    `unended`; calls that a request required `leak` a special token of the model beside it.
    """

    backend: Backend
    identity: int
    repeats: bool
    typeless: bool
    legacy: bool
    unended: bool
    leak: bool


def _call_form(rendering: Rendering) -> _CallForm:
    """The form for a model in an edition: only in the observed one does vLLM repeat keys."""
    # "(gemma: `type` is `""` even in the first fragment.)"
    name, choice = _uri(rendering.generation).name, rendering.generation.request.tool_choice
    backend, observed = backend_of(name), rendering.scope.edition == "observed"
    broken = observed and backend.unfinished_calls and not choice.legacy
    return _CallForm(
        backend,
        rendering.scope.identity,
        repeats=observed,
        typeless=observed and name.startswith("gemma"),
        legacy=choice.legacy,
        unended=broken and choice.mode == "auto",
        leak=broken and choice.mode == "required",
    )


def _whole_calls(choice: Choice, form: _CallForm, *, in_chunk: bool) -> Members:
    """All calls as members of a message, or of a delta, in which every call is a function's and has its index."""
    if not choice.calls:
        return NOTHING
    # The arguments, even cut short, without white space between tokens if the engine writes none.
    compact = form.backend.compact_calls
    arguments = [
        without_blanks(call.arguments) if compact and call.kind == "function" else call.arguments
        for call in choice.calls
    ]
    if form.legacy:
        return {"function_call": {"name": choice.calls[0].name, "arguments": arguments[0]}}
    items = []
    for place, (call, text) in enumerate(zip(choice.calls, arguments, strict=True)):
        # "D1 tool_calls items carry `index` even non-streaming"
        indexed = {"index": place} if in_chunk or form.backend.indexed_calls else NOTHING
        kind = "function" if in_chunk else call.kind
        said = {"name": call.name, "arguments" if kind == "function" else "input": text}
        items.append({**indexed, "id": _call_id(choice, place, form), "type": kind, kind: said})
    return {"tool_calls": items}


def _call_id(choice: Choice, place: int, form: _CallForm) -> str:
    # "the D1 tool id equals the function name"; "chatcmpl-tool-<32hex>"
    if form.backend.named_calls:
        return choice.calls[place].name
    return f"chatcmpl-tool-{hex_digits(form.identity, 32, 'call', choice.index, place)}"


def _fragments(choice: Choice, form: _CallForm, slot: object) -> Iterator[Segment]:
    """A call each: "first fragment has id + name", "follow-ups repeat empty strings", or omit the keys."""
    for place, call in enumerate(choice.calls):
        function = {"name": call.name, "arguments": ""}
        if form.legacy:
            yield Segment({"function_call": {"arguments": slot}}, call.texts, head={"function_call": function})
            continue
        kind = "" if form.typeless else "function"
        head = {"index": place, "id": _call_id(choice, place, form), "type": kind, "function": function}
        goes_on: Members = {"index": place, "function": {"arguments": slot}}
        if form.repeats:
            goes_on = {"index": place, "id": "", "type": "", "function": {"name": "", "arguments": slot}}
        yield Segment({"tool_calls": [goes_on]}, call.texts, head={"tool_calls": [head]})


# --- streams -----------------------------------------------------------------------------------------------------


def _text(rendering: Rendering, choice: Choice, first: Members = NOTHING) -> Segment:
    scored = rendering.generation.request.output.logprobs is not None
    delta = {_text_key(choice): rendering.flavour.encoding.slot}
    return Segment(delta, choice.texts, first=first, beside=partial(_scores, choice) if scored else None)


def _text_key(choice: Choice) -> str:
    return "refusal" if choice.refusal else "content"


def _scores(choice: Choice, at: range) -> Members:
    """The log-probabilities of a chunk's own tokens."""
    # "refusal[] [...] Required field", but only in a stream.
    rows = chat_logprobs(choice, at.start, at.stop)
    return {"logprobs": {"content": [], "refusal": rows} if choice.refusal else {"content": rows, "refusal": []}}


def _large_segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """The text, with the role in its first chunk; and "one single chunk: delta {role, tool_calls:[whole call]}"."""
    text = [_text(rendering, choice, _ROLE)] if choice.texts else []
    if not choice.calls:
        return text
    whole = _whole_calls(choice, _call_form(rendering), in_chunk=True)
    tokens = choice.steps - len(choice.texts)
    return [*text, Segment(head=whole, head_tokens=tokens, first=NOTHING if text else _ROLE)]


def _large_closing(rendering: Rendering, choice: Choice) -> Members | None:
    """ "finish_reason on the last content chunk": only an answer without any content has a chunk for it."""
    if choice.texts or choice.calls:
        return None
    scored = rendering.generation.request.output.logprobs is not None
    return {"delta": {**_ROLE, _text_key(choice): ""}, **(_scores(choice, range(0)) if scored else NOTHING)}


def token_groups(texts: Sequence[str], key: int, smallest: int = _SMALLEST, largest: int = _LARGEST) -> Iterator[range]:
    """The tokens of each chunk: the first word alone, then 10 to 20 (or others) at a time, as derived from `key`.

    A text that is cut short is divided at the same places. An empty text is one empty group.
    """
    start = _first_word(texts)
    yield range(start)
    yield from batches(start, len(texts), smallest, largest, key)


def _first_word(texts: Sequence[str]) -> int:
    """The number of tokens of the first word, which ends before the next token that begins with white space."""
    longest = min(len(texts), _LONGEST_WORD)
    return next((count for count in range(1, longest) if texts[count][:1].isspace()), longest)


def _is_role_apart(rendering: Rendering) -> bool:
    return backend_of(_uri(rendering.generation).name).role_apart


def _opening(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """ "role chunk, one token per chunk": the role alone, or with the first token, if there is one."""
    if _is_role_apart(rendering):
        return ({"delta": _ROLE},)
    return () if choice.answer_tokens else ({"delta": {**_ROLE, _text_key(choice): ""}},)


def _segments(rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    form, slot = _call_form(rendering), rendering.flavour.encoding.slot
    role = NOTHING if form.backend.role_apart else _ROLE
    thoughts = Segment({"reasoning_content": slot}, choice.thoughts)
    text = _text(rendering, choice, role)
    if not (choice.calls and form.backend.whole_calls):
        return [thoughts, text, *_fragments(choice, form, slot)]
    tokens = sum(call.steps for call in choice.calls)
    whole = _whole_calls(choice, form, in_chunk=True)
    return [thoughts, text, Segment(head=whole, head_tokens=tokens, first=NOTHING if choice.texts else role)]


def _closing(rendering: Rendering, choice: Choice) -> Members:
    """The delta beside the finish reason; none at all where streams of calls lack their end."""
    form = _call_form(rendering)
    if choice.finish_reason != "tool_calls" or not (form.unended or form.leak):
        return {"delta": {}}
    return {"delta": {**_ROLE, "content": "[TOOL_CALL_END]"}} if form.leak else NOTHING


_TOKENS = Flavour(
    around=_around,
    counts=_counts,
    choice_members=_choice_members,
    opening=_opening,
    segments=_segments,
    closing=_closing,
    unset=lambda rendering: NOTHING,
    plain=partial(orjson.dumps, option=orjson.OPT_APPEND_NEWLINE),
)
_LARGE_CHUNKS = _TOKENS._replace(
    opening=lambda rendering, choice: (),
    segments=_large_segments,
    closing=_large_closing,
    groups=lambda rendering, choice, texts, step: token_groups(texts, choice.seed),
)
