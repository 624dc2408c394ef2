"""Test suites of users, each run in a pytest of its own."""

from pathlib import Path

import pytest

from mockserver import MockServer
from tests.support.http import exchange

APPLICATION = (Path(__file__).parents[1] / "plugin" / "application.py").read_text(encoding="utf-8")
# Plugins that take a second to start, and have no part in this.
LEAN = ("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:hypothesispytest")

BODY = {"model": "llama3.1-8b", "max_tokens": 12}
# What the examples of the documentation have recorded.
DOCUMENTED = ("cassettes/weather.jsonl", ("How is the weather in Oslo?", "It will rain in Oslo."))


def write_cassette(path: Path, *exchanges: tuple[str, str]) -> None:
    """Write a cassette in which Cerebras completes prompts with these texts."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with MockServer() as vendor:
        for prompt, text in exchanges:
            vendor.next().reply(text)
            exchange(vendor.url, "POST", "/cerebras/v1/completions", {**BODY, "prompt": prompt})
        path.write_bytes(exchange(vendor.url, "GET", "/_mockserver/journal.jsonl").body)


def write_documented_cassette(folder: Path) -> None:
    """Write the cassette that the examples of the documentation name, beside them."""
    name, recorded = DOCUMENTED
    write_cassette(folder / name, recorded)


def run(pytester: pytest.Pytester, *arguments: str, **files: str) -> pytest.RunResult:
    """Run the given modules in a pytest of their own."""
    pytester.makepyfile(**{"my_app": APPLICATION, **files})
    return pytester.runpytest_subprocess(*LEAN, *arguments)
