"""Checks over exchanges: each is a function that says in words what is wrong, or nothing.

    calls, spaced_at_least, in_order, never, concurrency, tokens, cost, tool_called, tool_answered, schema, cancelled

A check gets the exchanges that it is about, in the order in which they came, and the rest from the test. What it says
has three parts: what was expected, what was found, and what came nearest.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import orjson

from mockserver.control.journal.views import View
from mockserver.control.verify.schemas import Breach, SchemaError, read_schema
from mockserver.core.criteria import GIVEN_UP, Matcher, equal_to, holds, wanted
from mockserver.core.criteria_notation import CriteriaError, read_matcher
from mockserver.core.generation import FinishReason
from mockserver.core.naming import unknown
from mockserver.faults.catalogue import FAULTS

# A sleep may end this much early, in seconds: clocks differ.
_TICK = 0.001
# No more exchanges than this are listed in a message.
_LISTED = 12

# What a match may ask of an answer, beside what criteria ask of a request.
ANSWER_FIELDS: Mapping[str, Callable[[View], Sequence[object]]] = {
    "status": lambda view: (view.status,),
    "rule": lambda view: () if view.rule is None else (view.rule,),
    "fault": lambda view: tuple(view.faults),
    "closed_by": lambda view: () if view.closed_by is None else (view.closed_by,),
    "finish_reason": lambda view: tuple(view.finish_reasons),
}


# The words that a match may want of them, where there are no others.
_WORDS: Mapping[str, Sequence[str]] = {
    "fault": tuple(FAULTS),
    "closed_by": ("server", "client"),
    "finish_reason": get_args(FinishReason),
}


class Sifted(NamedTuple):
    """Exchanges that match what was asked for, and the others with the places where they differ."""

    matching: tuple[View, ...]
    others: tuple[tuple[View, tuple[str, ...]], ...]


def split_match(match: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A match as what it asks of the request, and what it asks of the answer."""
    request = {name: value for name, value in match.items() if name not in ANSWER_FIELDS}
    return request, {name: value for name, value in match.items() if name in ANSWER_FIELDS}


def sift_answers(views: Iterable[View], match: Mapping[str, Any], known: Mapping[int, Sequence[str]]) -> Sifted:
    """The exchanges whose answers are as wanted, among those whose requests are: `known` says where these differ."""
    matchers = {name: _answer_matcher(name, value) for name, value in match.items()}
    told = [(view, (*known.get(view.number, ()), *_answer_differences(view, matchers))) for view in views]
    return Sifted(
        tuple(view for view, different in told if not different),
        tuple(sorted(((view, different) for view, different in told if different), key=lambda each: len(each[1]))),
    )


def calls(sifted: Sifted, least: int, most: int | None, asked: str) -> str | None:
    """Whether as many requests match as were expected."""
    count = len(sifted.matching)
    if count >= least and (most is None or count <= most):
        return None
    expected = _bounds(least, most)
    lines = [f"Expected {expected} request{'' if expected == '1' else 's'}{asked}, found {count}."]
    if sifted.matching:
        lines += ["Found:", *_lines(sifted.matching)]
    if sifted.others and count < least:
        lines.append("Nearest of the others:")
        lines += [f"  {line(view)}\n      {'; '.join(different)}" for view, different in sifted.others[:3]]
    elif not sifted.matching:
        lines.append("There was no request at all." if not sifted.others else "")
    return "\n".join(filter(None, lines))


def never(sifted: Sifted, asked: str) -> str | None:
    """Whether no request matches."""
    if not sifted.matching:
        return None
    return "\n".join([f"Expected no request{asked}, found {len(sifted.matching)}:", *_lines(sifted.matching)])


def spaced_at_least(views: Sequence[View], seconds: float) -> str | None:
    """Whether so many seconds passed from the end of each answer to the next request."""
    gaps = [(before, after, after.arrived - _end(before)) for before, after in pairwise(views)]
    early = [
        f"  #{after.number} came {_after(gap)} #{before.number} ended"
        for before, after, gap in gaps
        if gap < seconds - _TICK
    ]
    if not early:
        return None
    return "\n".join(
        [f"Expected at least {seconds:g} s from each answer to the next request, but:", *early, *_lines(views)]
    )


