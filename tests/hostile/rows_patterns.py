"""Patterns that are small to send and long to read, to compile, to search with or to write a text for."""

from collections.abc import Callable, Mapping
from typing import Any

from tests.hostile.attack import Attack, request
from tests.hostile.rows_schemas import CHAT, PLACES, one

# Each must be refused or answered, whatever the place in which it is sent.
PATTERNS: Mapping[str, Callable[[], str]] = {
    "nested counts": lambda: "(((a{1,999}){1,999}){1,999})",
    "deep counts": lambda: "(" * 50 + "a" + "){99}" * 50,
    "optional parts, repeated": lambda: "(a?){5000}b",
    "options, repeated": lambda: "(a|b|c|d|e){1,400}(f|g){400}",
    "a star in a count": lambda: "((a*)*){500}b",
    "shared beginnings": lambda: "(a|ab|abc|abcd|abcde){200}x",
    "a place in the middle": lambda: "(.*a.{12})$",
    "any characters": lambda: ".{9000}x",
    "a category, repeated": lambda: r"\p{L}{500}[^\p{Lu}]{500}",
    "many categories": lambda: r"[\p{L}\p{N}\p{P}\p{S}]" * 400,
    "300,000 characters": lambda: "a" * 300_000,
    "15,000 characters": lambda: "ab?c" * 3_750,
    "shorthands": lambda: r"\s\w" * 4000,
    "shorthands in a class": lambda: "[" + r"\s" * 3000 + "]",
    "many options": lambda: "|".join(f"option{n}" for n in range(1500)),
    "many groups": lambda: "(a)" * 4000,
    "empty groups": lambda: "()" * 8000,
    "many classes": lambda: "".join(f"[{chr(n)}-\U0010ffff]" for n in range(200, 1400)),
    "long classes": lambda: "[" + "".join(map(chr, range(200, 19_000, 2))) + "]{9}",
    "either case": lambda: r"(?i:[\x00-\U0010ffff])" * 500,
    "either case of words": lambda: "(?i)" + "abcdefgh" * 1000,
    "named groups": lambda: "".join(f"(?P<g{n}>a)" for n in range(1200)),
    "back-references": lambda: "(a+)" * 90 + "".join(rf"\{n}" for n in range(1, 91)) * 20,
    "named back-references": lambda: "".join(f"(?P<g{n}>a)(?P=g{n})" for n in range(700)),
    "a growing back-reference": lambda: "(a{90})" + "".join(rf"(\{n}\{n})" for n in range(1, 20)),
    "conditions": lambda: "(a)?" + "(?(1)b|c)" * 1500,
    "deep groups": lambda: "(" * 9000 + "a" + ")" * 9000,
    "unclosed groups": lambda: "(" * 9000,
    "unclosed classes": lambda: "[a" * 9000,
    "unclosed comments": lambda: "(?#" * 6000,
    "comments": lambda: "(?#a)" * 3500 + "a",
    "lookaheads": lambda: "(?=a)" * 2000 + "a",
    "contrary lookaheads": lambda: "(?=a)(?!b)" * 1900 + "a",
    "negative lookaheads": lambda: "".join(f"(?!{n:03})" for n in range(999)) + r"\d\d\d",
    "wide lookaheads": lambda: "".join(f"(?=.*{chr(97 + n % 26)}{n})" for n in range(100)) + ".*",
    "a long lookahead": lambda: "(?=.{2000}x)(?!.{1000}a).*",
    "nested lookaheads": lambda: "(?=a" * 40 + ")" * 40 + "a",
    "a repeated lookahead": lambda: "(?:(?!abc)(?=[a-z])[a-z]){900}",
    "lookbehinds": lambda: "".join(f"a(?<=.{{{n}}})" for n in range(400)),
    "boundaries": lambda: r"\b\B" * 4000,
    "anchors": lambda: "(^|$|a)" * 2500,
    "anchors within lines": lambda: r"(?m)(^$\n)" * 900,
    "catastrophic": lambda: "(a|aa)+(?=b)c",
    "a contradiction": lambda: "(?=.*a.{9}$)(?=.*b.{9}$)(?!.*c.{8}$)[a-z]{12}d{3}e",
}


def regex_of(model: str, **more: Any) -> Callable[[str], Any]:
    return lambda pattern: {**CHAT, "model": model, "response_format": {"type": "regex", **more, "schema": pattern}}


def grammar_of(pattern: str) -> Any:
    form = {"type": "grammar", "grammar": {"syntax": "regex", "definition": pattern}}
    tool = {"type": "custom", "custom": {"name": "f", "format": form}}
    return {**CHAT, "model": "gpt://b1/yandexgpt/latest", "tools": [tool], "tool_choice": "required"}


