"""`mockserver client`: the handle for tests in JavaScript and TypeScript: a module, and its types, made of the admin
API's schemas."""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mockserver.cli.command import Command, argument, write_files
from mockserver.core import __version__
from mockserver.core.installed import load_dialects
from mockserver.server.admin import SCHEMAS

_SOURCES = Path(__file__).parents[1] / "testing" / "js"
_REFERENCE = re.compile(r"#/components/schemas/(\w+)")
_PRIMITIVES = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
# The types that the handle names: for preparing answers, and for checking what clients have done.
_FOR_ANSWERS = ("Match", "Reply", "ReplyFault", "ReplyError", "Stub", "Latency", "OwnSettings")
_FOR_CHECKS = ("Exchange", "WholeExchange", "Check", "Declared", "Verdict", "Delivery")


def write_client(options: argparse.Namespace) -> int:
    """Write the module and its types, and say how to use them."""
    write_files(client_files(), options.out)
    print(f"Written: {options.out / 'mockserver.mjs'}, and its types in mockserver.d.mts beside it")
    print("In a test: const mock = (await MockServer.connect()).namespace()")
    print("Run the tests: mockserver run -- npm test")
    return 0


def client_files() -> dict[str, str]:
    """The files of the handle, by name."""
    module, types = ((_SOURCES / name).read_text(encoding="utf-8") for name in ("mockserver.mjs", "handle.d.mts"))
    first = f"// mockserver {__version__}\n"
    needed = ((name, SCHEMAS[name]) for name in _needed())
    declarations = [
        f"export type Dialect = {_words(load_dialects())};",
        *(f"{_comment(schema)}export type {name} = {_type(schema)};\n" for name, schema in needed),
    ]
    return {"mockserver.mjs": first + module, "mockserver.d.mts": "\n".join([first + types, *declarations])}


def _needed() -> Iterator[str]:
    """The names of the schemas that the types need, each after the first that refers to it."""
    wanted, seen = [*_FOR_ANSWERS, *_FOR_CHECKS], set[str]()
    while wanted:
        name = wanted.pop(0)
        if name not in seen:
            seen.add(name)
            yield name
            wanted += _REFERENCE.findall(json.dumps(SCHEMAS[name]))


def _type(schema: Mapping[str, Any], indent: str = "") -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "then" in schema:
        schema = {"anyOf": [schema["then"], schema["else"]]}
    if "const" in schema:
        return json.dumps(schema["const"])
    if "anyOf" in schema and "properties" not in schema:
        return " | ".join(dict.fromkeys(_type(each, indent) for each in schema["anyOf"]))
    if "enum" in schema:
        return _words(schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"({_type(schema['items'], indent)})[]"
    if "properties" in schema:
        return _table(schema, indent)
    if kind == "object":
        more = schema.get("additionalProperties", {})
        return f"Record<string, {_type(more, indent) if isinstance(more, Mapping) else 'unknown'}>"
    kinds = kind if isinstance(kind, list) else [str(kind)]
    return " | ".join(dict.fromkeys(_PRIMITIVES.get(each, "unknown") for each in kinds))


def _table(schema: Mapping[str, Any], indent: str) -> str:
    inner, required = f"{indent}  ", schema.get("required", ())
    keys = (
        f"{_comment(value, inner)}{inner}{key}{'' if key in required else '?'}: {_type(value, inner)};\n"
        for key, value in schema["properties"].items()
    )
    return f"{{\n{''.join(keys)}{indent}}}"


def _comment(schema: Mapping[str, Any], indent: str = "") -> str:
    return f"{indent}/** {schema['description']} */\n" if schema.get("description") else ""


def _words(words: Iterable[object]) -> str:
    return " | ".join(json.dumps(word) for word in words)


COMMAND = Command(
    write_client,
    (argument("--out", type=Path, default=Path("test"), metavar="DIR", help="the folder to write to (default: test)"),),
    about="One module for Node.js 18 or newer, without dependencies, to keep under version control beside the "
    "tests. Its types contain the dialects, faults and checks of this version, so run the command again after an "
    "update.",
)