def in_order(groups: Sequence[tuple[str, Sequence[View]]], views: Sequence[View]) -> str | None:
    """Whether requests came in an order: after one of each group, one of the next."""
    reached = 0
    for place, (asked, matching) in enumerate(groups):
        after = next((view.number for view in matching if view.number > reached), None)
        if after is None:
            order = [f"  {number + 1}.{each}" for number, (each, _) in enumerate(groups)]
            where = f"after #{reached}" if reached else "at all"
            return "\n".join(
                [
                    "Expected requests in this order:",
                    *order,
                    f"but none{asked} came {where} (number {place + 1}).",
                    *_lines(views),
                ]
            )
        reached = after
    return None


def concurrency(views: Sequence[View], most: int) -> str | None:
    """Whether no more than so many requests were open at once."""
    for view in views:
        open_then = [each for each in views if each.arrived <= view.arrived < _end(each)]
        if len(open_then) > most:
            told = [f"Expected at most {most} requests at once, found {len(open_then)} when #{view.number} came:"]
            return "\n".join([*told, *_lines(open_then)])
    return None


def tokens(views: Sequence[View], most: int) -> str | None:
    """Whether prompts and answers together have no more tokens than this."""
    total = sum(view.tokens for view in views)
    if total <= most:
        return None
    heaviest = sorted(views, key=lambda view: -view.tokens)
    return "\n".join([f"Expected at most {most} tokens, found {total}. Most in:", *_lines(heaviest)])


def cost(views: Sequence[View], most: float, prices: Mapping[str, Sequence[float]]) -> str | None:
    """Whether all cost no more than this. `prices`: model -> (of a million prompt tokens, of a million more)."""
    unknown = sorted(
        {str(view.model) for view in views if view.usage and view.model not in prices and "*" not in prices}
    )
    if unknown:
        return f"No price for {', '.join(unknown)}. Prices are by model ('*' for all others): {', '.join(prices)}"
    total = sum(_cost(view, prices) for view in views)
    if total <= most:
        return None
    dearest = sorted(views, key=lambda view: -_cost(view, prices))
    told = [f"  {line(view)}: {_cost(view, prices):.6g}" for view in dearest[:_LISTED]]
    return "\n".join([f"Expected a cost of at most {most:g}, found {total:.6g}. Most of it:", *told])


def tool_called(views: Sequence[View], name: str, arguments: Mapping[str, Any]) -> str | None:
    """Whether an answer calls a tool with such arguments; others it may have beside them."""
    made = [(view, call) for view in views for call in view.tool_calls]
    if any(call["name"] == name and not _argument_differences(call["arguments"], arguments) for _, call in made):
        return None
    wanted_call = f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
    told = [f"  #{view.number}: {call['name']}({call['arguments']})" for view, call in made[:_LISTED]]
    return "\n".join([f"Expected an answer that calls {wanted_call}, found {len(made)} calls:", *told])


def tool_answered(views: Sequence[View], name: str, result: object) -> str | None:
    """Whether a request brings the result of a tool; `result` is a matcher or an equal text, None for any."""
    given = [(view, each) for view in views for each in tool_results(view) if each[0] == name]
    matcher = None if result is None else read_matcher(result, "result")
    if any(matcher is None or _is_met(matcher, (text,)) for _, (_, text) in given):
        return None
    what = f" that is {wanted(matcher)}" if matcher is not None else ""
    told = [f"  #{view.number}: {text!r}" for view, (_, text) in given[:_LISTED]]
    return "\n".join([f"Expected a result of {name}{what}, found {len(given)}:", *(told or _lines(views))])


def schema(views: Sequence[View], wanted: Mapping[str, Any] | None) -> str | None:
    """Whether each body keeps to a JSON Schema; without one, whether each request kept to the vendor's contract.

    Raises CriteriaError when what is wanted is no JSON Schema.
    """
    if wanted is None:
        broken = [f"  {line(view)}" for view in views if breaks_contract(view)]
    else:
        check = _checker(wanted)
        found = ((view, check(view.body)) for view in views)
        broken = [
            f"  #{view.number} at {breach.place}: {breach.message}" for view, breach in found if breach is not None
        ]
    if not broken:
        return None
    what = "the vendor's contract" if wanted is None else "the schema"
    return "\n".join([f"Expected all requests to keep to {what}, but {len(broken)} do not:", *broken[:_LISTED]])


