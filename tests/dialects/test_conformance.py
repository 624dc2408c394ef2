"""What each dialect claims of its vendor: every claim has a source, a date and a test, and the page says as much."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from mockserver.core.installed import load_dialects
from mockserver.dialects.documents import conformance_document
from tests.tools import conformance as suites

ROOT = Path(__file__).parents[2]
every_dialect = pytest.mark.parametrize("name", load_dialects())


@cache
def functions_of(path: str) -> frozenset[str]:
    nodes = ast.parse((ROOT / path).read_text()).body
    return frozenset(it.name for it in nodes if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef))


@every_dialect
def test_every_claim_has_a_source_and_a_test_that_exists(name: str) -> None:
    # That no field, error or stream lacks a row, and that no row is about nothing, the reader itself checks.
    found = conformance_document(load_dialects()[name])
    assert found is not None
    assert set(found["sources"]) - {claim["source"] for claim in found["claims"]} <= {"guess"}
    assert [it for it in found["sources"].values() if (it["date"] is None) != (it["known"] == "guess")] == []
    for test in {claim["test"] for claim in found["claims"]}:
        path, _, function = test.partition("::")
        assert function in functions_of(path), test


@every_dialect
def test_the_guesses_and_deviations_of_a_page_are_all_found(name: str) -> None:
    page = (ROOT / "mockserver" / "dialects" / name / "about.md").read_text()
    found = conformance_document(load_dialects()[name])
    assert found is not None
    for title, texts in found["deviations"].items():
        section = page.partition(f"\n## {title.capitalize()}\n")[2].partition("\n## ")[0]
        items = re.findall(r"^(?:- |\| (?!---))", section, re.MULTILINE)
        heads = section.count("\n| ---")
        assert len(texts) >= max(bool(section), len(items) - heads), (title, texts)
    assert len(found["deviations"]["guesses"]) > 10


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["--checkout", "openai-sdk"], "'openai-sdk' is not the name of a suite and a folder that exists, NAME=FOLDER"),
        (["--checkout", "openai-sdk=/no/such"], "'openai-sdk=/no/such' is not the name of a suite and a folder"),
        (["nobody"], "unknown suites nobody. Known: cerebras-sdk, "),
    ],
)
def test_a_wrong_argument_for_the_suites_of_others_is_explained(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        suites.main(arguments)
    assert complaint in capsys.readouterr().err


def test_what_a_suite_gave_is_kept_though_the_next_one_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, suite: suites.Suite, checkout: Path | None) -> suites.Result:
        if name == "cerebras-sdk":
            raise suites.SuiteError("it has no tests.")
        return suites.Result(7, 1, (), ())

    monkeypatch.setattr(suites, "RESULTS", tmp_path / "suites.json")
    monkeypatch.setattr(suites, "run", run)
    assert suites.main(["langchain-openai", "cerebras-sdk"]) == 1
    assert [(name, it["passed"]) for name, it in json.loads(suites.RESULTS.read_text()).items()] == [
        ("langchain-openai", 7)
    ]
    assert "cerebras-sdk: did not run: it has no tests." in capsys.readouterr().out


def test_what_came_of_tests_is_read_from_a_report_of_junit(tmp_path: Path) -> None:
    case = '<testcase file="a.ts" classname="x.Chats" name="{}">{}</testcase>'
    told = {"passes": "", "fails": "<failure/>", "breaks": "<error/>", "waits": "<skipped/>"}
    cases = "".join(case.format(name, outcome) for name, outcome in told.items())
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    failed = {"a.ts::Chats::passes": False, "a.ts::Chats::fails": True, "a.ts::Chats::breaks": True}
    assert suites.failures(report) == failed
