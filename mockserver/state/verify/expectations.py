"""Expectations of exchanges: each function returns a description of what is wrong, or None.

A check gets the exchanges that it is about, in order of arrival, and its arguments from the test. A description has
three parts: what was expected, what was found, and what was nearest.

If some of these exchanges are forgotten, the remaining ones may still decide: one that breaks a rule for all, or one
that is all that was looked for. Otherwise the check fails, and says why.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import orjson

from mockserver.core.matching.values import MATCHERS, CriteriaError, ValueMatcher, read_matcher
from mockserver.core.messages import pluralize
from mockserver.state.journal.views import View, explain_misses, explain_stale, line, loss
from mockserver.state.verify.selection import Selection, asked_for, is_met, matcher_text
from mockserver.state.verify.tool_calls import SchemaError, read_schema, tool_results

# A sleep may end this much early, in seconds: clocks differ.
_TICK = 0.001
# No more exchanges than this are listed in a message.
_LISTED = 12
_SILENCE = "There were no requests."


class Price(NamedTuple):
    """What a million tokens cost: of prompts, of completions, and of cached prompts, None for no price of their own."""

    prompt: float
    completion: float
    cached: float | None = None

    def of(self, prompt: int, completion: int, cached: int) -> float:
        """The cost of so many tokens; the cached ones are part of the prompt."""
        rate = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * rate + completion * self.completion) / 1e6


class Bounds(NamedTuple):
    """From `least` to `most`, both inclusive; None means unlimited."""

    least: int = 0
    most: int | None = None

    def of(self, noun: str) -> str:
        """The bounds with their noun, as `at least 1 request`."""
        if self.most is None:
            return f"at least {pluralize(self.least, noun)}"
        most = pluralize(self.most, noun)
        if self.least == self.most:
            return most
        return f"{self.least} to {most}" if self.least else f"at most {most}"


def calls(selection: Selection, bounds: Bounds) -> str | None:
    """Check that the number of matching requests is within the bounds."""
    count = len(selection.matching) + selection.counted
    uncertain = selection.forgotten - selection.counted
    if _are_certain(count, uncertain, bounds):
        return None
    found = f"{count} in the journal" if uncertain else f"{count}"
    lines = [f"Expected {bounds.of('request')}{selection.asked}, found {found}."]
    if selection.matching:
        lines += ["Found:", *_lines(selection.matching)]
    if selection.others and count < bounds.least:
        lines.append("Nearest others:")
        lines += [f"  {line(view)}\n      {'; '.join(different)}" for view, different in selection.others[:3]]
    elif not (selection.matching or selection.others or selection.forgotten):
        lines.append(_SILENCE)
    return _of_some(lines, selection.forgotten)


def never(selection: Selection) -> str | None:
    """Check that no request matches."""
    count = len(selection.matching) + selection.counted
    lines = [f"Expected no request{selection.asked}, found {count}:", *_lines(selection.matching)]
    return _of_all(lines if count else (), selection.forgotten)


def spaced_at_least(selection: Selection, seconds: float) -> str | None:
    """Check that at least `seconds` passed from the end of each answer to the next request."""
    views = selection.matching
    gaps = [(before, after, after.arrived - before.end) for before, after in pairwise(views)]
    early = [
        f"  #{after.number} came {f'{gap:.3f} s after' if gap >= 0 else 'before'} #{before.number} had ended"
        for before, after, gap in gaps
        if gap < seconds - _TICK
    ]
    expected = f"Expected at least {seconds:g} s from each answer to the next request, but:"
    return _of_all([expected, *early, *_lines(views)] if early else (), selection.forgotten)


def in_order(groups: Sequence[Selection], among: Selection) -> str | None:
    """Check that requests came in an order: after one of each group, one of the next."""
    reached = 0
    for place, group in enumerate(groups):
        after = next((view.number for view in group.matching if view.number > reached), None)
        if after is None:
            where = f"after #{reached}" if reached else "at all"
            lines = [
                "Expected requests in this order:",
                *(f"  {number}.{each.asked or ' request'}" for number, each in enumerate(groups, 1)),
                f"but no request{group.asked} came {where} (step {place + 1}).",
                *_lines(among.matching),
            ]
            return _of_some(lines, max(each.forgotten for each in groups))
        reached = after
    return None


def concurrency(selection: Selection, most: int) -> str | None:
    """Check that no more than `most` requests were open at once."""
    views = selection.matching
    for view in views:
        open_then = [each for each in views if each.arrived <= view.arrived < each.end]
        if len(open_then) > most:
            wanted, found = pluralize(most, "request"), len(open_then)
            expected = f"Expected at most {wanted} at once, found {found} when #{view.number} came:"
            return "\n".join([expected, *_lines(open_then)])
    return _of_all((), selection.forgotten)


def tokens(selection: Selection, most: float) -> str | None:
    """Check that prompts and completions together have at most `most` tokens."""
    total = sum(view.tokens for view in selection.matching)
    heaviest = sorted(selection.matching, key=lambda view: -view.tokens)
    lines = [f"Expected at most {most} tokens, found {total}. Most of them in:", *_lines(heaviest)]
    return _of_all(lines if total > most else (), selection.forgotten)


def cached_tokens(selection: Selection, least: float) -> str | None:
    """Check that at least `least` tokens of the prompts came from the engine's prompt cache."""
    views = [view for view in selection.matching if view.usage]
    total = sum(view.cached_tokens for view in views)
    if total >= least:
        return None
    listed = [f"  {line(view)}: {view.cached_tokens} of {view.usage['prompt_tokens']}" for view in views[:_LISTED]]
    expected = f"Expected at least {least} cached tokens in prompts, found {total}. The first prompts:"
    return _of_some([expected, *listed], selection.forgotten)


