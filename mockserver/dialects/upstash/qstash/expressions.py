"""The expressions of `Upstash-Retry-Delay`, such as `pow(2, retried) * 1000`: a wait in milliseconds.

sum     = product { ("+" | "-") product }
product = factor { ("*" | "/" | "%") factor }
factor  = "-" factor | number | "retried" | function "(" sum { "," sum } ")" | "(" sum ")"
"""

import math
import operator
import re
from collections.abc import Callable, Mapping

_TOKEN = re.compile(r"\s*(?:(\d{1,15}(?:\.\d{1,9})?)|([a-z]+)|([-+*/%(),]))")
_LONGEST, _DEEPEST = 200, 40
_SUMS: Mapping[str, Callable[[float, float], float]] = {"+": operator.add, "-": operator.sub}
_PRODUCTS: Mapping[str, Callable[[float, float], float]] = {
    "*": operator.mul, "/": operator.truediv, "%": math.fmod,
}  # fmt: skip
# Each function, and how many arguments it takes.
_FUNCTIONS: Mapping[str, tuple[Callable[..., float], int]] = {
    "pow": (math.pow, 2),
    "exp": (math.exp, 1),
    "sqrt": (math.sqrt, 1),
    "abs": (abs, 1),
    "floor": (math.floor, 1),
    "ceil": (math.ceil, 1),
    "round": (round, 1),
    "min": (min, 2),
    "max": (max, 2),
}


class ExpressionError(ValueError):
    """A text that is no expression; the message says why."""


def check_expression(text: str) -> None:
    """Raise ExpressionError unless a text is an expression."""
    milliseconds(text, 0)


def milliseconds(text: str, retried: int) -> float | None:
    """The value of an expression after so many retries; None if it has none, as after a division by zero.

    Raises ExpressionError if it is not an expression.
    """
    if len(text) > _LONGEST or text.count("(") > _DEEPEST or text.count("-") > _DEEPEST:
        raise ExpressionError("the expression is too long")
    reader = _Reader(_tokens(text), float(retried))
    value = reader.sum()
    if reader.token:
        raise ExpressionError(f"unexpected {reader.token!r}")
    return value if math.isfinite(value) else None


def _tokens(text: str) -> list[str]:
    tokens, place, text = [], 0, text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise ExpressionError(f"unexpected {text[place:].strip()[:1]!r}")
        tokens.append(found[0].strip())
        place = found.end()
    return tokens


class _Reader:
    """Reads an expression and computes its value. An operation without a result gives NaN, so that reading goes on."""

    def __init__(self, tokens: list[str], retried: float) -> None:
        self._tokens = tokens
        self._place = 0
        self._retried = retried

    @property
    def token(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def sum(self) -> float:
        """The value of a sum."""
        return self._chain(_SUMS, self._product)

    def _product(self) -> float:
        return self._chain(_PRODUCTS, self._factor)

    def _chain(self, operators: Mapping[str, Callable[[float, float], float]], part: Callable[[], float]) -> float:
        value = part()
        while self.token in operators:
            operate = operators[self._take()]
            value = _result(operate, value, part())
        return value

    def _factor(self) -> float:
        token = self._take()
        if token == "-":
            return -self._factor()
        if token == "(":
            value = self.sum()
            self._expect(")")
            return value
        if token[:1].isdigit():
            return float(token)
        if token == "retried":
            return self._retried
        if token in _FUNCTIONS:
            return self._call(token)
        raise ExpressionError(f"unexpected {token!r}" if token else "unexpected end")

    def _call(self, name: str) -> float:
        function, arity = _FUNCTIONS[name]
        self._expect("(")
        arguments = [self.sum()]
        while self.token == ",":
            self._take()
            arguments.append(self.sum())
        self._expect(")")
        if len(arguments) != arity:
            raise ExpressionError(f"{name} takes {arity} argument{'s' if arity > 1 else ''}, not {len(arguments)}")
        return _result(function, *arguments)

    def _take(self) -> str:
        token = self.token
        self._place += 1
        return token

    def _expect(self, wanted: str) -> None:
        token = self._take()
        if token != wanted:
            raise ExpressionError(f"expected {wanted!r}, found {repr(token) if token else 'the end'}")


def _result(function: Callable[..., float], *arguments: float) -> float:
    if any(map(math.isnan, arguments)):
        return math.nan
    try:
        return float(function(*arguments))
    except (ArithmeticError, ValueError):
        return math.nan
