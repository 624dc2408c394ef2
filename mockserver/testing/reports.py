"""What a run of pytest says of all its tests when it ends: the verdicts on their clients, and what was recorded.

Both collect what tests' reports carry, in whichever process the tests ran.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from mockserver.core.messages import pluralize


class ReportFile:
    """Collects the verdicts in the tests' reports, and writes them when the session ends."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._tests: list[dict[str, Any]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the verdict in a report, in whichever process the test ran."""
        judged = getattr(report, "mockserver", None)
        if judged is not None:
            self._tests.append(judged)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        tests = sorted(self._tests, key=lambda judged: str(judged["test"]))
        clean = not any(self._findings(judged) for judged in tests)
        with open(self._path, "w", encoding="utf-8") as file:
            json.dump({"clean": clean, "tests": tests}, file, indent=2)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write a line for each client mistake."""
        terminalreporter.section("mockserver report")
        for judged in self._tests:
            for finding in self._findings(judged):
                terminalreporter.line(f"{judged['test']}: {finding['fault']}: {finding['message']}")
        terminalreporter.line(
            f"Written: {self._path}, with the verdict on the clients of {pluralize(len(self._tests), 'test')}"
        )

    @staticmethod
    def _findings(judged: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        findings: list[Mapping[str, Any]] = judged.get("verdict", {}).get("findings", [])
        return findings


class RecordingReport:
    """Counts what is recorded, in whichever process the test runs, and says so when the session ends."""

    def __init__(self) -> None:
        # By the cassette; one that only answers has 0.
        self._exchanges: dict[str, int] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what stays in the cassette of a test, if it has one."""
        cassette = getattr(report, "mockserver_cassette", None)
        if cassette is not None:
            path = cassette["path"]
            self._exchanges[path] = self._exchanges.get(path, 0) + cassette["exchanges"]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write how much was recorded, or why nothing was."""
        numbers = [number for number in self._exchanges.values() if number]
        said = "nothing was recorded"
        if numbers:
            said = f"{pluralize(sum(numbers), 'exchange')} recorded in {pluralize(len(numbers), 'cassette')}"
        elif not self._exchanges:
            said += "; name the cassette of a test in its marker, as in @pytest.mark.mockserver(cassette=True)"
        terminalreporter.line(f"mockserver: {said}")
