"""The writers of constrained answers, by the kind of constraint; each gets the schema of the constraint."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.model.corpus import Phrase
from mockserver.model.output_formats.grammars import write_grammar
from mockserver.model.output_formats.json_answers import write_array, write_complete, write_object, write_schema
from mockserver.model.output_formats.sections import write_sections
from mockserver.model.regex import tell_match

# Writes the answer to a prompt, with a key that decides what is random, under a schema.
FormatWriter = Callable[[Prompt, int, Any], Iterator[Phrase | None]]


def _write_match(prompt: Prompt, key: int, pattern: str) -> Iterator[Phrase | None]:
    return tell_match(pattern, key)


def _write_action(prompt: Prompt, key: int, schema: object) -> Iterator[Phrase | None]:
    # Few agents write code.
    from mockserver.model.output_formats.code_actions import write_action

    return write_action(prompt, key, schema)


WRITERS: Mapping[str, FormatWriter] = {
    "json_object": write_object,
    "json_array": write_array,
    "json_schema": write_schema,
    "json_complete": write_complete,
    "regex": _write_match,
    "grammar": write_grammar,
    "sections": write_sections,
    "action": _write_action,
}
