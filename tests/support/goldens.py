"""The golden transcripts under `fixtures/`, as recordings."""

import json
from pathlib import Path

from mockserver.recordings import Recorded, by_lower_name

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"


def golden(case: str) -> Recorded:
    """A case by its folder, such as `cerebras/stream`."""
    folder = FIXTURES / case
    request = json.loads((folder / "request.json").read_text())
    status, *headers = (folder / "response.head").read_text().splitlines()
    dialect, path = case.partition("/")[0], request["path"].partition("?")
    return Recorded(
        place=case,
        method=request["method"],
        host="",
        path=f"/{dialect}{path[0]}",
        query=path[2],
        # One without a value stands for one that is not sent.
        headers=by_lower_name(each for each in (request.get("headers") or {}).items() if each[1]),
        body=request["raw"].encode() if "raw" in request else _written(request.get("body")),
        status=int(status),
        answered=by_lower_name((name, value) for name, _, value in (line.partition(": ") for line in headers)),
        answer=next(folder.glob("response.[js]s*")).read_bytes(),
        dialect=dialect,
    )


def _written(body: object) -> bytes:
    return b"" if body is None else json.dumps(body).encode()
