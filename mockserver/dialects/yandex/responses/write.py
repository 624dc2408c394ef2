"""Answers to `POST /v1/responses`: one body, or a stream of typed events, in the form of the edition."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from mockserver.core.dialects import Broken, Edition, RequestScope
from mockserver.core.generation import Generation
from mockserver.core.timeline import TAKEN, FrameBatch, LazyFrames, Reply, TokenTiming
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.openai.events import stream_reply
from mockserver.dialects.openai.responses.events import (
    Event,
    Manner,
    Run,
    Stage,
    numbered,
    quiet,
    told_stages,
)
from mockserver.dialects.openai.responses.failing import data_of, error_code, items_done, next_number
from mockserver.dialects.openai.responses.spoken import Spoken, incomplete_reason
from mockserver.dialects.yandex.responses import documented, observed
from mockserver.dialects.yandex.responses.answer import Answer, answer_of

Json = Mapping[str, Any]


class Form(Protocol):
    """How an edition writes a response: a plain answer, events (the number of the `FIRST`), and their parts.

    The functions of `documented` say what each of them is.
    """

    FIRST: int

    def plain(self, value: Json) -> bytes: ...
    def written(self, kind: str, number: Any, fields: Json) -> bytes: ...
    def response_id(self, answer: Answer) -> str: ...
    def response(self, answer: Answer, output: Sequence[Json] | None, status: str) -> Json: ...
    def search(self, answer: Answer) -> tuple[list[Event], list[Json]]: ...
    def item_id(self, answer: Answer, spoken: Spoken) -> str: ...
    def item(self, answer: Answer, spoken: Spoken, text: str | None, id_: str) -> Json: ...
    def part(self, answer: Answer, spoken: Spoken, text: str, over: bool) -> Json: ...
    def beside(self, answer: Answer, spoken: Spoken, tokens: range) -> Json: ...
    def ended(self, answer: Answer, spoken: Spoken) -> Json: ...
    def runs(self, answer: Answer, spoken: Spoken) -> Iterator[Run]: ...


# Each edition's form is a module.
_FORMS: Mapping[Edition, Form] = {"documented": documented, "observed": observed}


def write(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The generation as one body, or as a stream of events, in the format of the model's engine."""
    answer, form = answer_of(generation, scope), _FORMS[scope.edition]
    if answer.streamed:
        return stream_reply(LazyFrames(partial(_events, answer, form)), answer.backend.stream_headers)
    if answer.body.get("background") and answer.body.get("store", True):
        # "does not wait for the model to return the generation result": the client asks for it later, by the id.
        queued = form.plain(form.response(answer, None, "queued"))
        return body_reply(queued)._replace(frames=(FrameBatch((queued,), (TAKEN,), (0,)),))
    return body_reply(form.plain(_whole(answer, form)), generation)


def id_of(answer: Answer) -> str:
    """The id of a response."""
    return _FORMS[answer.scope.edition].response_id(answer)


def item_ids(answer: Answer) -> list[str]:
    """The ids of the items that the model has said."""
    return [_FORMS[answer.scope.edition].item_id(answer, each) for each in answer.spoken]


def response_of(answer: Answer, status: str | None = None) -> Json:
    """A response, complete unless it has a status for one that is not."""
    form = _FORMS[answer.scope.edition]
    return _whole(answer, form) if status is None else form.response(answer, None, status)


def written_plain(value: Json, edition: Edition) -> bytes:
    """The body of a plain answer."""
    return _FORMS[edition].plain(value)


def fail(broken: Broken) -> bytes:
    """The events with which a stream fails: an `error`, and the failed response."""
    # Only the page's form begins with the name of the event.
    form = _FORMS["documented" if broken.events[0].startswith(b"event:") else "observed"]
    sent = broken.events[: broken.sent]
    number, code = next_number(sent, form.FIRST), error_code(broken.status)
    error = {"code": code, "message": broken.message}
    response = {
        **data_of(broken.events[0]).get("response", {}),
        "status": "failed",
        "error": error,
        "output": items_done(sent),
    }
    error_event = form.written("error", number, {**error, "param": None})
    return error_event + form.written("response.failed", number + 1, {"response": response})


def _whole(answer: Answer, form: Form) -> Json:
    items = [form.item(answer, each, each.text, form.item_id(answer, each)) for each in answer.spoken]
    _, found = form.search(answer)
    return form.response(answer, [*found, *items], "incomplete" if incomplete_reason(answer.choice) else "completed")


def _events(answer: Answer, form: Form) -> Iterator[FrameBatch]:
    return numbered(_stages(answer, form), form.FIRST)


def _stages(answer: Answer, form: Form) -> Iterator[Stage]:
    queued, begun = (form.response(answer, None, status) for status in ("queued", "in_progress"))
    opening = [Event("response.created", {"response": queued}), Event("response.in_progress", {"response": begun})]
    searched, found = form.search(answer)
    yield quiet(form.written, TAKEN, [*opening, *searched])
    manner = Manner(
        form.written,
        partial(form.runs, answer),
        partial(form.item, answer),
        partial(form.part, answer),
        partial(form.beside, answer),
        partial(form.ended, answer),
        detailed=answer.detailed,
    )
    for index, spoken in enumerate(answer.spoken, start=len(found)):
        yield from told_stages(spoken, index, form.item_id(answer, spoken), manner)
    whole = _whole(answer, form)
    yield quiet(form.written, answer.generation.last_step, [Event(f"response.{whole['status']}", {"response": whole})])
