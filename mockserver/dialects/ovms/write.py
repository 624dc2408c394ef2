"""Generations in the format of `POST /v3/completions` (vendor note 3): one body, or chunks of some tokens each."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice
from operator import sub
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation, Position
from mockserver.core.timeline import RUN_LENGTH, Frames, Lazy, Pace, Reply
from mockserver.dialects.openai_style.bodies import body_reply, usage_object
from mockserver.dialects.openai_style.events import DONE, SLOT, at_step, event, stream_reply, template
from mockserver.dialects.ovms.grouping import GROUPING, Flush
from mockserver.dialects.ovms.headers import JSON, STREAM

_WHOLE = "text_completion"
# The page says "always `text_completion`"; every version of the server streams this.
_CHUNK = "text_completion.chunk"


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        return stream_reply(Lazy(partial(_chunks, generation, site)), STREAM)
    body = {
        **_envelope([_choice(choice, generation) for choice in generation.choices], _WHOLE, generation, site),
        "usage": usage_object(generation.usage),
    }
    return body_reply(body, generation, content_type=JSON)


def _envelope(choices: list[Any], kind: str, generation: Generation, site: Site) -> dict[str, Any]:
    # No id and no system_fingerprint; `created` is "request arrival time in seconds, the same in all chunks".
    return {"choices": choices, "created": int(site.now), "model": generation.request.model, "object": kind}


# --- one body ----------------------------------------------------------------------------------------------------


def _choice(choice: Choice, generation: Generation) -> dict[str, Any]:
    output = generation.request.output
    return {
        "finish_reason": choice.finish_reason,
        "index": choice.index,
        "logprobs": None if output.logprobs is None else _logprobs(choice),
        "text": (choice.prompt.text if output.echo else "") + choice.text,
    }


def _logprobs(choice: Choice) -> dict[str, Any]:
    """The log-probability of each token of the output, an echoed prompt among them."""
    texts = [*choice.echo_texts, *choice.texts]
    values = [*_echoed(choice.echo_positions), *(position.logprob for position in choice.positions)]
    # "offsets are byte lengths from the start of this output (0 first)"
    offsets = accumulate((len(text.encode()) for text in texts), initial=0)
    return {
        "tokens": texts,
        "token_logprobs": values,
        "top_logprobs": [{text: value} for text, value in zip(texts, values, strict=True)],
        "text_offset": list(islice(offsets, len(texts))),
    }


def _echoed(positions: Sequence[Position]) -> list[float | None]:
    # "first echoed token is null": nothing stands before it that would make it likely.
    return [position.logprob if number else None for number, position in enumerate(positions)]


# --- a stream ----------------------------------------------------------------------------------------------------


class _Arrival(NamedTuple):
    """The texts of a choice as the engine gives them, the first `ahead` of them before the first step."""

    texts: Sequence[str]
    ahead: int


def _arrival(choice: Choice, site: Site) -> _Arrival:
    """An echoed prompt comes with the first token: one text with it in the old server, token by token in the new."""
    if not choice.echo_texts:
        return _Arrival(choice.texts, 0)
    if site.edition == "observed":
        return _Arrival([*choice.echo_texts, *choice.texts], len(choice.echo_texts))
    return _Arrival(["".join((*choice.echo_texts, *choice.texts[:1])), *choice.texts[1:]], 0)


def _chunks(generation: Generation, site: Site) -> Iterator[Frames]:
    """The chunks of the only choice, then usage if asked for, and the end."""
    (choice,) = generation.choices
    arrival = _arrival(choice, site)
    flushes = GROUPING[site.edition](arrival.texts)
    first = next(flushes)
    if site.edition == "observed" and first.at > arrival.ahead:
        # "sent when the first token exists but no text can be flushed yet [...] no logprobs and no usage member".
        hello = _envelope([{"index": 0, "text": "", "finish_reason": None}], _CHUNK, generation, site)
        yield at_step(0, (event(hello),))
    yield from _content(chain((first,), flushes), choice, arrival.ahead, generation, site)


def _content(
    flushes: Iterator[Flush], choice: Choice, ahead: int, generation: Generation, site: Site
) -> Iterator[Frames]:
    """One chunk per flush. The last one has the finish reason beside its text, and what ends the stream behind it."""
    before, after = template(_chunk(SLOT, None, generation, site))
    out, most, dumps = 0, ahead + len(choice.ids), orjson.dumps
    while run := list(islice(flushes, RUN_LENGTH)):
        data = [before + dumps(text) + after for text, _, _, _ in run]
        steps = [at - ahead if at > ahead else 0 for _, at, _, _ in run]
        totals = [(total if total < most else most) - ahead if total > ahead else 0 for _, _, total, _ in run]
        tokens = [*map(sub, totals, (out, *totals))]
        if run[-1].last:
            # "all of these go out in one write"
            ending = _ending(generation, site)
            data[-1:] = (event(_chunk(run[-1].text, choice.finish_reason, generation, site)), *ending)
            steps += [steps[-1]] * len(ending)
            tokens += [0] * len(ending)
        yield Frames(data, steps, tokens)
        out = totals[-1]


def _ending(generation: Generation, site: Site) -> tuple[bytes, ...]:
    """The usage, if asked for, and [DONE]."""
    if not generation.request.output.include_usage:
        return (DONE,)
    return event({**_envelope([], _CHUNK, generation, site), "usage": usage_object(generation.usage)}), DONE


def _chunk(text: str, reason: str | None, generation: Generation, site: Site) -> dict[str, Any]:
    # "finish_reason first up to v2026.0".
    choice: dict[str, Any] = {"index": 0, "logprobs": None, "text": text}
    choice = choice | {"finish_reason": reason} if site.edition == "observed" else {"finish_reason": reason, **choice}
    usage = {"usage": None} if generation.request.output.include_usage else {}
    return _envelope([choice], _CHUNK, generation, site) | usage
