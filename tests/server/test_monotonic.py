"""The server's time moves on while a test has frozen the time of its process."""

import json
import subprocess
import sys

import pytest

# As freezegun does it, before anything of the server is imported: every reading is the same date.
FROZEN = """
import time
time.monotonic = time.time = lambda: {instant}

import json, sys, urllib.request
from mockserver import MockServer

body = {{"model": "m", "prompt": "Hello", "max_tokens": 4, "stream": True}}
headers = {{"Authorization": "Bearer k", "Content-Type": "application/json"}}
with MockServer(loop=sys.argv[1], latency="ttft=20ms, rate=100 tok/s") as server:
    request = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        chunks = [json.loads(line[6:]) for line in answer if line.startswith(b"data: {{")]
    print(chunks[-1]["created"], [event["sent"] >= event["due"] for event in server.last.events])
"""


@pytest.mark.parametrize("loop", ["auto", "asyncio"])
@pytest.mark.parametrize("instant", [0, 1_577_836_800])
def test_answers_with_a_latency_arrive_though_time_is_frozen_and_state_the_frozen_date(loop: str, instant: int) -> None:
    command = [sys.executable, "-c", FROZEN.format(instant=instant), loop]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60)
    created, _, in_time = told.stdout.strip().partition(" ")
    assert (told.stderr, created) == ("", str(instant))
    assert set(json.loads(in_time.lower())) == {True}
