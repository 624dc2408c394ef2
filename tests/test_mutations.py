"""Requests that are nearly right: every golden request, each of its values replaced, removed or doubled in turn.

What random bodies rarely reach is what follows a valid beginning: parts of parts, items of lists, members of schemas.
A crash shows as an exception here, since nothing stands between the stages and the test; that every answer conforms
to its contract is checked with each.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from mockserver.core.dialects import Edition
from tests.support.asking import ask
from tests.support.goldens import FIXTURES

ODD: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"type": None}, [{}], [["x"]], "[" * 2000)
# Members of one kind of object, which may stand in an object of any other kind.
LOOKED_FOR = ("type", "format", "parameters", "content", "json_schema", "schema")
ADDED: tuple[Any, ...] = (None, "x", {}, [None])
# Where a change is, and the value that has it. Items of a list are all at one place.
Change = tuple[str, Any]


def mutations(value: Any, at: str = "") -> Iterator[Change]:
    """Copies of a JSON value, each with one change somewhere."""
    kind = type(value).__name__
    yield from ((f"{at} {kind} is {str(odd)[:20]}", odd) for odd in ODD)
    if isinstance(value, dict):
        yield from ((f"{at} has {name} {new}", {**value, name: new}) for name in LOOKED_FOR for new in ADDED)
        for key, inner in value.items():
            others = {name: kept for name, kept in value.items() if name != key}
            yield f"{at} without {key}", others
            yield from ((where, {**others, key: changed}) for where, changed in mutations(inner, f"{at}.{key}"))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            before, after = value[:place], value[place + 1 :]
            yield f"{at} without an item", before + after
            yield f"{at} with an item twice", [*before, inner, inner, *after]
            yield from ((where, [*before, changed, *after]) for where, changed in mutations(inner, f"{at}[]"))


def operations() -> dict[tuple[str, str, str, Edition], list[dict[str, Any]]]:
    """The golden requests that have a body, by dialect, method, path and edition."""
    found: dict[tuple[str, str, str, Edition], list[dict[str, Any]]] = {}
    for path in sorted(FIXTURES.glob("*/*/request.json")):
        request = json.loads(path.read_text())
        if request.get("body"):
            headers = request.get("headers") or {}
            edition = headers.pop("x-mockserver-edition", "documented")
            # What changes an answer is refused beside a body that has none.
            headers.pop("x-mockserver-fault", None)
            found.setdefault((path.parent.parent.name, request["method"], request["path"], edition), []).append(request)
    return found


OPERATIONS = operations()


@pytest.mark.parametrize("dialect, method, path, edition", OPERATIONS)
def test_no_change_of_a_request_breaks_a_dialect(dialect: str, method: str, path: str, edition: Edition) -> None:
    """The same change at the same place is tried in one of an operation's requests, streamed and plain."""
    tried = set()
    for request in OPERATIONS[dialect, method, path, edition]:
        headers, stream = request.get("headers"), bool(request["body"].get("stream"))
        for where, body in mutations(request["body"]):
            if (where, stream) in tried:
                continue
            tried.add((where, stream))
            payload = json.dumps(body).encode()
            try:
                ask(dialect, payload, path=path, method=method, headers=headers, edition=edition)
            except Exception as error:
                error.add_note(f"the body was {payload!r}")
                raise
