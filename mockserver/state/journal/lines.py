"""Exchanges as lines of text, and the warning about those that a journal has forgotten."""

from collections.abc import Iterable, Sequence

import orjson

from mockserver.core.naming import counted
from mockserver.state.journal.exchanges import MOST_BYTES
from mockserver.state.journal.views import View

# How many characters of a refusal are shown.
_MOST_SHOWN = 300


def line(view: View) -> str:
    """An exchange in one line: the request, the answer, and what decided it."""
    operation = view.operation if view.operation and view.is_question else f"{view.method} {view.path}"
    target = f"{view.dialect or '?'} {operation}"
    model = f" {view.model}" if view.model else ""
    prompt = f" {short(view.prompt)}" if view.prompt else ""
    stream = " (stream)" if view.streamed else ""
    by = f" by {view.rule}" if view.rule else ""
    refused = (
        " as no stub matches" if view.is_for_want_of_a_stub else f" {view.refused}{_why(view)}" if view.refused else ""
    )
    struck = f", struck by {' and '.join(view.faults)}" if view.faults else ""
    end = {"client": "client left", "server": "done", None: "still open"}[view.closed_by]
    sent = counted(view.events_sent, "event")
    answered = f"{view.status}{refused}{by}{struck}, {sent}, {end} after {view.seconds:.3f} s"
    return f"#{view.number} {target}{model}{stream}{prompt} -> {answered}"


def journal_lines(views: Sequence[View]) -> list[str]:
    """One line for each exchange: the time since the first one, the exchange, and how long the client had been away."""
    lines: list[str] = []
    for place, view in enumerate(views):
        since = f"{view.arrived - views[0].arrived:8.3f} s"
        gap = f" (client returned after {max(view.arrived - views[place - 1].end, 0.0):.3f} s)" if place else ""
        lines.append(f"{since}  {line(view)}{gap}")
    return lines


def explain_misses(views: Iterable[View]) -> Iterable[str]:
    """For each request without a matching stub: the nearest stubs, field by field."""
    for view in views:
        yield f"  {line(view)}"
        for near in view.nearest:
            yield f"      stub {near['name']!r}:"
            yield from (
                f"          {each['field']}: expected {each['wanted']}, found {each['found']}"
                for each in near["differences"]
            )


def loss(count: int) -> str:
    """The message for when so many exchanges are forgotten, which says how to keep them."""
    return (
        f"The journal has forgotten {counted(count, 'exchange')}. Keep more with --journal or "
        f"MockServer(journal=...), or check and reset() earlier. All journals together keep {MOST_BYTES >> 20} MiB."
    )


def short(text: str) -> str:
    """The beginning of a text, in quotes."""
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def _why(view: View) -> str:
    """Our own hint, or the vendor's error body if the request breaks its contract, on one line; else nothing."""
    body = view.hint or (view.breaks_contract and view.answer.get("body"))
    if not body:
        return ""
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return f" ({' '.join(text.split())[:_MOST_SHOWN]})"