def _checker(wanted: Mapping[str, Any]) -> Callable[[object], Breach | None]:
    try:
        return read_schema(dict(wanted) if isinstance(wanted, Mapping) else wanted)
    except SchemaError as error:
        raise CriteriaError(f"schema: is no JSON Schema: {error}") from None


def cancelled(views: Sequence[View], least: int, most: int | None) -> str | None:
    """Whether the client left so many answers before their end."""
    left = [view for view in views if view.closed_by == "client"]
    if len(left) >= least and (most is None or len(left) <= most):
        return None
    expected = _bounds(least, most)
    return "\n".join(
        [f"Expected the client to leave {expected} answers before their end, found {len(left)}.", *_lines(views)]
    )


def all_used(stubs: Iterable[Mapping[str, Any]]) -> str | None:
    """Whether every stub was used, and a bounded one as often as can be. `stubs`: `name`, `used`, `most`, `match`."""
    idle = [stub for stub in stubs if stub["used"] < (stub.get("most") or 1)]
    if not idle:
        return None
    told = [
        f"  {stub['name']} ({stub['match']}): used {stub['used']} of {stub.get('most') or 'any number of'} times"
        for stub in idle
    ]
    return "\n".join(["Expected every stub to be used, but:", *told])


def all_matched(views: Sequence[View]) -> str | None:
    """Whether a stub matched each request, where there are any."""
    missed = [view for view in views if view.is_unmatched]
    if not missed:
        return None
    return "\n".join(
        [f"Expected a stub to match every request, but {len(missed)} found none:", *explain_misses(missed)]
    )


def explain_misses(views: Iterable[View]) -> Iterable[str]:
    """For each request that no stub has matched: the stubs that come nearest, field by field."""
    for view in views:
        yield f"  {line(view)}"
        for near in view.nearest:
            yield f"      stub {near['name']!r}:"
            yield from (
                f"          {each['field']}: wanted {each['wanted']}, came {each['found']}"
                for each in near["differences"]
            )


def contract(views: Sequence[View]) -> str | None:
    """Whether each request kept to the vendor's contract."""
    return schema(views, None)


def no_trouble(views: Sequence[View]) -> str | None:
    """Whether no function of the test's own has raised anything."""
    told = [f"  #{view.number}: {view.trouble}" for view in views if view.trouble is not None]
    return "\n".join(["Functions of the test's own have failed:", *told]) if told else None


def breaks_contract(view: View) -> bool:
    """Whether the vendor would have refused the request for what it says, whatever the stubs and faults made of it."""
    return view.refused in _BREACHES or view.told.get("decision", {}).get("by") == "denial"


# So many characters of a refusal are told.
_TOLD = 300
_BREACHES = frozenset(
    ("malformed_json", "not_an_object", "invalid_request", "unsupported_media_type", "unknown_path", "wrong_method")
)


def tool_results(view: View) -> list[tuple[str, str]]:
    """The results of tools in a request's history: the tool's name and the text."""
    names: dict[str, str] = {}
    found = []
    for message in view.messages:
        for call in message.get("tool_calls") or ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                names[str(call.get("id"))] = str(call["function"].get("name"))
        if message.get("role") == "tool":
            found.append((names.get(str(message.get("tool_call_id")), ""), str(message.get("content"))))
    return found


def line(view: View) -> str:
    """An exchange in one line: what came, what became of it, and by what."""
    operation = view.operation if view.operation and view.is_question else f"{view.method} {view.path}"
    asked = f"{view.dialect or '?'} {operation}"
    model = f" {view.model}" if view.model else ""
    prompt = f" {_short(view.prompt)}" if view.prompt else ""
    stream = " (stream)" if view.streamed else ""
    by = f" by {view.rule}" if view.rule else ""
    refused = f" {view.refused}{_why(view)}" if view.refused else ""
    struck = f", struck by {' and '.join(view.faults)}" if view.faults else ""
    end = {"client": "client left", "server": "done", None: "still open"}[view.closed_by]
    sent = f"{view.events_sent} event{'' if view.events_sent == 1 else 's'}"
    answered = f"{view.status}{refused}{by}{struck}, {sent}, {end} after {view.seconds:.3f} s"
    return f"#{view.number} {asked}{model}{stream}{prompt} -> {answered}"


