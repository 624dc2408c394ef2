"""Requests that every vendor refuses, each with the exact answer: `refused/<dialect>.json` holds the table."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.asking import ask

TABLE = [
    pytest.param(path.stem, case, id=f"{path.stem}-{case['why']}")
    for path in sorted((Path(__file__).parent / "refused").glob("*.json"))
    for case in json.loads(path.read_text())
]


@pytest.mark.parametrize("dialect, case", TABLE)
def test_an_invalid_request_gets_the_vendors_own_refusal(dialect: str, case: dict[str, Any]) -> None:
    answer = ask(
        dialect,
        case["raw"].encode() if "raw" in case else case.get("request"),
        path=case.get("path"),
        method=case.get("method"),
        headers=case.get("headers"),
        edition=case.get("edition", "documented"),
    )
    body = answer.body.decode()
    assert (answer.status, json.loads(body) if case["body"] != "" else body) == (case["status"], case["body"])
