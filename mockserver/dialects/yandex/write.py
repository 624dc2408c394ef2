"""Answers in the format of `POST /v1/chat/completions` (vendor notes A3, A4 and A6: recorded bodies and streams).

"Absent keys are omitted, never null." Yandex' own models send a few large chunks, vLLM one for each token.

The form of tool calls today is `tool_calls`; the older one, for `functions`, is `function_call`. Only a plain answer
has the full form of a custom tool's call: chunks only have calls of functions, so its input is sent as arguments.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from mockserver.core.dialects import Edition, RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.http import Reply, TokenTiming
from mockserver.core.json_values import without_blanks
from mockserver.core.seeding import derive, hex_digits, uuid4_text
from mockserver.dialects.openai.replies import (
    NOTHING,
    Flavour,
    Members,
    Rendering,
    Segment,
    call_id,
    chat_logprobs,
    vllm_usage,
    write,
)
from mockserver.dialects.openai.streams import batches, scores
from mockserver.dialects.yandex.models import Backend

_ROLE: Members = {"role": "assistant"}
# The first word counts no more tokens than this: the first chunk ends there at the latest.
_LONGEST_WORD = 5
# "chunks of ~10-20 tokens"
_SMALLEST, _LARGEST = 10, 20
# Where the one token of an answer is, at most, that waits for the next one.
_HELD = 400


def write_chat(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of chunks, in the format of the model's engine."""
    backend = _backend(generation)
    flavour = _LARGE_CHUNKS[scope.edition] if backend.large_chunks else _OWN if backend.own else _VLLM
    return write(flavour, generation, pace, scope)


def _backend(generation: Generation) -> Backend:
    extra = generation.request.extra
    return extra if isinstance(extra, Backend) else Backend()


def _around(rendering: Rendering, prefix: str = "chatcmpl-") -> Members:
    id_ = prefix + uuid4_text(rendering.scope.identity, "id")
    return {"id": id_, "created": int(rendering.scope.now), "model": rendering.generation.request.model}


def _vllm_around(rendering: Rendering) -> Members:
    """vLLM states the model without the folder."""
    around = _around(rendering)
    scheme, _, rest = around["model"].partition("://")
    return {**around, "model": f"{scheme}://{rest.partition('/')[2]}"}