def cost(selection: Selection, most: float, prices: Mapping[str, Price]) -> str | None:
    """Check that all cost at most `most`, by the prices of their models."""
    views = selection.matching
    unpriced = sorted(
        {str(view.model) for view in views if view.usage and view.model not in prices and "*" not in prices}
    )
    if unpriced:
        return f"No price for {', '.join(unpriced)}. Add it, or '*' for all other models. Given: {', '.join(prices)}"
    total = sum(_cost(view, prices) for view in views)
    dearest = sorted(views, key=lambda view: -_cost(view, prices))
    listed = [f"  {line(view)}: {_cost(view, prices):.6g}" for view in dearest[:_LISTED]]
    lines = [f"Expected a cost of at most {most:g}, found {total:.6g}. Most of it:", *listed]
    return _of_all(lines if total > most else (), selection.forgotten)


def tool_called(selection: Selection, name: str, arguments: Mapping[str, Any]) -> str | None:
    """Check that an answer calls a tool with these arguments; it may have others besides."""
    matchers = {key: _argument_matcher(value) for key, value in arguments.items()}
    called = [(view, call) for view in selection.matching for call in view.tool_calls]
    if any(call["name"] == name and _are_met(matchers, call["arguments"]) for _, call in called):
        return None
    wanted = f"{name}({', '.join(f'{key}={matcher_text(value)}' for key, value in arguments.items())})"
    listed = [f"  #{view.number}: {call['name']}({call['arguments']})" for view, call in called[:_LISTED]]
    expected = f"Expected an answer that calls {wanted}, found {pluralize(len(called), 'call')}:"
    return _of_some([expected, *(listed or _lines(selection.matching) or [_SILENCE])], selection.forgotten)


def tool_answered(selection: Selection, name: str, result: object) -> str | None:
    """Check that a request has the result of a tool; `result` is a matcher, an equal text, or a table that the text
    states as JSON; None is for any."""
    given = [
        (view, each.text) for view in selection.matching for each in tool_results(view.messages) if each.name == name
    ]
    if isinstance(result, Mapping) and result and not result.keys() & MATCHERS.keys():
        result = {"equals": result}
    matcher = None if result is None else read_matcher(result, "result")
    if any(matcher is None or is_met(matcher, _readings(text)) for _, text in given):
        return None
    what = f" that is {matcher.wanted}" if matcher is not None else ""
    listed = [f"  #{view.number}: {text!r}" for view, text in given[:_LISTED]]
    expected = f"Expected a result of {name}{what}, found {len(given)}:"
    return _of_some([expected, *(listed or _lines(selection.matching) or [_SILENCE])], selection.forgotten)


def _readings(text: str) -> Sequence[object]:
    """A text, and the JSON that it may be."""
    try:
        return text, orjson.loads(text)
    except orjson.JSONDecodeError:
        return (text,)


def schema(selection: Selection, expected: object) -> str | None:
    """Check that each body conforms to a JSON Schema. Raises CriteriaError if `expected` is not a schema."""
    try:
        check = read_schema(dict(expected) if isinstance(expected, Mapping) else expected)
    except SchemaError as error:
        raise CriteriaError(f"schema: is not a valid JSON Schema: {error}") from None
    found = ((view, check(view.body)) for view in selection.matching)
    broken = [f"  #{view.number} at {breach.place}: {breach.message}" for view, breach in found if breach is not None]
    return _kept_to("the schema", broken, selection)


