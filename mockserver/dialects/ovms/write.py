"""Generations in the format of `POST /v3/completions` (vendor note 3): one body, or chunks of some tokens each."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation
from mockserver.core.timeline import Frames, Lazy, Pace, Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import SLOT, at_step, event, stream_reply, template
from mockserver.dialects.ovms.envelope import chunk, ending, handshake, whole
from mockserver.dialects.ovms.grouping import GROUPING
from mockserver.dialects.ovms.headers import JSON, STREAM
from mockserver.dialects.ovms.streams import Stretch, stretch_frames

_WHOLE = "text_completion"
# The page says "always `text_completion`"; every version of the server streams this.
_CHUNK = "text_completion.chunk"


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as one body, or as a stream of chunks."""
    if generation.request.output.stream:
        return stream_reply(Lazy(partial(_chunks, generation, site)), STREAM)
    choices = [_choice(choice, generation) for choice in generation.choices]
    return body_reply(whole(choices, _WHOLE, generation, site), generation, content_type=JSON)


# --- one body ----------------------------------------------------------------------------------------------------


def _choice(choice: Choice, generation: Generation) -> dict[str, Any]:
    output = generation.request.output
    return {
        "finish_reason": choice.finish_reason,
        "index": choice.index,
        "logprobs": None if output.logprobs is None else _logprobs(choice, output.echo),
        "text": (choice.prompt.text if output.echo else "") + choice.text,
    }


def _logprobs(choice: Choice, echo: bool) -> dict[str, Any]:
    """The log-probability of each token of the output, including an echoed prompt and its BOS token.

    BOS has no text and, as nothing precedes it, no probability: "first echoed token is null". The server's own tests
    count as many entries as prompt tokens.
    """
    bos = ("",) * echo
    texts = [*bos, *choice.echo_texts, *choice.texts]
    values = [*(None for _ in bos), *(position.logprob for position in (*choice.echo_positions, *choice.positions))]
    # "offsets are byte lengths from the start of this output (0 first)"
    offsets = accumulate((len(text.encode()) for text in texts), initial=0)
    return {
        "tokens": texts,
        "token_logprobs": values,
        "top_logprobs": [{text: value} for text, value in zip(texts, values, strict=True)],
        "text_offset": list(islice(offsets, len(texts))),
    }


# --- a stream ----------------------------------------------------------------------------------------------------


class _Arrival(NamedTuple):
    """The texts of a choice in the order of decoding, the first `ahead` of them before the first step."""

    texts: Sequence[str]
    ahead: int


def _arrival(choice: Choice, site: Site) -> _Arrival:
    """An echoed prompt comes with the first token: joined to it by the older server, token by token by the newer."""
    if not choice.echo_texts:
        return _Arrival(choice.texts, 0)
    if site.edition == "observed":
        return _Arrival([*choice.echo_texts, *choice.texts], len(choice.echo_texts))
    return _Arrival(["".join((*choice.echo_texts, *choice.texts[:1])), *choice.texts[1:]], 0)


def _chunks(generation: Generation, site: Site) -> Iterator[Frames]:
    """The chunks of the only choice, the last with its finish reason; then the usage if requested, and the end."""
    (choice,) = generation.choices
    arrival = _arrival(choice, site)
    flushes = GROUPING[site.edition](arrival.texts)
    first = next(flushes)
    if site.edition == "observed" and first.at > arrival.ahead:
        yield at_step(0, (handshake({"text": ""}, _CHUNK, generation, site),))
    around = template(chunk({"text": SLOT}, None, _CHUNK, generation, site))
    stretch = Stretch(chain((first,), flushes), around, len(choice.ids), -arrival.ahead)

    def close(text: str) -> tuple[bytes, ...]:
        last = event(chunk({"text": text}, choice.finish_reason, _CHUNK, generation, site))
        return last, *ending(_CHUNK, generation, site)

    yield from stretch_frames(stretch, close)
