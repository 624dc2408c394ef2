"""The writers of constrained answers, by the kind of constraint; each gets the schema of the constraint."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from mockserver.core.generation import Prompt
from mockserver.model.output_formats.frameworks import write_action, write_sections
from mockserver.model.output_formats.json_answers import write_array, write_grammar, write_object, write_schema
from mockserver.model.output_formats.tags import write_tags
from mockserver.model.output_formats.written_steps import write_steps
from mockserver.model.regex import tell_match
from mockserver.model.tokens import Phrase

# Writes the answer to a prompt, with a key that decides what is random, under a schema.
FormatWriter = Callable[[Prompt, int, Any], Iterator[Phrase | None]]


WRITERS: Mapping[str, FormatWriter] = {
    "json_object": write_object,
    "json_array": write_array,
    "json_schema": write_schema,
    "json_complete": partial(write_schema, complete=True),
    "regex": lambda prompt, key, pattern: tell_match(pattern, key),
    "grammar": write_grammar,
    "sections": write_sections,
    "action": write_action,
    "steps": write_steps,
    "tags": write_tags,
}
