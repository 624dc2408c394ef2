"""The admin API as an OpenAPI 3.1 document, made of its endpoints."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.core.installed import load_dialects
from mockserver.core.version import __version__
from mockserver.server.admin.endpoints import Endpoint
from mockserver.server.admin.json_schema import TEXT, WHOLE, Schema, one_of, reference
from mockserver.server.admin.schemas import SCHEMAS

# The schema of such a document itself.
DOCUMENT: Schema = {"type": "object", "required": ["openapi", "info", "paths"]}

_VARIABLE = re.compile(r"{(\w+)(?::\w+)?}")


def admin_document(subjects: Mapping[str, Iterable[Endpoint]]) -> dict[str, Any]:
    """The document for endpoints by subject. HEAD is implied by GET."""
    paths: dict[str, dict[str, Any]] = {}
    for subject, endpoints in subjects.items():
        for endpoint in endpoints:
            for number, path in enumerate(endpoint.paths):
                written = _operation(endpoint, subject, _VARIABLE.findall(path))
                if number:
                    written["operationId"] += "InNamespace"
                paths.setdefault(_VARIABLE.sub(r"{\1}", path), {})[endpoint.method.lower()] = written
    return {
        "openapi": "3.1.0",
        "info": {"title": "mockserver: admin API", "version": __version__},
        "servers": [{"url": "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": SCHEMAS, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(endpoint: Endpoint, subject: str, variables: list[str]) -> dict[str, Any]:
    """An endpoint at a path with these variables."""
    written: dict[str, Any] = {
        "operationId": endpoint.name,
        "tags": [subject],
        "summary": endpoint.summary,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": _variable(name)} for name in variables),
            *(
                {"name": it.name, "in": "query", "schema": it.schema, "description": it.summary}
                for it in endpoint.query
            ),
        ],
        "responses": _responses(endpoint, named="namespace" in variables),
    }
    if endpoint.takes is not None:
        written["requestBody"] = {"required": True, "content": _json(endpoint.takes)}
    return written if endpoint.opens else written | {"security": [{"token": []}, {}]}


def _variable(name: str) -> Schema:
    known: Mapping[str, Schema] = {"number": WHOLE, "dialect": one_of(load_dialects())}
    return known.get(name, TEXT)


def _responses(endpoint: Endpoint, *, named: bool) -> dict[str, Any]:
    found = {str(status): _answer(schema, endpoint.writes) for status, schema in endpoint.gives.items()}
    refusals = set(endpoint.refuses if endpoint.opens else (*endpoint.refuses, 401))
    if named:
        # Not every path segment is a valid namespace name.
        refusals.add(400)
    error = {"description": "What is wrong, and what would have been valid.", "content": _json(reference("Error"))}
    return found | {str(status): error for status in sorted(refusals)}


def _answer(schema: Schema | str, writes: Iterable[str]) -> dict[str, Any]:
    texts = {kind: {"schema": TEXT} for kind in ((schema, *writes) if isinstance(schema, str) else writes) if kind}
    content = texts if isinstance(schema, str) else {**_json(schema), **texts}
    return {"description": "The answer.", **({"content": content} if content else {})}


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
