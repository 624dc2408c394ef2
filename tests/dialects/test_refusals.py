"""Requests that every vendor refuses, each with the exact answer: `refused/<dialect>.json` holds the table."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver.dialects.contracts import Contract
from tests.support.asking import ask
from tests.support.shapes import SHAPES, Shape

TABLES = sorted((Path(__file__).parent / "refused").glob("*.json"))


def answer_to(dialect: str, case: Mapping[str, Any]) -> tuple[int, Any]:
    """The status and the body that a case gets."""
    answer = ask(
        dialect,
        case["raw"].encode() if "raw" in case else case.get("request"),
        path=case.get("path"),
        method=case.get("method"),
        headers=case.get("headers"),
        edition=case.get("edition", "documented"),
    )
    return answer.status, answer.body.decode() if case["body"] == "" else json.loads(answer.body)


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_an_invalid_request_gets_the_vendors_own_refusal(table: Path) -> None:
    cases = json.loads(table.read_text())
    answers = ((case, answer_to(table.stem, case)) for case in cases)
    wrong = [(case["why"], *got) for case, got in answers if got != (case["status"], case["body"])]
    assert (len(cases) > 50, wrong) == (True, [])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_a_body_is_refused_though_nothing_explains_why(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two validators read a contract, and that which explains may accept what the other refuses.
    monkeypatch.setattr(Contract, "violations", lambda contract, value: ())
    asked = {**shape.body("Tides?"), "stream": "x"}
    answer = ask(shape.dialect, asked, path=shape.path, method="POST", edition=shape.edition)
    assert 400 <= answer.status < 500
