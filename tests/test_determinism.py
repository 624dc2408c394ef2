"""The same request gives the same bytes: in any process, whatever its hash seed, alone and in a crowd."""

import hashlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mockserver import MockServer
from tests.support.http import exchange
from tests.support.shapes import SHAPES, Shape

ROOT = Path(__file__).parent.parent
PROMPTS = ("What is the capital of Turkey?", "Напиши список идей для отпуска", "Write SQL code for a report", "…")


def digests() -> dict[str, str]:
    """A digest of every shape's plain and streamed answers to every prompt."""
    return {
        f"{shape.id} {prompt}": hashlib.sha256(
            shape.plain(prompt).body + shape.stream(prompt).body + shape.plain(prompt, seed=-7, max_tokens=16).body
        ).hexdigest()
        for shape in SHAPES
        for prompt in PROMPTS
    }


def test_processes_with_other_hash_seeds_say_the_same_bytes() -> None:
    code = "import json; from tests.test_determinism import digests; print(json.dumps(digests()))"
    answers = []
    for seed in ("0", "4294967295"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment,
            timeout=120,
            check=True,
        )
        answers.append(json.loads(run.stdout))
    assert answers == [digests()] * 2


def test_two_hundred_requests_at_once_get_what_each_gets_alone(frozen_server: MockServer) -> None:
    def ask(job: tuple[Shape, str, bool]) -> bytes:
        shape, prompt, streamed = job
        path = f"/{shape.dialect}{shape.path or default_path(shape)}"
        body = shape.body(prompt) | ({"stream": True} if streamed else {})
        return exchange(frozen_server.url, "POST", path, body, {"x-mockserver-edition": shape.edition}).body

    jobs = [(shape, f"{prompt} {n}", n % 2 == 0) for shape in SHAPES for prompt in PROMPTS for n in range(5)][:200]
    alone = [ask(job) for job in jobs]
    with ThreadPoolExecutor(50) as pool:
        assert list(pool.map(ask, jobs)) == alone


def default_path(shape: Shape) -> str:
    """The path of the dialect's first operation."""
    from mockserver.core.installed import load_dialect

    return load_dialect(shape.dialect).operations[0].paths[0]
