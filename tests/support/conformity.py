"""Whether an answer conforms to its dialect's contract; every answer that a test asks for is checked."""

import json
import re
from functools import cache
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.installed import load_dialect
from mockserver.dialects.contracts import Contract
from mockserver.state.plan import Plan


@cache
def contract(dialect: str, edition: Edition, name: str) -> Contract:
    """A named schema of a dialect's contract."""
    return Contract(load_dialect(dialect).contract[edition], name)


def faults(plan: Plan, body: bytes) -> list[str]:
    """How the answer of a plan violates its dialect's contract, a line for each violation; none if it conforms.

    Refusals in plain text are not checked, since contracts do not describe them.
    """
    route, edition = plan.context.route, plan.context.scope.edition
    dialect, operation = route.dialect, route.operation
    if plan.refusal is not None:
        if dict(plan.timeline.headers)[b"content-type"].startswith(b"text/plain"):
            return []
        return _faults(dialect.name, edition, dialect.error_schema, json.loads(body))
    if operation is None or (plan.request is not None and plan.generation is None):
        return []
    schemas = operation.schemas
    if plan.timeline.streamed:
        events = [event for event in stream_data(body) if event != "[DONE]"]
        return [fault for event in events for fault in _faults(dialect.name, edition, schemas.chunk, event)]
    return _faults(dialect.name, edition, schemas.response, json.loads(body)) if schemas.response else []


def stream_data(body: bytes) -> list[Any]:
    """The data of each event of a stream, before or after which a line may name its type; `[DONE]` stays a text."""
    blocks = body.decode().removesuffix("\n\n").split("\n\n")
    data = [re.sub(r"^(?:event: .*\n)?(?:data: ?)?|\nevent:[^\n]*$", "", block) for block in blocks]
    return [text if text == "[DONE]" else json.loads(text) for text in data]


def _faults(dialect: str, edition: Edition, name: str | None, value: Any) -> list[str]:
    assert name is not None, "the operation names no schema for this kind of answer"
    broken = contract(dialect, edition, name).violations(value)
    return [f"{name}: {violation.field}: {violation.message}" for violation in broken]