def contract(selection: Selection) -> str | None:
    """Check that each request kept to the vendor's contract."""
    broken = [f"  {line(view)}" for view in selection.matching if view.breaks_contract]
    return _kept_to("the vendor's contract", broken, selection)


def cancelled(selection: Selection, bounds: Bounds) -> str | None:
    """Check that the number of answers that the client left before their end is within the bounds."""
    count = sum(view.closed_by == "client" for view in selection.matching)
    if _are_certain(count, selection.forgotten, bounds):
        return None
    expected = f"Expected the client to cancel {bounds.of('answer')}, found {count}."
    return _of_some([expected, *_lines(selection.matching)], selection.forgotten)


def all_used(stubs: Iterable[Mapping[str, Any]]) -> str | None:
    """Check that every stub was used, and a limited one to its limit. `stubs`: `name`, `used`, `most`, `match`."""
    idle = [stub for stub in stubs if stub["used"] < (stub.get("most") or 1)]
    if not idle:
        return None
    lines = ["Expected every stub to be used, but:"]
    for stub in idle:
        most = stub.get("most")
        used = pluralize(stub["used"], "time") if most is None else f"{stub['used']} of {pluralize(most, 'time')}"
        lines.append(f"  {stub['name']}, for requests{asked_for(stub['match'])}: used {used}")
    return "\n".join(lines)


def all_matched(selection: Selection) -> str | None:
    """Check that a stub matched each request, if there are any stubs, and that no answer was recorded for another."""
    missed = [view for view in selection.matching if view.is_unmatched]
    stale = [view for view in selection.matching if view.stale]
    lines: list[str] = []
    if missed:
        lines += [f"Expected a stub to match every request, but {len(missed)} had none:", *explain_misses(missed)]
    if stale:
        lines.append(f"Expected no stale answers, but {len(stale)} were recorded for other requests:")
        lines += explain_stale(stale)
    return _of_all(lines, selection.forgotten)


def no_handler_error(views: Sequence[View]) -> str | None:
    """Check that no function of the test's own has raised an exception."""
    listed = [f"  #{view.number}: {view.handler_error}" for view in views if view.handler_error is not None]
    return "\n".join(["Functions of the test have failed:", *listed]) if listed else None


def _of_all(lines: Sequence[str], forgotten: int) -> str | None:
    """The result of a check about all exchanges: those that are kept can refute it, but not prove it for all."""
    if not lines and forgotten:
        return f"This cannot be checked for all requests. {loss(forgotten)}"
    return "\n".join(lines) or None


def _of_some(lines: Sequence[str], forgotten: int) -> str:
    """The result of a check that has not found what it looks for, which may have been forgotten."""
    return "\n".join([*lines, loss(forgotten)] if forgotten else lines)


def _are_certain(count: int, forgotten: int, bounds: Bounds) -> bool:
    """Whether the number is within the bounds even if any of the forgotten exchanges match."""
    return count >= bounds.least and (bounds.most is None or count + forgotten <= bounds.most)


def _kept_to(what: str, broken: Sequence[str], selection: Selection) -> str | None:
    expected = (
        f"Expected all requests to conform to {what}, but {len(broken)} {'does' if len(broken) == 1 else 'do'} not:"
    )
    return _of_all([expected, *broken[:_LISTED]] if broken else (), selection.forgotten)


def _are_met(matchers: Mapping[str, ValueMatcher], arguments: str) -> bool:
    parsed = _readings(arguments or "{}")[-1]
    if not isinstance(parsed, dict):
        return not matchers
    return all(name in parsed and is_met(matcher, (parsed[name],)) for name, matcher in matchers.items())


def _argument_matcher(value: Any) -> ValueMatcher:
    """A matcher for an argument: objects and lists that are not matchers must be equal."""
    try:
        return read_matcher(value, "argument")
    except CriteriaError:
        return read_matcher({"equals": value}, "argument")


def _cost(view: View, prices: Mapping[str, Price]) -> float:
    price, usage = prices.get(str(view.model), prices.get("*", Price(0, 0))), view.usage
    return price.of(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), view.cached_tokens)


def _lines(views: Sequence[View]) -> list[str]:
    more = [f"  ... and {len(views) - _LISTED} more"] if len(views) > _LISTED else []
    return [f"  {line(view)}" for view in views[:_LISTED]] + more