def responses_grammar_of(pattern: str) -> Any:
    tool = {"type": "custom", "name": "f", "format": {"type": "grammar", "syntax": "regex", "definition": pattern}}
    return {"model": "m", "input": "Hi", "tools": [tool], "tool_choice": "required"}


def tag_of(pattern: str) -> Any:
    tag = {"type": "structural_tag", "format": {"type": "regex", "pattern": pattern}}
    return {**CHAT, "model": "m", "response_format": tag}


def in_schema(place: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda pattern: PLACES[place][2](make(pattern))


def value_of(pattern: str) -> Any:
    return one(type="string", pattern=f"^(?:{pattern})$")


def anywhere_of(pattern: str) -> Any:
    return one(type="string", pattern=pattern, minLength=30)


def without(pattern: str) -> Any:
    return one(type="string", minLength=3, **{"not": {"pattern": pattern}})


def name_of(pattern: str) -> Any:
    return {"type": "object", "minProperties": 2, "patternProperties": {pattern: {"type": "integer"}},
            "additionalProperties": False}  # fmt: skip


OBSERVED = {"x-mockserver-edition": "observed"}
FRIENDLI = "/friendli/serverless/v1/chat/completions"
# Where each vendor takes patterns: path, headers, body.
REGEX_PLACES: Mapping[str, tuple[str, Mapping[str, str], Callable[[str], Any]]] = {
    "friendli's regex": (FRIENDLI, {}, regex_of("meta-llama-3.1-8b-instruct")),
    "yandex' grammar": ("/yandex/v1/chat/completions", {}, grammar_of),
    "yandex' grammar of responses": ("/yandex/v1/responses", {}, responses_grammar_of),
    "ovms' tag": ("/ovms/v3/chat/completions", OBSERVED, tag_of),
    **{
        f"{made.__name__} in {place}": (PLACES[place][0], PLACES[place][1], in_schema(place, made))
        for place in ("yandex' format", "yandex' tool", "yandex' text", "cerebras' format", "cerebras' tool",
                      "friendli's format", "friendli's serialized format", "friendli's tool", "ovms' format",
                      "ovms' tool")
        for made in (value_of, anywhere_of, without, name_of)
    },
}  # fmt: skip


def attack(what: str, place: str) -> Attack:
    path, headers, body = REGEX_PLACES[place]

    def act(port: int) -> None:
        status, answer = request(port, "POST", path, body(PATTERNS[what]()), headers)
        assert status < 500, (status, answer[:500])

    return Attack(f"{what} in {place}", act)


def many(make: Callable[[int], str], count: int, place: str, how: str) -> Attack:
    """Many patterns in one schema: for one text, each for a text of its own, or for the names of properties."""
    path, headers, body = PLACES[place]

    def schema() -> dict[str, Any]:
        patterns = [make(number) for number in range(count)]
        if how == "for one text":
            return one(type="string", allOf=[{"pattern": pattern} for pattern in patterns])
        parts = {f"p{number}": {"type": "string", "pattern": pattern} for number, pattern in enumerate(patterns)}
        if how == "for many texts":
            return {"type": "object", "properties": parts, "required": list(parts)}
        return {"type": "object", "minProperties": 20, "patternProperties": {key: {"type": "null"} for key in patterns}}

    def act(port: int) -> None:
        status, answer = request(port, "POST", path, body(schema()), headers)
        assert status < 500, (status, answer[:500])

    return Attack(f"{count} such as {make(0)[:30]} {how} in {place}", act)


# Every pattern where each way to read one is taken, and some that differ in what they cost in all other places.
EVERY = ("yandex' grammar", "friendli's regex", "value_of in yandex' format", "anywhere_of in yandex' format",
         "name_of in yandex' format")  # fmt: skip
SOME = ("optional parts, repeated", "15,000 characters", "unclosed classes", "either case")
ROWS: list[Attack] = [
    *(attack(what, place) for place in EVERY for what in PATTERNS),
    *(attack(what, place) for place in REGEX_PLACES if place not in EVERY for what in SOME),
    *(
        many(make, count, "yandex' format", how)
        for make, count in (
            (lambda n: f"(?=.*a{n})", 400),
            (lambda n: f"^(?!b{n})[a-z]{{3}}", 250),
            (lambda n: f"a{n}", 1500),
            (lambda n: f"^[a-z]{{1,90}}{n % 7}?$", 500),
            (lambda n: f"(a?){{90}}{n}", 300),
            (lambda n: f"(x*){{2,40}}y{n}$", 300),
        )
        for how in ("for one text", "for many texts", "for names")
    ),
]
