"""Requests that are nearly right: every golden request, each of its values replaced, removed or doubled in turn.

What random bodies rarely reach is what follows a valid beginning: parts of parts, items of lists, members of schemas.
A crash shows as an exception here, since nothing stands between the stations and the test; that every answer conforms
to its contract is checked with each.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.core.dialects import Edition
from tests.support.asking import ask
from tests.support.goldens import FIXTURES

ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"type": None}, [{}], [["x"]])
# Members of one kind of object, which may stand in an object of any other kind.
LOOKED_FOR = ("type", "format", "parameters", "content", "json_schema", "schema")
ADDED: tuple[Any, ...] = (None, "x", {}, [None])
REQUESTS = {f"{path.parent.parent.name}-{path.parent.name}": path for path in sorted(FIXTURES.glob("*/*/request.json"))}
TAKEN = [case for case, path in REQUESTS.items() if json.loads(path.read_text()).get("body")]


def mutations(value: Any) -> Iterator[Any]:
    """Copies of a JSON value, each with one change somewhere."""
    yield from ODD
    if isinstance(value, dict):
        yield from ({**value, name: changed} for name in LOOKED_FOR for changed in ADDED)
        for key, inner in value.items():
            others = {name: kept for name, kept in value.items() if name != key}
            yield others
            yield from ({**others, key: changed} for changed in mutations(inner))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            before, after = value[:place], value[place + 1 :]
            yield before + after
            yield [*before, inner, inner, *after]
            yield from ([*before, changed, *after] for changed in mutations(inner))


@pytest.mark.parametrize("case", TAKEN)
def test_no_change_of_a_request_breaks_a_dialect(case: str) -> None:
    request = json.loads(REQUESTS[case].read_text())
    headers = dict(request.get("headers") or {})
    edition: Edition = headers.pop("x-mockserver-edition", "documented")
    for body in mutations(request["body"]):
        try:
            ask(
                case.partition("-")[0],
                body=json.dumps(body).encode(),
                path=request["path"],
                method=request["method"],
                headers=headers,
                edition=edition,
            )
        except Exception as error:
            error.add_note(f"the body was {json.dumps(body)}")
            raise
