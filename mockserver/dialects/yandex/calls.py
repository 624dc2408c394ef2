"""Tool calls on the wire: whole ones, and the fragments of a stream (vendor note A3, A4 and A6).

Today's form is `tool_calls`; the older one, for `functions`, is `function_call`. Only a plain answer has the full form
of a custom tool's call: chunks only have calls of functions, so there its input is sent as arguments.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from mockserver.core.dialects import Site
from mockserver.core.generation import Choice, Generation, ToolCall
from mockserver.core.json_values import without_blanks
from mockserver.core.seeding import hex_digits
from mockserver.dialects.openai.events import SLOT
from mockserver.dialects.yandex.backends import Backend
from mockserver.dialects.yandex.uri import ModelUri

# Makes the call at a place of a choice.
_Item = Callable[[Choice, int, "CallForm"], dict[str, Any]]


class CallForm(NamedTuple):
    """How a model's engine writes its calls.

    With `repeats` the later fragments of a call repeat the keys of the first with empty strings; with `typeless` the
    first has an empty type as well. `legacy` is the older form. In a stream, calls that the model chose to make lack
    their finish reason if `unended`; calls that a request required `leak` a special token of the model beside it.
    """

    backend: Backend
    identity: int
    repeats: bool
    typeless: bool
    legacy: bool
    unended: bool
    leak: bool


def call_form(generation: Generation, uri: ModelUri, backend: Backend, site: Site) -> CallForm:
    """The form for a model in an edition: only in the observed one does vLLM repeat keys."""
    # "(gemma: `type` is `""` even in the first fragment.)"
    observed = site.edition == "observed"
    choice = generation.request.tool_choice
    broken = observed and backend.unfinished_calls and not choice.legacy
    return CallForm(
        backend,
        site.identity,
        repeats=observed,
        typeless=observed and uri.name.startswith("gemma"),
        legacy=choice.legacy,
        unended=broken and choice.mode == "auto",
        leak=broken and choice.mode == "required",
    )


def message_calls(choice: Choice, form: CallForm) -> dict[str, Any]:
    """The members of a message for its calls; empty if it has none."""
    return _calls(choice, form, _item)


def delta_calls(choice: Choice, form: CallForm) -> dict[str, Any]:
    """The same in a chunk, in which every call is a function's: "one single chunk: [...] whole call"."""
    return _calls(choice, form, _indexed_item)


def first_fragment(choice: Choice, place: int, form: CallForm) -> dict[str, Any]:
    """The delta that begins a call: "first fragment has id + name"."""
    call = choice.calls[place]
    function = {"name": call.name, "arguments": ""}
    if form.legacy:
        return {"function_call": function}
    kind = "" if form.typeless else "function"
    return {"tool_calls": [{"index": place, "id": _id(choice, place, form), "type": kind, "function": function}]}


def next_fragment(place: int, form: CallForm) -> dict[str, Any]:
    """The delta that continues a call, with SLOT for the text: "follow-ups repeat empty strings", or omit the keys."""
    if form.legacy:
        return {"function_call": {"arguments": SLOT}}
    if form.repeats:
        return {"tool_calls": [{"index": place, "id": "", "type": "", "function": {"name": "", "arguments": SLOT}}]}
    return {"tool_calls": [{"index": place, "function": {"arguments": SLOT}}]}


def last_delta(choice: Choice, form: CallForm) -> dict[str, Any] | None:
    """The delta beside the finish reason of a stream with a chunk per token; None if neither is sent."""
    if choice.finish_reason != "tool_calls" or not (form.unended or form.leak):
        return {}
    return {"role": "assistant", "content": "[TOOL_CALL_END]"} if form.leak else None


def _calls(choice: Choice, form: CallForm, item: _Item) -> dict[str, Any]:
    if not choice.calls:
        return {}
    if form.legacy:
        call = choice.calls[0]
        return {"function_call": {"name": call.name, "arguments": _arguments(call, form)}}
    return {"tool_calls": [item(choice, place, form) for place in range(len(choice.calls))]}


def _item(choice: Choice, place: int, form: CallForm) -> dict[str, Any]:
    call = choice.calls[place]
    if call.kind == "function":
        return _function_item(choice, place, form)
    return {**_head(choice, place, form, "custom"), "custom": {"name": call.name, "input": call.arguments}}


def _indexed_item(choice: Choice, place: int, form: CallForm) -> dict[str, Any]:
    """A call in a chunk, which always has an `index`."""
    return {"index": place, **_function_item(choice, place, form)}


def _function_item(choice: Choice, place: int, form: CallForm) -> dict[str, Any]:
    call = choice.calls[place]
    function = {"name": call.name, "arguments": _arguments(call, form)}
    return {**_head(choice, place, form, "function"), "function": function}


def _head(choice: Choice, place: int, form: CallForm, kind: str) -> dict[str, Any]:
    head: dict[str, Any] = {"id": _id(choice, place, form), "type": kind}
    # "D1 tool_calls items carry `index` even non-streaming"
    return {"index": place, **head} if form.backend.indexed_calls else head


def _id(choice: Choice, place: int, form: CallForm) -> str:
    # "the D1 tool id equals the function name"; "chatcmpl-tool-<32hex>"
    if form.backend.named_calls:
        return choice.calls[place].name
    return f"chatcmpl-tool-{hex_digits(form.identity, 32, 'call', choice.index, place)}"


def _arguments(call: ToolCall, form: CallForm) -> str:
    """The arguments, even cut short, without white space between tokens if the engine writes none."""
    if call.kind == "custom" or not form.backend.compact_calls:
        return call.arguments
    return without_blanks(call.arguments)
