"""`mockserver schema`: JSON Schemas of config files and stub files, with which editors complete and check them.

They are in draft 7, which every editor supports, and include the installed dialects and operations. A file names its
own schema in the key `$schema`.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mockserver.cli.command import Command, argument, write_files
from mockserver.core.dialects import EDITIONS, Dialect
from mockserver.core.installed import load_dialects
from mockserver.core.messages import unknown_name
from mockserver.core.seeding import SEEDS
from mockserver.server.admin.schemas import (
    COUNT,
    FLAG,
    NOTATIONS,
    NUMBER,
    TEXT,
    Schema,
    closed,
    described,
    either,
    one_of,
    reference,
    rows,
)
from mockserver.state.settings import ConfigError
from mockserver.state.settings.options import OPTIONS, Option
from mockserver.state.stubs.parse_stubs import NOTES

_DRAFT = "http://json-schema.org/draft-07/schema#"
_REFERENCE = re.compile(r"^#/components/schemas/")
# Keywords that constrain values of every type.
_CLOSING = {"enum", "const", "not", "$ref"}
_NAMES_A_SCHEMA = {"$schema": described(TEXT, "the schema of this file")}
_SEED: Schema = {"type": "integer", "minimum": SEEDS[0], "maximum": SEEDS[-1]}


def config_schema(dialects: Mapping[str, Dialect]) -> dict[str, Any]:
    """The schema of a config file, in TOML."""
    settings = {option.name: described(_value_of(option, dialects), option.help) for option in OPTIONS}
    tables = {
        "models": described(closed(dict.fromkeys(dialects, rows(TEXT))), "the models of a dialect; others are refused"),
        "route": described(rows(_route(dialects)), "routes of your own"),
        "stub": described(rows(reference("Stub")), "prepared answers"),
    }
    return _document("mockserver: a config file", closed({**_NAMES_A_SCHEMA, **settings, **tables}), dialects)


def stubs_schema(dialects: Mapping[str, Dialect]) -> dict[str, Any]:
    """The schema of a stub file: `[[stub]]` in TOML; in JSON the same, a list, or a single stub."""
    stub = NOTATIONS["Stub"]
    several = rows(reference("Stub"))
    # One object with every key, since editors complete that best; `anyOf` has the valid combinations.
    keys = {
        **_NAMES_A_SCHEMA,
        "$comment": described(either(TEXT, rows(TEXT)), "for people; the server ignores it"),
        "stub": described(several, "the stubs"),
        "stubs": described(several, "the same, in JSON"),
    }
    alone = {"propertyNames": {"enum": [*NOTES, *stub["properties"]]}}
    together = [{"propertyNames": {"enum": [*NOTES, key]}} for key in ("stub", "stubs")]
    table = {**closed({**keys, **stub["properties"]}), "anyOf": [*together, alone]}
    return _document("mockserver: a stub file", {**table, **several, "type": ["object", "array"]}, dialects)


FILES: Mapping[str, Callable[[Mapping[str, Dialect]], dict[str, Any]]] = {
    "config": config_schema,
    "stubs": stubs_schema,
}


def _document(title: str, schema: Schema, dialects: Mapping[str, Dialect]) -> dict[str, Any]:
    known = {name: _known(name, each, dialects) for name, each in NOTATIONS.items()}
    written = {"definitions": {name: _joined(each, known) for name, each in known.items()}, **_joined(schema, known)}
    return {"$schema": _DRAFT, "title": title, **_in_draft_7(written)}


def _known(name: str, schema: Schema, dialects: Mapping[str, Dialect]) -> Schema:
    """A schema of a notation, with the installed names."""
    if name not in ("Match", "RuleMatch"):
        return schema
    operations = dict.fromkeys(operation.name for dialect in dialects.values() for operation in dialect.operations)
    names = {"dialect": list(dialects), "operation": list(operations)}
    fields = {
        key: described(either(one_of(words), reference("TextMatcher")), schema["properties"][key]["description"])
        for key, words in names.items()
    }
    return {**schema, "properties": {**schema["properties"], **fields}}


def _joined(schema: Any, known: Mapping[str, Schema]) -> Any:
    """The same schema, with alternatives of different types merged into one schema with several types.

    Errors then name the wrong key, instead of stating that no alternative fits.
    """
    if isinstance(schema, list):
        return [_joined(each, known) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "anyOf" in schema:
        members = [
            _joined(known[each["$ref"].rpartition("/")[2]] if "$ref" in each else each, known)
            for each in schema["anyOf"]
        ]
        types = [word for each in members for word in _types(each)]
        if len(types) == len(set(types)) and all(_types(each) and not _CLOSING & each.keys() for each in members):
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            merged = {key: value for each in members for key, value in each.items()}
            return {**merged, "type": types, **rest}
    return {key: _joined(value, known) for key, value in schema.items()}


def _types(schema: Schema) -> list[str]:
    stated = schema.get("type", [])
    return [stated] if isinstance(stated, str) else list(stated)


def _in_draft_7(schema: Any) -> Any:
    """The same schema as in draft 7: definitions have another place, and a reference must be alone."""
    if isinstance(schema, list):
        return [_in_draft_7(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if isinstance(schema.get("$ref"), str):
        pointer = {"$ref": _REFERENCE.sub("#/definitions/", schema["$ref"])}
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return {**rest, "allOf": [pointer]} if rest else pointer
    return {key: _in_draft_7(value) for key, value in schema.items()}


def _route(dialects: Mapping[str, Dialect]) -> Schema:
    operations = {operation.name for dialect in dialects.values() for operation in dialect.operations}
    keys = {
        "path": {"type": "string", "pattern": "^/", "description": "the path at which it is served"},
        "dialect": one_of(dialects),
        "operation": described(one_of(sorted(operations)), "the operation's name, as in `mockserver routes`"),
        "edition": one_of(EDITIONS),
        "latency": reference("Latency"),
        "output_tokens": reference("OutputTokens"),
        "seed": _SEED,
        "faults": reference("RouteFaults"),
    }
    return {**closed(keys), "required": ["path", "dialect", "operation"]}


def _value_of(option: Option, dialects: Mapping[str, Dialect]) -> Schema:
    if option.choices:
        return one_of(option.choices)
    values: Mapping[str, Schema] = {
        "port": {**COUNT, "maximum": 65_535},
        **dict.fromkeys(("dialect", "bare"), one_of(dialects)),
        "seed": _SEED,
        "latency": reference("Latency"),
        "output_tokens": reference("OutputTokens"),
        "speed": NUMBER,
        "fault": reference("Faults"),
        "quota": either(reference("Quota"), rows(reference("Quota"))),
        **{key: either(TEXT, rows(TEXT)) for key in ("cors", "allow_host")},
        "auth": either(one_of(("any", "off")), TEXT, rows(TEXT)),
        "strict": FLAG,
        "created": {**NUMBER, "minimum": 0},
        **{key: {"type": "integer", "minimum": 1} for key in ("max_body", "workers")},
        "journal": COUNT,
    }
    return values.get(option.name, TEXT)


def print_schema(options: argparse.Namespace) -> int:
    """Print the schema of a kind of file, or write it to a file."""
    if options.file not in FILES:
        raise ConfigError(f"schema: {unknown_name('kind of file', options.file, FILES)}")
    text = json.dumps(FILES[options.file](load_dialects()), indent=1, ensure_ascii=False)
    if options.out is None:
        print(text)
        return 0
    out: Path = options.out
    write_files({out.name: f"{text}\n"}, out.parent)
    print(f"Written: {out}. Refer to it in files beside it:")
    print(f"in TOML by the first line #:schema ./{out.name}")
    print(f'in JSON by the key "$schema": "./{out.name}"')
    return 0


COMMAND = Command(
    print_schema,
    (
        argument("file", metavar="config|stubs", help="the kind of file: config or stubs"),
        argument("--out", type=Path, metavar="FILE", help="the file to write (default: standard output)"),
    ),
    words=("config", "stubs"),
    about="Save the schema beside the file and refer to it there: in TOML with the first line "
    "#:schema ./mock.schema.json, in JSON with the key $schema. The schema contains the installed dialects. It "
    "cannot tell which keys go together; mockserver check can.",
)
