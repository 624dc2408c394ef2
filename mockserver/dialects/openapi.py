"""A dialect as an OpenAPI 3.1 document, put together from its operations, its contract and its error table."""

import re
from typing import Any

from mockserver.core import __version__
from mockserver.core.dialects import EDITIONS, Dialect, Edition, Operation
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
