"""The story that a choice tells, by the form that its request demands: prose, or JSON."""

import json
from collections.abc import Iterator

from mockserver.core.generation import Constraint, Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, phrase
from mockserver.generation.prose import write_prose
from mockserver.generation.subject import brief


def tell(prompt: Prompt, key: int, constraint: Constraint | None = None) -> Iterator[Phrase | None]:
    """The phrases of a text without end; None marks where it would end by itself.

    JSON is a small plain object whatever the schema, and patterns and grammars are not obeyed yet: both stand in
    CHANGELOG.md under what is missing.
    """
    if constraint is not None and constraint.kind in ("json_object", "json_schema"):
        return _json_object(prompt, key)
    return write_prose(prompt, key)


def _json_object(prompt: Prompt, key: int) -> Iterator[Phrase | None]:
    about = brief(prompt.topic)
    draws = Draws(key)
    answer = draws.pick(corpus.language(about.language)["body"])
    value = {"subject": about.subject, "answer": answer, "confidence": round(0.5 + draws.unit() / 2, 2)}
    yield phrase(json.dumps(value, ensure_ascii=False, indent=2))
    yield None
    while True:
        yield phrase("\n")
