"""Whole requests: whether one equals another that was recorded, and if not, where they differ.

Everything in the body and the query counts, except:

- who asks: the fields of OF_CALLER, and secrets;
- when: timestamps, by the names of their fields;
- generated ids, by the names of their fields, in the conversation and at the top of the body. They may be others, but
  which of them are equal must be the same: a tool's result still belongs to its call;
- what the user declares volatile: `$.seed`, everything at a place; `query.trace`, a parameter;
  `$.messages[*].content =~ \\d{4}-\\d\\d-\\d\\d`, whatever the regular expression finds in the texts at a place.

A request is written as one text with a line for each value, `$.messages[0].role<TAB>"user"`, in the order of the
places, so that equal texts are equal requests, and the lines in which two texts differ are the differences.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from mockserver.core.caches import cache_short
from mockserver.core.json_values import EVERY, Path, read_path, step_text
from mockserver.core.matching.values import CriteriaError
from mockserver.core.messages import short_repr, shortened
from mockserver.core.regexes import Regex, RegexError, read_regex
from mockserver.core.secrets import is_secret, masked_body, masked_query

# The fields of a request's facts that are such a text, without its ids and with them; the path is what is volatile.
WHOLE, WHOLE_WITH_IDS = "request", "request_with_ids"
# Fields of a body that identify the caller rather than the request.
OF_CALLER = ("user", "safety_identifier", "prompt_cache_key", "metadata")
# The fields with a conversation, in which ids are generated; and those within it that hold data of the application.
_CONVERSATION = ("messages", "input", "conversation")
_DATA = ("arguments", "input", "output", "parameters", "schema")
_ID = re.compile(
    r"(?:(?:approval_?request|call|container|conversation|event|item|message|msg|previous_?response|reasoning|request|"
    r"response|run|session|span|step|thread|tool_?call|tool_?use|trace|turn)[_-]?)?id",
    re.IGNORECASE,
)
_TIME = re.compile(r"(?:created|completed|updated|started|finished|sent|received)(?:_?at)?|time_?stamp", re.IGNORECASE)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|\d{9,}(?:\.\d+)?")
# A secret that is masked may show its end, which is another's after a change of keys.
_MASKED = re.compile(r"\*{4}[^\s\"'&;,]{0,4}")
_ONLY_MASKED = re.compile(r"(?:\w+ )?\*{4}")
_PARAMETER = "query."
_STEPS = re.compile(r"\.[^.\[]+|\[(?:'[^']*'|[^\]]*)\]")
# What takes the place of that which a regular expression of the user's has found.
_FOUND = "..."
# How many characters of a value are told, and how many of them are before the place where two long texts differ.
_LONGEST, _BEFORE = 100, 30
NOTHING = "nothing"
# How many places may be declared volatile: each is looked for at each value.
_MOST_VOLATILE = 100
_encode = json.JSONEncoder(ensure_ascii=False).encode
_step_text: Callable[[str], str] = cache_short(4096, 80)(step_text)


class Volatile(NamedTuple):
    """A place whose value may differ; or if there is a regex, only what that finds in the texts there."""

    path: Path
    regex: Regex | None = None


def read_volatile(texts: Sequence[str]) -> list[Volatile]:
    """What a user declares volatile. Raises CriteriaError."""
    if len(texts) > _MOST_VOLATILE:
        raise CriteriaError(f"volatile: has {len(texts)} places; at most {_MOST_VOLATILE} are possible")
    return [_volatile(each) for each in texts]


@cache_short(256, 500)
def _volatile(text: str) -> Volatile:
    place, sign, pattern = (part.strip() for part in text.partition("=~"))
    try:
        is_parameter = place.startswith(_PARAMETER) and len(place) > len(_PARAMETER)
        path = (place,) if is_parameter else ("$", *read_path(place))
        if len(path) == 1 and not is_parameter:
            raise ValueError(f"{short_repr(text)} is the whole body; name a place in it, such as $.messages[0].name")
        return Volatile(path, read_regex(pattern) if sign else None)
    except RegexError as error:
        raise CriteriaError(f"volatile: {short_repr(pattern)} is not a valid regular expression: {error}") from None
    except ValueError as error:
        raise CriteriaError(f"volatile: {error}") from None


def without_secrets(body: Any) -> Any:
    """A JSON value, or a text, whose secrets are masked as in a recording."""
    if not isinstance(body, dict | list):
        return masked_body(body.encode()).decode() if isinstance(body, str) else body
    written = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
    masked = masked_body(written)
    return body if masked == written else json.loads(masked)


def whole_request(body: Any, query: str, volatile: Sequence[str] = (), *, with_ids: bool = False) -> str:
    """A request as a text that equal ones have: its body, a JSON value without secrets, and its query.

    Generated ids are numbered, or kept `with_ids`.
    """
    writer = _Writer(with_ids)
    declared = read_volatile(volatile)
    if isinstance(body, dict):
        body = {key: value for key, value in body.items() if key not in OF_CALLER}
    if body not in ("", None, {}):
        writer.write(body, "$", "", _inside(declared, "$"), has_ids=True)
    sent: dict[str, list[str]] = {}
    for name, value in parse_qsl(masked_query(query), keep_blank_values=True):
        if not is_secret(name):
            sent.setdefault(f"{_PARAMETER}{name}", []).append(value)
    for name, values in sorted(sent.items()):
        writer.write(values if len(values) > 1 else values[0], name, "", _inside(declared, name), has_ids=False)
    return "\n".join(writer.lines)


class _Writer:
    """Writes the values of a request, a line for each."""

    def __init__(self, with_ids: bool) -> None:
        self.lines: list[str] = []
        self._ids: dict[str, int] = {}
        self._with_ids = with_ids

    def write(self, value: Any, place: str, key: str, volatile: Sequence[Volatile], *, has_ids: bool) -> None:
        """Write the value of a `key`, which may have generated ids, without what is volatile in it."""
        if volatile and Volatile(()) in volatile:
            return
        if isinstance(value, dict) and value:
            # Of what is beside the conversation, only plain fields have such ids: that of a prompt is chosen.
            is_top = place == "$"
            for name, each in sorted(value.items()):
                inner = has_ids and (
                    (name in _CONVERSATION or not isinstance(each, dict | list)) if is_top else name not in _DATA
                )
                self.write(each, place + _step_text(name), name, _inside(volatile, name), has_ids=inner)
        elif isinstance(value, list) and any(isinstance(each, dict | list | str) for each in value):
            for number, each in enumerate(value):
                inside = _inside(volatile, number, number - len(value))
                self.write(each, f"{place}[{number}]", key, inside, has_ids=has_ids)
        else:
            self._write_leaf(value, place, key, volatile, has_ids)

    def _write_leaf(self, value: Any, place: str, key: str, volatile: Sequence[Volatile], has_ids: bool) -> None:
        if has_ids and type(value) in (str, int, float):
            if _TIME.fullmatch(key) and _INSTANT.fullmatch(str(value)):
                return
            if not self._with_ids and (_ID.fullmatch(key) or place == "$.conversation"):
                value = f"id {self._ids.setdefault(str(value), len(self._ids) + 1)}"
        if isinstance(value, str):
            for each in volatile:
                if each.regex is not None and not each.path:
                    value = each.regex.replaced(value, _FOUND)
            if "****" in value:
                value = _MASKED.sub("****", value)
                if _ONLY_MASKED.fullmatch(value):
                    return
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        self.lines.append(f"{place}\t{_encode(value)}")


def _inside(volatile: Sequence[Volatile], *steps: str | int) -> Sequence[Volatile]:
    """What is volatile after a step, which may be written in several ways; a regex is for all texts in its place."""
    return volatile and [
        Volatile(path[1:], regex) for path, regex in volatile if not path or path[0] is EVERY or path[0] in steps
    ]


def differences(recorded: str, given: str) -> Iterator[tuple[str, str, str]]:
    """Where two requests differ: each place with what is recorded and given there, shortened for people.

    What only one of them has is told as a whole, such as a message.
    """
    theirs, ours = _values(recorded), _values(given)
    containers = [{prefix for place in each for prefix in _prefixes(place)} - each.keys() for each in (theirs, ours)]
    both = set.intersection(*containers)
    told: set[str] = set()
    for place in (*theirs, *(place for place in ours if place not in theirs)):
        if place in theirs and theirs[place] == ours.get(place):
            continue
        # The first place on the way at which the two are not both containers.
        whole = next((each for each in _prefixes(place) if each not in both), place)
        if whole not in told:
            told.add(whole)
            one, other = _shown(_all_within(whole, theirs), _all_within(whole, ours))
            yield whole, one or NOTHING, other or NOTHING


def count_differences(recorded: str, given: str) -> int:
    """In how many values two requests differ."""
    return len({line.partition("\t")[0] for line in {*recorded.split("\n")} ^ {*given.split("\n")}})


def _values(text: str) -> dict[str, str]:
    lines = (line.partition("\t") for line in text.split("\n") if line)
    return {place: value for place, _, value in lines}


def _prefixes(place: str) -> Iterator[str]:
    """The places that lead to a place, and itself."""
    yield from (place[: step.end()] for step in _STEPS.finditer(place))


def _all_within(whole: str, values: Mapping[str, str]) -> str:
    """The value of a place, or all values within it."""
    if whole in values:
        return values[whole]
    within = ((place.removeprefix(whole), value) for place, value in values.items() if place.startswith(whole))
    return ", ".join(f"{rest.lstrip('.')} {value}" for rest, value in within if rest[:1] in (".", "["))


def _shown(recorded: str, given: str) -> tuple[str, str]:
    """Two values, shortened: of long texts that begin alike the parts around the first difference."""
    start = 0
    if given and max(len(recorded), len(given)) > _LONGEST:
        alike = next((at for at, (one, other) in enumerate(zip(recorded, given, strict=False)) if one != other), 0)
        start = max(alike - _BEFORE, 0)
    both = [f"...{each[start:]}" if start else each for each in (recorded, given)]
    return shortened(both[0], _LONGEST), shortened(both[1], _LONGEST)
