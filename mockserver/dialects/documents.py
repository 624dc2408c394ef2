"""The documents of a dialect: its OpenAPI 3.1 document, put together from its operations, its contract and its error
table; and what it claims of its vendor's wire, each claim with its source, how well it is known, and the test for it.

The claims are the fields of the contract, the rows of the error table and the streams of the operations. Where each
comes from is in `contract/sources.toml`, beside the contract; what deviates from the vendor, and what is guessed, in
`about.md`. A test fails if a claim has no source or names a test that does not exist.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Literal

from mockserver.core import __version__
from mockserver.core.dialects import EDITIONS, Dialect, Edition, Operation
from mockserver.core.installed import entries
from mockserver.dialects.contracts import reachable


def openapi_document(dialect: Dialect, edition: Edition = "documented") -> dict[str, Any]:
    """The complete document of one edition.

    An operation whose path fixes the other edition brings that edition's schemas, under names that say so.
    """
    schemas: dict[str, Any] = {}
    for each in EDITIONS:
        suffix = _suffix(each, edition)
        found = dialect.contract[each]()["schemas"]
        schemas |= {name + suffix: _renamed(schema, suffix) for name, schema in found.items()}
    paths: dict[str, Any] = {}
    for operation in dialect.operations:
        for number, path in enumerate(operation.paths):
            paths.setdefault(path, {})[operation.method.lower()] = _operation(dialect, operation, path, number, edition)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": f"{dialect.title}, simulated ({edition} edition)", "version": __version__},
        "servers": [{"url": f"/{dialect.name}"}],
        "paths": paths,
        "components": {"schemas": reachable(schemas, paths)},
    }
    if dialect.credentials is not None:
        document["components"]["securitySchemes"] = {name: {**scheme} for name, scheme in dialect.security.items()}
    return document


def _suffix(edition: Edition, main: Edition) -> str:
    return "" if edition == main else edition.capitalize()


def _renamed(schema: Any, suffix: str) -> Any:
    """The schema, with its references pointing to the names with the suffix."""
    if isinstance(schema, dict):
        return {
            key: value + suffix if key == "$ref" and isinstance(value, str) else _renamed(value, suffix)
            for key, value in schema.items()
        }
    return [_renamed(item, suffix) for item in schema] if isinstance(schema, list) else schema


def _operation(dialect: Dialect, operation: Operation, path: str, number: int, main: Edition) -> dict[str, Any]:
    edition = operation.edition or main
    suffix = _suffix(edition, main)
    name = operation.name if number == 0 else f"{operation.name}_{number + 1}"
    written: dict[str, Any] = {"operationId": name, "summary": operation.summary or operation.name}
    variables = re.findall(r"{(\w+)}", path)
    parameters = [_parameter(variable, "path") for variable in variables]
    parameters += [_parameter(header, "header", example=value) for header, value in dialect.needs.items()]
    if parameters:
        written["parameters"] = parameters
    if operation.schemas.request:
        content = {"application/json": {"schema": _reference(operation.schemas.request + suffix)}}
        written["requestBody"] = {"required": True, "content": content}
    successes = {str(status): _success(operation, suffix) for status in operation.statuses}
    written["responses"] = {**successes, **_refusals(dialect, edition, suffix)}
    if dialect.credentials is not None and operation.secured:
        written["security"] = [{name: []} for name in dialect.security]
    return written


def _parameter(name: str, place: str, **more: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": True, "schema": {"type": "string"}, **more}


def _success(operation: Operation, suffix: str) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if operation.schemas.response:
        content["application/json"] = {"schema": _reference(operation.schemas.response + suffix)}
    if operation.schemas.chunk:
        content["text/event-stream"] = {"schema": _event(operation.schemas.chunk + suffix)}
    answer: dict[str, Any] = {"description": "The answer."}
    return answer | ({"content": content} if content else {})


def _event(chunk: str) -> dict[str, Any]:
    """The schema of one event of a stream, whose data is JSON, but for a closing `[DONE]`."""
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": _reference(chunk)}
    closing = {"type": "string", "const": "[DONE]"}
    return {"type": "object", "required": ["data"], "properties": {"data": {"anyOf": [closing, data]}}}


def _refusals(dialect: Dialect, edition: Edition, suffix: str) -> dict[str, Any]:
    """The statuses of the edition's error table, with the content types that its rows have."""
    schema = _reference(dialect.error_schema + suffix)
    refusals: dict[str, Any] = {}
    table = dialect.errors[edition].values()
    for row in sorted((*table, *(row.streamed for row in table if row.streamed)), key=lambda row: row.status):
        kind = row.content_type.partition(b";")[0].decode()
        refusal = refusals.setdefault(str(row.status), {"description": "A refusal.", "content": {}})
        refusal["content"][kind] = {"schema": schema} if kind == "application/json" else {}
    refusals.pop("200", None)
    return refusals


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


