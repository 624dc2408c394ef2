"""What `mockserver dev` shows beside a frontend."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.cli.dev import EXAMPLES, examples_for
from tests.support.printing import printed_until

URL = "http://127.0.0.1:8000"


@pytest.mark.parametrize("package, name", [
    ("openai", "openai"), ("ai", "AI SDK"), ("@ai-sdk/openai-compatible", "AI SDK"), ("@langchain/core", "LangChain"),
    ("next", "Next.js, in .env.local"), ("vite", "Vite, in .env.local"),
])  # fmt: skip
@pytest.mark.parametrize("key", ["dependencies", "devDependencies"])
def test_each_framework_gets_its_own_example(tmp_path: Path, package: str, name: str, key: str) -> None:
    (tmp_path / "package.json").write_text(json.dumps({key: {package: "*", "left-pad": "*"}}))
    shown = examples_for(tmp_path, URL)
    assert [example for example in EXAMPLES if f"{example}:\n" in shown] == [name]
    assert f"{URL}/" in shown
    assert "<url>" not in shown


@pytest.mark.parametrize("text", [None, "{", "[]", '{"dependencies": 3}', '{"dependencies": {"left-pad": "1"}}'])
def test_where_nothing_is_known_plain_fetch_is_shown(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "package.json").write_text(text)
    assert examples_for(tmp_path, URL).startswith("fetch:\n\n    const answer = await fetch(")


def test_dev_serves_and_says_where_the_page_is(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"openai": "*"}}')
    command = [sys.executable, "-m", "mockserver", "dev", "--port", "0", "--no-open"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MOCKSERVER_")}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    with process:
        lines = printed_until(process, "openai:")
        process.terminate()
    assert "latency realistic" in lines[0]
    assert [line.partition("/_")[2].strip() for line in lines if line.startswith("Live page: ")] == ["mockserver/ui/"]
