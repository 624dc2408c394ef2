"""Responses as OpenAI writes them, and as those do who speak its wire with differences.

A vendor is a `ResponseFlavour`: a function for each piece of an answer that it forms in its own way. `write` makes one
body of a generation, or a stream of typed, numbered events: those that open an item, its deltas, those that close it.

A stream is written while it is sent, however long it is, and a delta costs what its text costs.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from mockserver.core.dialects import Broken, RequestScope
from mockserver.core.generation import Choice, Generation
from mockserver.core.http import (
    AT_ONCE,
    RUN_LENGTH,
    TAKEN,
    FrameBatch,
    LazyFrames,
    RawHeaders,
    Reply,
    TemplatedFrames,
    TokenTiming,
)
from mockserver.core.seeding import derive, hex_digits
from mockserver.dialects.openai.read import Body
from mockserver.dialects.openai.replies import (
    EVENT_STREAM,
    JSON,
    NOTHING,
    SLOT,
    GeneratedItem,
    Kind,
    Members,
    Thoughts,
    body_reply,
    chat_logprobs,
    generated_items,
    incomplete_reason,
)
from mockserver.dialects.openai.responses.items import FORMS, Form
from mockserver.dialects.openai.streams import DONE, at_step, json_texts

# Mark the places of the number and of the padding in an event that becomes a template, as SLOT marks that of the text.
_NUMBER: Any = orjson.Fragment(b"\xfe")
_PADDING: Any = orjson.Fragment(b"\xfd")
_MARK = re.compile(rb"([\xfd-\xff])")
# How the places are filled.
_FILLED: Mapping[bytes, bytes] = {b"\xff": b"%b", b"\xfe": b"%d", b"\xfd": b'"%b"'}

# Makes the bytes of an event from its type, its number and its other fields.
Layout = Callable[[str, Any, Members], bytes]
# The padding of a delta with a text and a number.
Pad = Callable[[str, int], str]


class ResponseEvent(NamedTuple):
    """An event without its number: its type, and its other fields (`fields`)."""

    type: str
    fields: Members


class Run(NamedTuple):
    """A run of deltas: the text of each, the decoding step after which it is sent, and the number of its tokens."""

    texts: Sequence[str]
    steps: Sequence[int]
    tokens: Sequence[int]


class EventWriter(NamedTuple):
    """Writes the events of a stream: how they are laid out, and the numbers that are left for them."""

    layout: Layout
    numbers: Iterator[int]

    def together(self, step: int, events: Sequence[ResponseEvent], tokens: int = 0) -> FrameBatch:
        """Events that are sent together after a decoding step; the first of them counts the tokens, if any."""
        data = [self.layout(event.type, next(self.numbers), event.fields) for event in events]
        return FrameBatch(data, (step,) * len(data), (tokens, *(0,) * (len(data) - 1)))

    def deltas(self, event: ResponseEvent, runs: Iterable[Run], pad: Pad | None = None) -> Iterator[FrameBatch]:
        """A copy of the event for each text, with the text in the place of SLOT."""
        fields = event.fields if pad is None else {**event.fields, "obfuscation": _PADDING}
        before, *inner, after = _MARK.split(self.layout(event.type, _NUMBER, fields))
        between = b"".join([_FILLED.get(each) or each.replace(b"%", b"%%") for each in inner])
        for texts, steps, tokens in runs:
            numbers = [*islice(self.numbers, len(texts))]
            columns: dict[bytes, Iterable[object]] = {
                b"\xff": map(json_texts.__getitem__, texts),
                b"\xfe": numbers,
            }
            if pad is not None:
                columns[b"\xfd"] = map(str.encode, map(pad, texts, numbers))
            pieces = [between % row for row in zip(*[columns[mark] for mark in inner[::2]], strict=True)]
            yield FrameBatch(TemplatedFrames(before, pieces, after), steps, tokens)

    def detailed_deltas(
        self, event_of: Callable[[str, range], ResponseEvent], runs: Iterable[Run], pad: Pad | None
    ) -> Iterator[FrameBatch]:
        """An event for each text, made from the text and the places of its tokens."""
        place = 0
        for run in runs:
            for text, step, tokens in zip(*run, strict=True):
                event, number = event_of(text, range(place, place + tokens)), next(self.numbers)
                fields = event.fields if pad is None else {**event.fields, "obfuscation": pad(text, number)}
                yield FrameBatch((self.layout(event.type, number, fields),), (step,), (tokens,))
                place += tokens


class ResponseOptions(NamedTuple):
    """What only the writer needs of a request: its fields, which the answer repeats, and what a vendor adds; whether
    Azure answers. The same request at another `turn` of a conversation has other ids."""

    body: Body
    more: Any = None
    turn: int = 0
    azure: bool = False


class Responding(NamedTuple):
    """A response that is being written: what the model generates, at what pace, for which request, in which flavour."""

    flavour: "ResponseFlavour"
    generation: Generation
    pace: TokenTiming
    scope: RequestScope
    options: ResponseOptions
    streamed: bool = False

    @property
    def body(self) -> Body:
        """The fields of the request."""
        return self.options.body

    @property
    def choice(self) -> Choice:
        """The only choice: the API has no `n`."""
        return self.generation.choices[0]

    @property
    def detailed(self) -> bool:
        """Whether it has log-probabilities."""
        return self.generation.request.output.logprobs is not None

    @property
    def reasoning_tokens(self) -> int:
        """The tokens of reasoning that is not returned in full."""
        unseen = self.generation.usage.unseen
        return unseen.reasoning if unseen else 0

    def logprobs(self, tokens: range) -> list[dict[str, Any]]:
        """The log-probabilities of tokens of the text; none unless the request includes them."""
        return chat_logprobs(self.choice, tokens.start, tokens.stop) if self.detailed else []


def usual_items(response: Responding) -> list[GeneratedItem]:
    """The items of an answer; thoughts are summarised if requested, else hidden."""
    thoughts: Thoughts | None = "summary" if response.choice.thoughts else None
    return generated_items(response.choice, thoughts or ("hidden" if response.reasoning_tokens else None))


def usual_opening(response: Responding) -> list[ResponseEvent]:
    """The events with which a stream begins."""
    begun = {"response": response.flavour.response(response, None, "in_progress")}
    return [ResponseEvent("response.created", begun), ResponseEvent("response.in_progress", begun)]


def usual_output(response: Responding) -> list[Members]:
    """The items of a whole response."""
    flavour = response.flavour
    items = numbered_items(response)
    said = [flavour.item(response, each, each.text, flavour.item_id(response, each, index)) for index, each in items]
    return [*flavour.ahead(response), *said]


def numbered_items(response: Responding) -> Iterator[tuple[int, GeneratedItem]]:
    """The items that the model has said, each with its place among all of the response."""
    flavour = response.flavour
    return enumerate(flavour.generated(response), start=len(flavour.ahead(response)))


def item_ids(response: Responding) -> list[str]:
    """The ids of the items that the model has said."""
    return [response.flavour.item_id(response, generated, index) for index, generated in numbered_items(response)]


def identified(response: Responding, item: Members, place: int) -> Members:
    """An item of a request with an id, its own or one of a message."""
    return {**item, "id": item.get("id") or f"msg_{hex_digits(response.scope.identity, 48, 'input', place)}"}


def by_token(response: Responding, generated: GeneratedItem) -> Iterator[Run]:
    """One delta per token."""
    texts, step = generated.texts, generated.first
    for start in range(0, len(texts), RUN_LENGTH):
        kept = texts[start : start + RUN_LENGTH]
        yield Run(kept, range(step + start, step + start + len(kept)), (1,) * len(kept))


def by_group(generated: GeneratedItem, groups: Iterable[range]) -> Iterator[Run]:
    """One delta per group of tokens, which is sent after the last of them; empty groups have none."""
    texts, first = generated.texts, generated.first
    filled = (group for group in groups if group)
    while batch := list(islice(filled, RUN_LENGTH)):
        joined = ["".join(texts[group.start : group.stop]) for group in batch]
        yield Run(joined, [first + group.stop - 1 for group in batch], [len(group) for group in batch])


def usual_frames(response: Responding, events: EventWriter) -> Iterator[FrameBatch]:
    """What opens a stream, its items one after the other, and the whole response."""
    yield events.together(TAKEN, response.flavour.opening(response))
    for index, generated in numbered_items(response):
        yield from _item_frames(response, events, generated, index)
    whole = whole_response(response)
    ending = ResponseEvent(f"response.{whole['status']}", {"response": whole})
    yield events.together(response.generation.last_step, (ending,))


class ResponseFlavour(NamedTuple):
    """How a vendor writes responses. The functions are given the response that is written (`Responding`):

    - `response`: its members, with its output and its status; the output is None if it is not complete yet.
    - `response_id`, `item_id`: the ids of it and of the item at an index.
    - `item`: an item with its text, None if it has only begun, and its id.
    - `part`: the part of an item that has the text, open or done (True).
    - `beside`: the members beside a delta with the tokens in a range; `ended`: those beside the whole text.
    - `layout`: makes the bytes of its events; `plain` those of a body.
    - `generated`: its items; `ahead`: those of the service that precede them.
    - `input_item`: an item of the request, at its place, as lists of them have it.
    - `output`: all items as a whole response has them, and `status` its status.
    - `runs`: the texts of an item's deltas.
    - `pad`: makes the `obfuscation` of deltas, None if they have none.
    - `opening`: the events with which a stream begins; `frames`: all of its events, given what writes them.
    - `forms`: the types of events; `first`: the number of the first one; `done`: whether `[DONE]` is the last.
    - `stream_headers`, `content_type`: of an answer.
    - `waits`: whether the answer to a request in the background waits for it.
    """

    response: Callable[[Responding, Sequence[Members] | None, str], Members]
    layout: Callable[[Responding], Layout]
    response_id: Callable[[Responding], str] = lambda response: ""
    item_id: Callable[[Responding, GeneratedItem, int], str] = lambda response, generated, index: ""
    item: Callable[[Responding, GeneratedItem, str | None, str], Members] = lambda response, generated, text, id_: (
        NOTHING
    )
    part: Callable[[Responding, GeneratedItem, str, bool], Members] = lambda response, generated, text, over: NOTHING
    beside: Callable[[Responding, GeneratedItem, range], Members] = lambda response, generated, tokens: NOTHING
    ended: Callable[[Responding, GeneratedItem], Members] = lambda response, generated: NOTHING
    plain: Callable[[Members], bytes] = orjson.dumps
    generated: Callable[[Responding], Sequence[GeneratedItem]] = usual_items
    ahead: Callable[[Responding], Sequence[Members]] = lambda response: ()
    input_item: Callable[[Responding, Members, int], Members] = identified
    output: Callable[[Responding], list[Members]] = usual_output
    status: Callable[[Responding], str] = lambda response: (
        "completed" if incomplete_reason(response.choice) is None else "incomplete"
    )
    runs: Callable[[Responding, GeneratedItem], Iterator[Run]] = by_token
    pad: Callable[[Responding], Pad | None] = lambda response: None
    opening: Callable[[Responding], Sequence[ResponseEvent]] = usual_opening
    frames: Callable[[Responding, EventWriter], Iterator[FrameBatch]] = usual_frames
    forms: Mapping[Kind, Form] = MappingProxyType(FORMS)
    first: int = 0
    done: bool = False
    stream_headers: Callable[[Responding], RawHeaders] = lambda response: (
        (b"content-type", EVENT_STREAM + b"; charset=utf-8"),
    )
    content_type: bytes = JSON
    waits: bool = True


def responding(flavour: ResponseFlavour, generation: Generation, pace: TokenTiming, scope: RequestScope) -> Responding:
    """A generation as a response in a flavour."""
    extra = generation.request.extra
    options = extra if isinstance(extra, ResponseOptions) else ResponseOptions(NOTHING)
    # What is stored does not refer to where it is stored.
    identity = derive(scope.identity, "turn", options.turn) if options.turn else scope.identity
    apart = scope._replace(history=None, identity=identity)
    return Responding(flavour, generation, pace, apart, options, generation.request.output.stream)


def write(response: Responding) -> Reply:
    """The response as one body, or as a stream of events."""
    flavour = response.flavour
    if response.streamed:
        return Reply(200, flavour.stream_headers(response), LazyFrames(partial(event_frames, response)), streamed=True)
    if not flavour.waits and response.body.get("background") and response.body.get("store") is not False:
        # It "does not wait for the model to return the generation result": the client asks for it later, by the id.
        queued = flavour.plain(flavour.response(response, None, "queued"))
        return body_reply(queued)._replace(frames=(FrameBatch((queued,), (AT_ONCE,), (0,)),))
    body = flavour.plain(whole_response(response))
    return body_reply(body, response.generation, content_type=flavour.content_type)


def whole_response(response: Responding) -> Members:
    """The complete response."""
    flavour = response.flavour
    return flavour.response(response, flavour.output(response), flavour.status(response))


# --- streams -----------------------------------------------------------------------------------------------------


def event_frames(response: Responding) -> Iterator[FrameBatch]:
    """The whole stream, which is written while it is taken."""
    flavour = response.flavour
    yield from flavour.frames(response, EventWriter(flavour.layout(response), count(flavour.first)))
    if flavour.done:
        yield at_step(response.generation.last_step, (DONE,))


def _item_frames(
    response: Responding, events: EventWriter, generated: GeneratedItem, index: int
) -> Iterator[FrameBatch]:
    """What opens an item, its deltas, and what closes it."""
    flavour, text = response.flavour, generated.text
    id_, form = flavour.item_id(response, generated, index), flavour.forms.get(generated.kind)
    begun, whole = (flavour.item(response, generated, said, id_) for said in (None, text))
    added = ResponseEvent("response.output_item.added", {"output_index": index, "item": begun})
    done = ResponseEvent("response.output_item.done", {"output_index": index, "item": whole})
    if form is None:
        yield events.together(generated.last, (added, done))
        return
    where = {"item_id": id_, "output_index": index, **({form.place: 0} if form.place else {})}
    opening = [added]
    said = {**where, form.key: text, **flavour.ended(response, generated)}
    closing = [ResponseEvent(f"response.{form.name}.done", said)]
    if form.part:
        empty, full = flavour.part(response, generated, "", False), flavour.part(response, generated, text, True)
        opening.append(ResponseEvent(f"response.{form.part}.added", {**where, "part": empty}))
        closing.append(ResponseEvent(f"response.{form.part}.done", {**where, "part": full}))
    yield events.together(generated.step, opening, tokens=int(generated.is_call))
    runs, pad = flavour.runs(response, generated), flavour.pad(response)

    def delta(said: Any, tokens: range) -> ResponseEvent:
        fields = {**where, "delta": said, **flavour.beside(response, generated, tokens)}
        return ResponseEvent(f"response.{form.name}.delta", fields)

    if response.detailed and generated.kind in ("text", "refusal"):
        yield from events.detailed_deltas(delta, runs, pad)
    else:
        yield from events.deltas(delta(SLOT, range(0)), runs, pad)
    yield events.together(generated.last, (*closing, done))


# --- streams that fail -------------------------------------------------------------------------------------------


def failed(
    broken: Broken,
    layout: Layout,
    first: int = 0,
    *,
    code: str | None = None,
    error: Callable[[Members], Members] | None = None,
) -> bytes:
    """The events with which a stream fails: those before them may be corrupt.

    The last one is the failed response with its error, code and message, and the items that are done; `error` makes
    the fields of an event of that name ahead of it.
    """
    sent = broken.events[: broken.sent]
    number = next_number(sent, first)
    if code is None and broken.status == 429:
        code = "rate_limit_exceeded"
    problem = {
        "code": code or ("server_error" if broken.status >= 500 else "invalid_prompt"),
        "message": broken.message,
    }
    done = [each["item"] for each in map(data_of, sent) if each.get("type") == "response.output_item.done"]
    begun = data_of(broken.events[0]).get("response", {})
    response = {**begun, "status": "failed", "error": problem, "output": done}
    events = [ResponseEvent("response.failed", {"response": response})]
    if error is not None:
        events.insert(0, ResponseEvent("error", error(problem)))
    return b"".join([layout(each.type, number + place, each.fields) for place, each in enumerate(events)])


def data_of(event: bytes) -> dict[str, Any]:
    """The data of an event as an object; empty if an earlier fault has corrupted it."""
    lines = [line for line in event.splitlines() if line.startswith(b"data:")]
    try:
        value = orjson.loads(b"\n".join(line[5:] for line in lines))
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def next_number(sent: Sequence[bytes], first: int = 0) -> int:
    """The sequence number after those of the events sent; `first` if there are none."""
    numbers = (data_of(event).get("sequence_number") for event in reversed(sent))
    last = next((number for number in numbers if isinstance(number, int)), first - 1)
    return last + 1
