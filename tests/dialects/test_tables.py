"""What holds for every dialect, whatever its vendor: its tables are complete, and its parts fit together."""

import json
from pathlib import Path

import pytest

from mockserver.core.dialects import EDITIONS, Dialect, Edition
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.installed import load_dialects
from mockserver.dialects.openapi import openapi_document
from mockserver.latency.presets import presets
from tests.support.conformity import contract

DIALECTS = load_dialects()
FOLDER = Path(__file__).parents[2] / "mockserver" / "dialects"

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
every_edition = pytest.mark.parametrize("edition", EDITIONS)


@every_dialect
@every_edition
@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_has_an_answer_in_the_vendors_shape(
    dialect: Dialect, edition: Edition, kind: FailureKind
) -> None:
    row = dialect.errors[edition][kind]
    for each in filter(None, (row, row.streamed)):
        body = each.body(Rejection(kind), each.message)
        if not isinstance(body, bytes):
            assert contract(dialect.name, edition, dialect.error_schema).violations(json.loads(json.dumps(body))) == ()
    assert 400 <= row.status < 600


@every_dialect
@every_edition
def test_every_operation_names_schemas_that_the_contract_has(dialect: Dialect, edition: Edition) -> None:
    known = dialect.contract[edition]()["schemas"]
    for operation in (each for each in dialect.operations if each.edition in (None, edition)):
        named = {operation.schemas.request, operation.schemas.response, operation.schemas.chunk} - {None}
        assert named <= set(known)
    assert dialect.error_schema in known


@every_dialect
@every_edition
def test_every_schema_of_the_openapi_document_leads_somewhere(dialect: Dialect, edition: Edition) -> None:
    document = openapi_document(dialect, edition)
    text = json.dumps(document)
    references = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert references == set(document["components"]["schemas"])


def test_every_path_that_dialects_share_is_claimed_by_one_that_has_it() -> None:
    having: dict[str, list[str]] = {}
    for dialect in DIALECTS.values():
        for path in {path for operation in dialect.operations for path in operation.paths}:
            having.setdefault(path, []).append(dialect.name)
    claimed = [(path, dialect.name) for dialect in DIALECTS.values() for path in dialect.bare]
    assert len(claimed) == len(dict(claimed))
    assert all(name in having.get(path, ()) for path, name in claimed)
    assert {path for path, names in having.items() if len(names) > 1} <= dict(claimed).keys()


@every_dialect
def test_every_dialect_has_its_page_its_preset_and_names_of_its_own(dialect: Dialect) -> None:
    assert len((FOLDER / dialect.name / "about.md").read_text()) > 1000
    assert dialect.realistic in dialect.presets
    # Nobody else has a preset of that name.
    assert all(presets()[name] is preset for name, preset in dialect.presets.items())
    names = [operation.name for operation in dialect.operations]
    assert len(names) == len(set(names))
