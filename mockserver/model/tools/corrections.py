"""Corrections of a call or an object that a client has refused, as validating frameworks do: what their messages ask
for in plain words is done ("Name should be uppercase", "must be at least 18"); anything else stays as it was.

Pydantic's messages name the property; any other message is about an only property of the kind that it suits.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.generation import Message, Prompt
from mockserver.core.json_values import read_json
from mockserver.model.tools import observations

_LONGEST = 4000
_MOST_REFUSALS = 8
_REFUSED = re.compile(
    r"validation errors?\b|fix the errors?\b|(?:please )?try again\b|recall the function correctly|correct your json",
    re.I,
)
# Pydantic's own report: the property, then what is wrong with it.
_REPORTED = re.compile(r"^([\w.]+)\n {2}(?:Value error, |Assertion failed, )?(.+?) \[type=", re.MULTILINE)
_FENCED = re.compile(r"```json\s*(\[.*?\])\s*```", re.DOTALL)
_NUMBER = r"(-?\d{1,12}(?:\.\d{1,6})?)\b"


class ToolCallRefusal(NamedTuple):
    """What is wrong, and with which property, if the message names one."""

    path: tuple[str, ...]
    reason: str


def refusals(messages: Sequence[Message], tool: str | None = None) -> list[ToolCallRefusal]:
    """What clients have refused since the last request: in the results of a tool, or in the last user message."""
    texts: list[str] = []
    for place in range(len(messages) - 1, -1, -1):
        message = messages[place]
        if message.role == "user" and not _is_refusal(messages, place):
            break
        if (message.answers == tool if tool else message.role == "user") and _REFUSED.search(message.text[:_LONGEST]):
            texts.append(message.text[:_LONGEST])
    return [refusal for text in reversed(texts) for refusal in _read(text)][-_MOST_REFUSALS:]


def with_request(prompt: Prompt) -> Prompt:
    """The prompt with the user's last request as its topic: a refusal is none, and neither is the result of a tool."""
    messages = prompt.messages
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    requests = (
        place for place in reversed(users) if not (_is_refusal(messages, place) or observations(messages, place))
    )
    place = next(requests, None)
    return prompt if place is None or place == users[-1] else prompt._replace(topic=messages[place].text)


def corrected(
    value: Mapping[str, Any], found: Sequence[ToolCallRefusal], accepts: Callable[[object], bool]
) -> dict[str, Any]:
    """An object with each property corrected as its refusal asks for, as far as the schema accepts that."""
    result = dict(value)
    for refusal in found:
        for name in _names(result, refusal):
            changed = {**result, name: _change(result[name], refusal.reason)}
            if changed != result and accepts(changed):
                result = changed
                break
    return result


def _is_refusal(messages: Sequence[Message], place: int) -> bool:
    """Whether a user message refuses what the assistant has answered before."""
    answered = place > 0 and messages[place - 1].role != "user" and any(m.role == "assistant" for m in messages[:place])
    return answered and _REFUSED.search(messages[place].text[:_LONGEST]) is not None


def _read(text: str) -> Iterator[ToolCallRefusal]:
    reported = [ToolCallRefusal(tuple(match[1].split(".")), match[2]) for match in _REPORTED.finditer(text)]
    fenced = _FENCED.search(text)
    if fenced is not None:
        reported += _listed(fenced[1])
    yield from reported or [ToolCallRefusal((), text)]


def _listed(text: str) -> Iterator[ToolCallRefusal]:
    try:
        rows = read_json(text)
    except ValueError:
        return
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("loc"), list) and isinstance(row.get("msg"), str):
            yield ToolCallRefusal(tuple(map(str, row["loc"])), row["msg"])


def _names(value: Mapping[str, Any], refusal: ToolCallRefusal) -> list[str]:
    """The property that a refusal is about; without a path, an only text or an only number."""
    if refusal.path:
        return [refusal.path[0]] if len(refusal.path) == 1 and refusal.path[0] in value else []
    texts = [name for name, part in value.items() if isinstance(part, str)]
    counts = [name for name, part in value.items() if isinstance(part, int | float) and not isinstance(part, bool)]
    return [name for names in (texts, counts) if len(names) == 1 for name in names]


def _change(value: Any, reason: str) -> Any:
    rows = _FOR_TEXTS if isinstance(value, str) else _FOR_NUMBERS if type(value) in (int, float) else ()
    for pattern, change in rows:
        match = pattern.search(reason)
        if match is not None:
            return change(value, match)
    return value


def _with_words(value: str, match: re.Match[str]) -> str:
    """The text with the words that it lacks: in quotation marks, or in a list."""
    listed = match[1].split(" [")[0].strip().rstrip(".")
    words = re.findall(r"['\"`]([^'\"`]+)['\"`]", listed) or re.split(r",\s*|\s+and\s+", listed)
    missing = [word.strip() for word in words if word.strip() and word.strip().lower() not in value.lower()]
    return " ".join([value, ", ".join(missing)]) if missing else value


def _longer(value: str, match: re.Match[str]) -> str:
    least = min(int(match[1]), _LONGEST)
    while len(value) < least:
        value += f" {value or 'and so on'}"
    return value


def _whole(value: float, text: str, step: int = 0) -> float:
    bound = float(text) + step
    return int(bound) if isinstance(value, int) or bound.is_integer() else bound


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_FOR_TEXTS: tuple[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]], ...] = (
    (
        _pattern(r"\bcapitali[sz]ed\b|\btitle case\b|\b(?:start|begin)s? with an? (?:capital|upper)"),
        lambda value, _: value[:1].upper() + value[1:],
    ),
    (_pattern(r"\bupper[- ]?case\b|\bcapital letters\b|\ball caps\b"), lambda value, _: value.upper()),
    (_pattern(r"\blower[- ]?case\b|\bsmall letters\b"), lambda value, _: value.lower()),
    (_pattern(r"\b(?:contain|include|have) (?:a|at least one) space\b"), lambda value, _: f"{value} Smith"),
    (_pattern(r"\bat least (\d{1,4}) characters\b"), _longer),
    (
        _pattern(
            r"\b(?:must|should|has to|needs to) (?:contain|include|mention)(?: all of)?(?: the)?(?: following)?"
            r"(?: (?:words?|terms?|keywords?|phrases?|text))?:? (.{1,200})"
        ),
        _with_words,
    ),
)
_FOR_NUMBERS: tuple[tuple[re.Pattern[str], Callable[[float, re.Match[str]], float]], ...] = (
    (
        _pattern(rf"\b(?:greater than or equal to|at least|no less than|not less than|minimum(?: of)?|>=) {_NUMBER}"),
        lambda value, match: max(value, _whole(value, match[1])),
    ),
    (
        _pattern(rf"\b(?:less than or equal to|at most|no more than|not more than|up to|maximum(?: of)?|<=) {_NUMBER}"),
        lambda value, match: min(value, _whole(value, match[1])),
    ),
    (
        _pattern(rf"\b(?:greater|more|larger|higher|bigger|older) than {_NUMBER}|\b(?:above|over) {_NUMBER}"),
        lambda value, match: max(value, _whole(value, match[1] or match[2], 1)),
    ),
    (
        _pattern(rf"\b(?:less|lower|smaller|younger|fewer) than {_NUMBER}|\b(?:below|under) {_NUMBER}"),
        lambda value, match: min(value, _whole(value, match[1] or match[2], -1)),
    ),
    (_pattern(r"\bpositive\b|\bnon-?negative\b"), lambda value, _: abs(value) or 1),
    (_pattern(r"\bnegative\b"), lambda value, _: -abs(value) or -1),
)  # fmt: skip
