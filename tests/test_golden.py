"""Golden transcripts: what goes over the wire for the requests under `fixtures/`, byte for byte.

A case is a folder with `request.json` and `about.md`; `response.head` holds status and headers, `response.json` or
`response.sse` the body. `pytest --update-golden` writes the answers anew: read the difference before you commit it.
"""

import json
from pathlib import Path

import pytest

from mockserver import MockServer
from tests.support.goldens import FIXTURES
from tests.support.http import Transcript, exchange

CASES = sorted(path.parent for path in FIXTURES.glob("*/*/request.json"))


def ask(server: MockServer, case: Path) -> Transcript:
    request = json.loads((case / "request.json").read_text())
    body = request["raw"].encode() if "raw" in request else request.get("body")
    path = f"/{case.parent.name}{request['path']}"
    return exchange(server.url, request["method"], path, body, request.get("headers"))


def head(transcript: Transcript) -> str:
    return "".join(f"{line}\n" for line in (transcript.status, *(f"{k}: {v}" for k, v in transcript.headers)))


def body_file(case: Path, transcript: Transcript) -> Path:
    streamed = ("content-type", "text/event-stream") in ((k, v.split(";")[0]) for k, v in transcript.headers)
    return case / ("response.sse" if streamed else "response.json")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_the_wire_is_what_the_transcript_says(
    case: Path, frozen_server: MockServer, pytestconfig: pytest.Config
) -> None:
    transcript = ask(frozen_server, case)
    target = body_file(case, transcript)
    if pytestconfig.getoption("--update-golden"):
        for stale in case.glob("response.*"):
            stale.unlink()
        (case / "response.head").write_text(head(transcript))
        target.write_bytes(transcript.body)
    assert (case / "response.head").read_text() == head(transcript)
    assert target.read_bytes() == transcript.body


def test_every_transcript_says_what_it_shows() -> None:
    assert [case for case in CASES if not (case / "about.md").read_text().strip()] == []
