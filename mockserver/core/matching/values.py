"""Matchers of values: what is required of one field of a request.

A matcher is a value that the field must equal, or a table of the words in MATCHERS, all of which must hold. In Python a
function is a matcher too. A field may have several values (the tools on offer, the items of a list); a matcher holds if
any of them fits.

Whether it holds is three-valued: None means that the search for a regular expression had to be given up. That counts as
not met, both for a matcher and for its `not`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge, le
from typing import Any

from mockserver.core.json_values import identity
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.regexes import Regex, RegexError, read_regex

Decision = bool | None

_CONTAINERS = (str, list, tuple)
_NAMES = {str: "a string", bool: "true or false", int: "a whole number"}


class CriteriaError(ValueError):
    """A match that makes no sense; the message names the field and what would have been valid."""

    __module__ = "mockserver"  # where users import it from


@dataclass(frozen=True, slots=True)
class ValueMatcher:
    """What is required of a field's values; matchers of the same `word` and `operand` are equal.

    - `wanted`: the requirement, in words.
    - `holds`: whether the values of a field meet it; None if that depends on a search that was given up.
    - `equal_to`: the values of which the field must equal one; empty if it need not equal any.
    - `regexes`: the regular expressions that the values must match.
    """

    word: str
    operand: object
    wanted: str = field(compare=False)
    holds: Callable[[Sequence[object]], Decision] = field(compare=False, repr=False)
    equal_to: tuple[object, ...] = field(default=(), compare=False, repr=False)
    regexes: tuple[Regex, ...] = field(default=(), compare=False, repr=False)


def read_matcher(value: object, place: str, type: type = object) -> ValueMatcher:
    """Read the matcher of a field of a type, from a value, a table or a function. Raises CriteriaError."""
    if callable(value):
        accepts: Callable[[Any], object] = value
        wanted = f"accepted by {getattr(value, '__name__', 'a predicate')}()"
        return ValueMatcher("function", value, wanted, _any_of(lambda each: bool(accepts(each))))
    if isinstance(value, Mapping):
        if not value:
            raise CriteriaError(f"{place}: is empty; use one of {', '.join(MATCHERS)}")
        matchers = []
        for word, operand in value.items():
            if word not in MATCHERS:
                raise CriteriaError(f"{place}: {unknown_name('matcher', word, MATCHERS)}")
            matchers.append(MATCHERS[word](operand, f"{place}.{word}", type))
        _check_possible(value, place)
        return matchers[0] if len(matchers) == 1 else _every(tuple(matchers))
    if isinstance(value, list | tuple):
        raise CriteriaError(f"{place}: for a list use {{ one_of = [...] }}, or {{ equals = [...] }}")
    return _equals(value, place, type)


def _check_possible(words: Mapping[str, Any], place: str) -> None:
    """Raise CriteriaError if no value can meet all words."""
    if words.get("exists") is False and len(words) > 1:
        raise CriteriaError(f"{place}: a field that does not exist has no value; leave out exists, or all the others")
    least, most = words.get("at_least"), words.get("at_most")
    if least is not None and most is not None and least > most:
        raise CriteriaError(f"{place}: at_least {least} is more than at_most {most}")


def conjunction(decisions: Iterable[Decision]) -> Decision:
    """Whether all hold: False if any of them is False, else None if any is unknown."""
    known: Decision = True
    for decision in decisions:
        if decision is False:
            return False
        known = known and decision
    return known


def negation(decision: Decision) -> Decision:
    """The opposite; what is unknown stays unknown."""
    return None if decision is None else not decision


def disjunction(decisions: Iterable[Decision]) -> Decision:
    """Whether any holds: True if one of them is True, else None if any is unknown."""
    return negation(conjunction(map(negation, decisions)))


def _any_of(fits: Callable[[Any], bool]) -> Callable[[Sequence[object]], Decision]:
    return lambda values: any(map(fits, values))


def _among(wanted: Sequence[object]) -> Callable[[Sequence[object]], Decision]:
    known = [*map(identity, wanted)]
    return _any_of(lambda each: identity(each) in known)


def _every(matchers: tuple[ValueMatcher, ...]) -> ValueMatcher:
    return ValueMatcher(
        "every",
        matchers,
        " and ".join(each.wanted for each in matchers),
        lambda values: conjunction(each.holds(values) for each in matchers),
        regexes=tuple(regex for each in matchers for regex in each.regexes),
    )


def _equals(value: object, place: str, type: type) -> ValueMatcher:
    """An equal JSON value: true is not 1."""
    value = _typed(value, place, type)
    # A text equals nothing but the same text.
    holds = (lambda values: value in values) if isinstance(value, str) else _among((value,))
    return ValueMatcher("equals", value, short_repr(value), holds, (value,))


def _contains(value: object, place: str, type: type) -> ValueMatcher:
    """A text that contains this part, or a list that contains this item."""
    part = _text(value, place, type)
    return ValueMatcher(
        "contains",
        part,
        f"containing {short_repr(part)}",
        # A tuple of types, because making a union of them takes as long as a search.
        _any_of(lambda each: isinstance(each, _CONTAINERS) and part in each),
    )


def _regex(value: object, place: str, type: type) -> ValueMatcher:
    """A text in which a regular expression finds a match."""
    text = _text(value, place, type)
    try:
        regex = read_regex(text)
    except RegexError as error:
        raise CriteriaError(f"{place}: {short_repr(text)} is not a valid regular expression: {error}") from None

    def holds(values: Sequence[object]) -> Decision:
        # No search follows one that was given up.
        for value in values:
            found = regex.search(value) if isinstance(value, str) else False
            if found is not False:
                return found
        return False

    return ValueMatcher("regex", text, f"matching /{text}/", holds, regexes=(regex,))


def _one_of(value: object, place: str, type: type) -> ValueMatcher:
    if not isinstance(value, list | tuple) or not value:
        raise CriteriaError(f"{place}: must be a list of values")
    values = tuple(_typed(item, place, type) for item in value)
    wanted = f"one of {', '.join(map(short_repr, values))}"
    return ValueMatcher("one_of", values, wanted, _among(values), values)


def _bound(word: str, meets: Callable[[float, float], bool]) -> Callable[[object, str, type], ValueMatcher]:
    def read(value: object, place: str, type: type) -> ValueMatcher:
        if type in (str, bool) or isinstance(value, bool) or not isinstance(value, int | float):
            raise CriteriaError(f"{place}: must be a number, and so must the field")

        def fits(each: object) -> bool:
            return isinstance(each, int | float) and not isinstance(each, bool) and meets(each, value)

        return ValueMatcher(word, value, f"{word.replace('_', ' ')} {short_repr(value)}", _any_of(fits))

    return read


def _exists(value: object, place: str, type: type) -> ValueMatcher:
    if not isinstance(value, bool):
        raise CriteriaError(f"{place}: must be true or false")
    wanted = "anything" if value else "nothing"
    return ValueMatcher("exists", value, wanted, lambda values: bool(values) == value)


def _not(value: object, place: str, type: type) -> ValueMatcher:
    matcher = read_matcher(value, place, type)
    return ValueMatcher("not", matcher, f"not {matcher.wanted}", lambda values: negation(matcher.holds(values)))


MATCHERS: Mapping[str, Callable[[object, str, type], ValueMatcher]] = {
    "equals": _equals,
    "contains": _contains,
    "regex": _regex,
    "one_of": _one_of,
    "at_least": _bound("at_least", ge),
    "at_most": _bound("at_most", le),
    "exists": _exists,
    "not": _not,
}


def _text(value: object, place: str, type: type) -> str:
    if type not in (str, object):
        raise CriteriaError(f"{place}: matches strings, but this field is {_NAMES[type]}")
    if not isinstance(value, str):
        raise CriteriaError(f"{place}: {short_repr(value)} is not a string")
    return value


def _typed(value: object, place: str, type: type) -> object:
    """The value. Raises CriteriaError if no field of that type could have it."""
    right = isinstance(value, type) and (type is not int or not isinstance(value, bool))
    if not right:
        raise CriteriaError(f"{place}: {short_repr(value)} is not {_NAMES.get(type, 'a value')}")
    return value