def _counts(rendering: Rendering) -> Members:
    """Token counts as vLLM orders them (recorded), and the details, if there are any."""
    usage = rendering.generation.usage
    counts: dict[str, Any] = vllm_usage(usage)
    if usage.unseen is not None:
        # The page's breakdown. "Like reasoning tokens", rejected ones "are still counted in the total".
        counts["completion_tokens_details"] = {
            "accepted_prediction_tokens": usage.unseen.accepted,
            "audio_tokens": 0,
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
    if choice.calls:
        message |= _whole_calls(rendering, choice, in_chunk=False)
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


def _whole_calls(rendering: Rendering, choice: Choice, *, in_chunk: bool) -> Members:
    """All calls as members of a message, or of a delta, in which every call is a function's and has its index."""
    own = _backend(rendering.generation).own
    # The arguments, even cut short, without white space between tokens if the engine writes none: recorded are
    # {"numbers":[5,4,1]} here, {"expression": " there.
    arguments = [
        without_blanks(call.arguments) if own and call.kind == "function" else call.arguments for call in choice.calls
    ]
    if rendering.generation.request.tool_choice.legacy:
        return {"function_call": {"name": choice.calls[0].name, "arguments": arguments[0]}}
    items = []
    for place, (call, text) in enumerate(zip(choice.calls, arguments, strict=True)):
        # "D1 tool_calls items carry `index` even non-streaming"
        indexed = {"index": place} if in_chunk or own else NOTHING
        kind = "function" if in_chunk else call.kind
        said = {"name": call.name, "arguments" if kind == "function" else "input": text}
        items.append({**indexed, "id": call_id(rendering, choice, place), "type": kind, kind: said})
    return {"tool_calls": items}


def _calls(rendering: Rendering, choice: Choice, first: Members) -> Iterator[Segment]:
    """All calls in one chunk; or a call each: "first fragment has id + name", "follow-ups repeat empty strings"."""
    if _backend(rendering.generation).whole_calls:
        whole = _whole_calls(rendering, choice, in_chunk=True)
        tokens = sum(call.steps for call in choice.calls)
        yield Segment(head=whole, head_tokens=tokens, first=NOTHING if choice.texts else first)
        return
    slot, observed = rendering.flavour.slot, rendering.scope.edition == "observed"
    kind = "" if observed and _backend(rendering.generation).untyped_calls else "function"
    repeated: Members = {"id": "", "type": ""} if observed else NOTHING
    for place, call in enumerate(choice.calls):
        function = {"name": call.name, "arguments": ""}
        if rendering.generation.request.tool_choice.legacy:
            yield Segment({"function_call": {"arguments": slot}}, call.texts, head={"function_call": function})
            continue
        head = {"index": place, "id": call_id(rendering, choice, place), "type": kind, "function": function}
        named = {"name": "", "arguments": slot} if observed else {"arguments": slot}
        goes_on = {"index": place, **repeated, "function": named}
        yield Segment({"tool_calls": [goes_on]}, call.texts, head={"tool_calls": [head]})


# --- streams -----------------------------------------------------------------------------------------------------


def _segments(first: Members, rendering: Rendering, choice: Choice) -> Sequence[Segment]:
    """The thoughts, the text and the calls; `first` is what comes with the text, or with the calls instead."""
    thoughts = Segment(_delta("reasoning_content", choice.thoughts, rendering.flavour.slot), choice.thoughts)
    segments = [each for each in (thoughts, *_text(rendering, choice, first)) if each.steps]
    return [*segments, *_calls(rendering, choice, first)] if choice.calls else segments


def _text(rendering: Rendering, choice: Choice, first: Members) -> Sequence[Segment]:
    """The text. Now and then a token of vLLM's waits for the next one, as those within an emoji do, which are rare in
    our prose: its delta is empty."""
    generation, texts = rendering.generation, choice.texts
    scored = generation.request.output.logprobs is not None
    delta = _delta(_text_key(choice), texts, rendering.flavour.slot)
    place = 1 + derive(choice.seed, "held") % _HELD
    if place + 1 >= len(texts) or scored or generation.prepared or callable(delta) or _backend(generation).own:
        return (Segment(delta, texts, first=first, beside=scores(rendering, choice)),)
    joined = [texts[place] + texts[place + 1], *texts[place + 2 :]]
    return Segment(delta, texts[:place]), Segment(head={}), Segment(delta, joined)


def _delta(key: str, texts: Sequence[str], slot: object) -> Members | Callable[[range], Members]:
    """The delta of each token: recorded, of one that does not complete a character, as within an emoji, it is empty."""
    if "" not in texts:
        return {key: slot}
    return lambda at: {key: "".join(texts[at.start : at.stop])} if any(texts[at.start : at.stop]) else {}


def _text_key(choice: Choice) -> str:
    return "refusal" if choice.refusal else "content"


def _logprobs(rendering: Rendering, choice: Choice, at: range) -> Members:
    # "refusal[] [...] Required field", but only in a stream.
    rows = chat_logprobs(choice, at.start, at.stop)
    return {"logprobs": {"content": [], "refusal": rows} if choice.refusal else {"content": rows, "refusal": []}}


def _large_closing(rendering: Rendering, choice: Choice) -> Members | None:
    """ "finish_reason on the last content chunk": only an answer without any content has a chunk for it."""
    if choice.texts or choice.calls:
        return None
    scored = rendering.generation.request.output.logprobs is not None
    return {
        "delta": {**_ROLE, _text_key(choice): ""},
        **(_logprobs(rendering, choice, range(0)) if scored else NOTHING),
    }


def token_groups(texts: Sequence[str], key: int, smallest: int = _SMALLEST, largest: int = _LARGEST) -> Iterator[range]:
    """The tokens of each chunk: the first word alone, then 10 to 20 (or others) at a time, as derived from `key`.

    A text that is cut short is divided at the same places. An empty text is one empty group.
    """
    longest = min(len(texts), _LONGEST_WORD)
    # A word ends before the next token that begins with white space.
    start = next((count for count in range(1, longest) if texts[count][:1].isspace()), longest)
    yield range(start)
    yield from batches(start, len(texts), smallest, largest, key)


def _opening(rendering: Rendering, choice: Choice) -> Sequence[Members]:
    """The role comes with the first token, if there is one."""
    return () if choice.answer_tokens else ({"delta": {**_ROLE, _text_key(choice): ""}},)


def _closing(rendering: Rendering, choice: Choice) -> Members:
    """The delta beside the finish reason. Today Alice AI's streams of calls lack their end: if the model chose to call,
    there is none, and if it had to, a special token leaks."""
    asked, documented = rendering.generation.request.tool_choice, rendering.scope.edition == "documented"
    if choice.finish_reason != "tool_calls" or documented or asked.legacy or asked.mode == "none":
        return {"delta": {}}
    return NOTHING if asked.mode == "auto" else {"delta": {**_ROLE, "content": "[TOOL_CALL_END]"}}


# "role chunk, one token per chunk".
_VLLM = Flavour(
    around=_vllm_around,
    counts=_counts,
    choice_members=_choice_members,
    opening=lambda rendering, choice: ({"delta": _ROLE},),
    segments=partial(_segments, NOTHING),
    logprobs=_logprobs,
    # "chatcmpl-tool-<32hex>"
    call_id=lambda rendering, choice, place: (
        f"chatcmpl-tool-{hex_digits(rendering.scope.identity, 32, 'call', choice.index, place)}"
    ),
    unset=lambda rendering: NOTHING,
    plain=partial(orjson.dumps, option=orjson.OPT_APPEND_NEWLINE),
    stream_headers=Backend().stream_headers,
)
_OWN = _VLLM._replace(
    around=_around,
    opening=_opening,
    segments=partial(_segments, _ROLE),
    # "the D1 tool id equals the function name"
    call_id=lambda rendering, choice, place: choice.calls[place].name,
    closing=_closing,
    stream_headers=Backend(own=True).stream_headers,
)
_LARGE = _OWN._replace(
    around=partial(_around, prefix=""),
    opening=lambda rendering, choice: (),
    closing=_large_closing,
    groups=lambda rendering, choice, texts, step: token_groups(texts, choice.seed),
)
# "usage [...] Required field": the vendor's own SDK reads it beside the finish reason. It was not there when recorded.
_LARGE_CHUNKS: Mapping[Edition, Flavour] = {"documented": _LARGE._replace(usage="last"), "observed": _LARGE}
