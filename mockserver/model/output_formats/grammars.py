"""Texts of a grammar of JSON values and function calls, or of any of its rules.

    root        = fcall | nofcall
    fcall       = func
    nofcall     = prose that is no JSON
    funcarray   = "[" ws func { "," ws func } ws "]" ws
    func        = an object of "name", a string, and "arguments", an object
    value       = insidevalue ws
    insidevalue = object | array | string | number | "true" | "false" | "null"
    ws          = { " " | tab | line end }

Objects, arrays, strings and numbers are those of JSON, each with white space after it, which continues a text that must
not end. A text of `ws` itself has at least one character.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws, derive
from mockserver.model import corpus
from mockserver.model.corpus import Phrase, fresh_phrase, phrase
from mockserver.model.intent import Intent, detect_intent
from mockserver.model.prose import write_prose
from mockserver.model.schema import write_instance

# Functions that suit any subject, with their parameters.
_FUNCTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("search", ("query", "limit")),
    ("look_up", ("term", "language")),
    ("summarize", ("topic", "max_words")),
    ("create_note", ("title", "body")),
    ("find_documents", ("query", "limit", "exact")),
)
_STRING: Mapping[str, Any] = {"type": "string"}
_NUMBER: Mapping[str, Any] = {"type": "number", "minimum": -300, "maximum": 3000}
_PARTS: Mapping[str, Any] = {
    "subject": _STRING,
    "summary": _STRING,
    "count": {"type": "integer"},
    "score": {"type": "number", "minimum": 0, "maximum": 1},
    "verified": {"type": "boolean"},
    "details": {"anyOf": [{"type": "null"}, {"type": "array", "items": _STRING, "maxItems": 3}]},
}
_OBJECT: Mapping[str, Any] = {"type": "object", "properties": _PARTS, "required": ["subject", "summary"]}
_ARRAY: Mapping[str, Any] = {"type": "array", "items": {"anyOf": [_OBJECT, _STRING]}, "minItems": 1, "maxItems": 4}
_VALUE: Mapping[str, Any] = {"anyOf": [_OBJECT, _ARRAY, _STRING, _NUMBER, {"type": ["boolean", "null"]}]}
_CALLS = frozenset(("root", "fcall", "func", "funcarray"))
# The schemas of values. The rule `root` may give prose, but gives a call: a request with a constraint wants structure.
_SCHEMAS = {
    "value": _VALUE, "insidevalue": _VALUE, "object": _OBJECT, "array": _ARRAY, "string": _STRING, "number": _NUMBER,
}  # fmt: skip
ROOTS = frozenset((*_CALLS, *_SCHEMAS, "nofcall", "ws"))


def write_grammar(prompt: Prompt, key: int, root: str) -> Iterator[Phrase | None]:
    """The phrases of a text that the grammar derives from one of its `ROOTS`, and what may follow.

    None marks where it is complete. Raises KeyError for another root.
    """
    draws, about = Draws(key), detect_intent(prompt.topic)
    if root == "nofcall":
        yield from write_prose(prompt, draws)
        return
    if root == "ws":
        yield fresh_phrase(draws.pick(("\n", "\n\n", " ", "  ", "\n    ", "\t")))
    else:
        if root not in _CALLS:
            written = write_instance(_SCHEMAS[root], derive(key, "grammar"), about.language, about.subject)
            value: Any = json.loads(written)
        elif root == "funcarray":
            value = [_call(about, draws) for _ in range(1 + draws.below(3))]
        else:
            value = _call(about, draws)
        yield fresh_phrase(json.dumps(value, ensure_ascii=False, indent=draws.pick((None, None, 2, 4))))
    yield None
    while True:
        yield phrase("\n")


def _call(about: Intent, draws: Draws) -> dict[str, Any]:
    """A call of one of the functions."""
    name, parameters = draws.pick(_FUNCTIONS)
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        if parameter in ("limit", "max_words"):
            arguments[parameter] = 5 + 5 * draws.below(10)
        elif parameter == "exact":
            arguments[parameter] = draws.below(2) == 0
        elif parameter == "body":
            arguments[parameter] = draws.pick(corpus.language(about.language)["body"])
        else:
            arguments[parameter] = about.language if parameter == "language" else about.subject
    return {"name": name, "arguments": arguments}