# --- claims ----------------------------------------------------------------------------------------------------------

# How well a claim is known, the best first.
DEGREES = ("recorded", "source", "sdk", "page", "guess")

Subject = Literal["field", "error", "stream", "other"]

# The sections of a dialect's page that tell where it deviates.
_DEVIATIONS = ("Approximated", "Absent", "Guesses")
_SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
# An item of a list, a row of a table below its heads, or a paragraph.
_ITEM = re.compile(r"^(?:- |\| (?!.*\n\| ---|---)|(?=\w))(.+?)(?= \|$|\n- |\n\n|\n\Z)", re.MULTILINE | re.DOTALL)


def conformance_document(dialect: Dialect) -> dict[str, Any] | None:
    """All that a dialect claims, and how it deviates by kind; None if it has no `sources.toml`.

    The name of a claim is a field with its schema (`Usage.total_tokens`), a kind of failure, an operation, or a
    sentence; its date is the month of its source (2026-08), which a guess has not. `known` counts the claims of each
    degree, with the guesses of the page. ValueError names the claims that have no source, and the rows that are about
    nothing.
    """
    package = entries().get(dialect.name, "").partition(":")[0].rpartition(".")[0]
    if not package or not (rows := files(package) / "contract" / "sources.toml").is_file():
        return None
    told = tomllib.loads(rows.read_text("utf-8"))
    sources = {
        name: {"title": each["title"], "known": each["known"], "date": each.get("date")}
        for name, each in told["sources"].items()
    }
    sources.setdefault("guess", {"title": "nobody outside the vendor knows", "known": "guess", "date": None})
    claims = [
        {**claim, **{key: sources[claim["source"]][key] for key in ("known", "date")}}
        for claim in _claims(dialect, told["claims"])
    ]
    page = dict(_SECTION.findall((files(package) / "about.md").read_text("utf-8")))
    deviations = {
        title.lower(): [" ".join(item.split()) for item in _ITEM.findall(page.get(title, ""))] for title in _DEVIATIONS
    }
    counts = Counter(claim["known"] for claim in claims)
    counts["guess"] += len(deviations["guesses"])
    return {
        "dialect": dialect.name,
        "title": dialect.title,
        "known": {degree: counts[degree] for degree in DEGREES},
        "sources": sources,
        "claims": claims,
        "deviations": deviations,
    }


def _claims(dialect: Dialect, rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The claims of the dialect's tables, each with the nearest row of `sources.toml`; then the others."""
    told = {
        (subject, name, edition): row
        for row in rows
        for subject in ("field", "error", "stream")
        for name in row.get(f"{subject}s", ())
        for edition in row.get("editions", EDITIONS)
    }
    missing, used = [], set()
    found: dict[tuple[Subject, str, str, str], list[Edition]] = {}
    for edition in EDITIONS:
        for subject, name in _tables(dialect, edition):
            # A field has a row of its own, or that of its schema.
            nearest = name if (subject, name, edition) in told else name.partition(".")[0]
            if row := told.get((subject, nearest, edition)):
                used.add((subject, nearest))
                found.setdefault((subject, name, row["source"], row["test"]), []).append(edition)
            else:
                missing.append(f"{subject} {name} ({edition})")
    idle = [
        f"{subject} {name}" for subject, name in dict.fromkeys(key[:2] for key in told) if (subject, name) not in used
    ]
    if missing or idle:
        raise ValueError(f"sources.toml of {dialect.name} lacks: {missing}; is about what does not exist: {idle}")
    for row in rows:
        if "says" in row:
            found["other", row["says"], row["source"], row["test"]] = [*row.get("editions", EDITIONS)]
    for (subject, name, source, test), editions in found.items():
        yield {"subject": subject, "name": name, "editions": tuple(editions), "source": source, "test": test}


def _tables(dialect: Dialect, edition: Edition) -> Iterator[tuple[Subject, str]]:
    """What an edition of a dialect claims by its contract, its errors and its operations."""
    for schema, told in dialect.contract[edition]()["schemas"].items():
        for field in _fields(told):
            yield "field", f"{schema}.{field}"
    for kind in dialect.errors[edition]:
        yield "error", kind
    for operation in dialect.operations:
        if operation.schemas.chunk and operation.edition in (None, edition):
            yield "stream", operation.name


def _fields(schema: Mapping[str, Any]) -> dict[str, None]:
    """The names of a schema's own fields, also of its alternatives."""
    found = dict.fromkeys(schema.get("properties", ()))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(keyword, ()):
            found |= _fields(each)
    return found