def journal_lines(views: Sequence[View]) -> list[str]:
    """One line for each exchange: the time from the first, the exchange, and how long the client had stayed away."""
    told: list[str] = []
    for place, view in enumerate(views):
        since = f"{view.arrived - views[0].arrived:8.3f} s"
        gap = f" (client came back after {max(view.arrived - _end(views[place - 1]), 0.0):.3f} s)" if place else ""
        told.append(f"{since}  {line(view)}{gap}")
    return told


def asked_for(match: Mapping[str, Any]) -> str:
    """A match in words, to stand behind "request"."""
    return f" with {', '.join(f'{name}={_matcher_text(value)}' for name, value in match.items())}" if match else ""


def _matcher_text(value: Any) -> str:
    if isinstance(value, Mapping) and len(value) == 1:
        [(word, inner)] = value.items()
        return f"{word}({inner!r})"
    return getattr(value, "__name__", None) or repr(value)


def _answer_matcher(name: str, value: Any) -> Matcher:
    """A matcher for what was answered. CriteriaError where it wants what no answer has."""
    matcher = read_matcher(value, name)
    for said in equal_to(matcher):
        if name in _WORDS and said not in _WORDS[name]:
            raise CriteriaError(f"{name}: {unknown('word', said, _WORDS[name])}")
        if name == "status" and (isinstance(said, bool) or not isinstance(said, int)):
            raise CriteriaError(f"status: {said!r} is no number")
    return matcher


def _answer_differences(view: View, matchers: Mapping[str, Matcher]) -> Iterable[str]:
    for name, matcher in matchers.items():
        found = ANSWER_FIELDS[name](view)
        if not _is_met(matcher, found):
            yield f"{name}: wanted {wanted(matcher)}, came {', '.join(map(repr, found)) or 'nothing'}"


def _argument_differences(arguments: str, wanted_ones: Mapping[str, Any]) -> bool:
    """Whether arguments lack what is wanted of them."""
    try:
        made = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return bool(wanted_ones)
    if not isinstance(made, dict):
        return bool(wanted_ones)
    return not all(
        name in made and _is_met(_argument_matcher(value), (made[name],)) for name, value in wanted_ones.items()
    )


def _is_met(matcher: Matcher, values: Sequence[object]) -> bool:
    """Whether a matcher holds. Raises CriteriaError where nobody knows: a check that guesses would prove nothing."""
    decision = holds(matcher, values)
    if decision is None:
        shown = _short(", ".join(map(str, values)))
        raise CriteriaError(f"Nobody knows whether {shown} is {wanted(matcher)}: {GIVEN_UP}")
    return decision


def _argument_matcher(value: Any) -> Any:
    """A matcher for an argument: objects and lists that are no matchers have to be equal."""
    try:
        return read_matcher(value, "argument")
    except CriteriaError:
        return read_matcher({"equals": value}, "argument")


def _cost(view: View, prices: Mapping[str, Sequence[float]]) -> float:
    prompt, completion = prices.get(str(view.model), prices.get("*", (0.0, 0.0)))
    usage = view.usage
    return (usage.get("prompt_tokens", 0) * prompt + usage.get("completion_tokens", 0) * completion) / 1e6


def _end(view: View) -> float:
    """When an answer ended; one that is open will end some day."""
    return float("inf") if view.ended is None else view.ended


def _after(gap: float) -> str:
    return f"{gap:.3f} s after" if gap >= 0 else "before"


def _bounds(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least}"
    return str(least) if least == most else f"{least} to {most}" if least else f"at most {most}"


def _lines(views: Sequence[View]) -> list[str]:
    more = [f"  ... and {len(views) - _LISTED} more"] if len(views) > _LISTED else []
    return [f"  {line(view)}" for view in views[:_LISTED]] + more


def _why(view: View) -> str:
    """What the vendor says of a request that breaks its contract, on one line; nothing of other refusals."""
    body = view.answer.get("body")
    if not body or not breaks_contract(view):
        return ""
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return f" ({' '.join(text.split())[:_TOLD]})"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
