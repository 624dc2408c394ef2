"""A chat's stream: a chunk for each token, the role in the first, the finish reason alone in the last, `[DONE]`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from mockserver.core.dialects import Edition
from mockserver.core.generation import Choice, Generation, Usage
from mockserver.core.timeline import Frames
from mockserver.dialects.friendli.chat_calls import first_fragment, next_fragment
from mockserver.dialects.friendli.options import Thoughts
from mockserver.dialects.friendli.reasoning import Stretch, stretches
from mockserver.dialects.friendli.wires import SLOT, TODAY, Wire
from mockserver.dialects.openai.bodies import usage_object
from mockserver.dialects.openai.calls import call_frames
from mockserver.dialects.openai.events import DONE, JsonTexts, Template, at_step, token_frames, weave
from mockserver.dialects.openai.logprobs import chat_logprobs

# How many chunks are written at a time if each has log-probabilities, which make it large.
_DETAILED_RUN = 8
# Thoughts are sent under two names, which are neighbours once keys are sorted.
_TWICE = JsonTexts(lambda text: TODAY.texts[text] + b',"reasoning_content":' + TODAY.texts[text])


class Form(NamedTuple):
    """How the chunks of one stream are written: their bytes, the members around the choices, the place of thoughts."""

    wire: Wire
    around: Mapping[str, Any]
    where: Thoughts
    edition: Edition
    identity: int

    def chunk(self, choices: list[dict[str, Any]], usage: object = None) -> dict[str, Any]:
        """A chunk; today all but the last have a usage of null."""
        stated_usage = {"usage": usage} if self.edition == "observed" else {}
        return {"choices": choices, **stated_usage, **self.around}

    def part(self, choice: Choice, delta: dict[str, Any], logprobs: object = None) -> dict[str, Any]:
        """A chunk of a choice that goes on."""
        return self.chunk([{"index": choice.index, "delta": delta, "finish_reason": None, "logprobs": logprobs}])

    def template(self, choice: Choice, delta: dict[str, Any]) -> Template:
        """The template of chunks whose deltas have SLOT for the text."""
        return self.wire.template(self.part(choice, delta))


def chat_events(generation: Generation, form: Form) -> Iterator[Frames]:
    """The chunks of all choices, step by step; the usage, if requested, in a chunk of its own."""
    detailed = generation.request.output.logprobs is not None
    streams = [_choice_events(choice, form, detailed=detailed) for choice in generation.choices]
    yield from weave(streams, _DETAILED_RUN) if detailed else weave(streams)
    wanted = generation.request.output.include_usage
    usage = (form.wire.event(form.chunk([], chat_usage(generation.usage))),) if wanted else ()
    yield at_step(generation.last_step, (*usage, DONE))


def chat_usage(usage: Usage) -> dict[str, Any]:
    """Token counts, and how many tokens of the prompt came from a cache, if any did."""
    cached = {"prompt_tokens_details": {"cached_tokens": usage.cached_tokens}} if usage.cached_tokens else {}
    return {**usage_object(usage), **cached}


def _choice_events(choice: Choice, form: Form, *, detailed: bool) -> Iterator[Frames]:
    role, step = {"role": "assistant"}, 0
    for stretch in stretches(choice, form.where):
        write = _scored if detailed and stretch.scored else _plain
        yield from write(choice, stretch, form, step, role if stretch.texts else {})
        role = {} if stretch.texts else role
        step += len(stretch.texts)
    yield from _called(choice, form, role)
    last = {"index": choice.index, "delta": {}, "finish_reason": choice.finish_reason, "logprobs": None}
    yield at_step(choice.last_step, (form.wire.event(form.chunk([last])),))


def _plain(choice: Choice, stretch: Stretch, form: Form, step: int, role: dict[str, str]) -> Iterator[Frames]:
    """A stretch without log-probabilities; its first chunk has the role if it is the first of all."""
    texts = stretch.texts
    if role:
        first = {**role, **_delta(stretch, texts[0])}
        yield Frames((form.wire.event(form.part(choice, first)),), (step,), (1,))
        texts, step = texts[1:], step + 1
    if stretch.apart:
        yield from token_frames(texts, form.template(choice, {"reasoning": SLOT}), step, _TWICE)
    else:
        yield from token_frames(texts, form.template(choice, {"content": SLOT}), step, form.wire.texts)


def _scored(choice: Choice, stretch: Stretch, form: Form, step: int, role: dict[str, str]) -> Iterator[Frames]:
    """A stretch with the log-probabilities of each token."""
    for place, text in enumerate(stretch.texts):
        delta = {**(role if place == 0 else {}), **_delta(stretch, text)}
        scores = {"content": chat_logprobs(choice, place, place + 1)}
        yield Frames((form.wire.event(form.part(choice, delta, scores)),), (step + place,), (1,))


def _delta(stretch: Stretch, text: str) -> dict[str, str]:
    return {"reasoning": text, "reasoning_content": text} if stretch.apart else {"content": text}


def _called(choice: Choice, form: Form, role: dict[str, str]) -> Iterator[Frames]:
    def begin(place: int, call: object) -> bytes:
        head = role if place == 0 else {}
        return form.wire.event(form.part(choice, {**head, **first_fragment(choice, place, form.identity)}))

    go_on = partial(_piece, choice, form)
    yield from call_frames(choice, begin, go_on, partial(token_frames, written=form.wire.texts))


def _piece(choice: Choice, form: Form, place: int) -> Template:
    return form.template(choice, next_fragment(place))
