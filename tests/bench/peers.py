"""Other mock servers: how to install each, start it without latency, and request an answer of about 128 tokens.

Each has an environment of its own in `.bench-peers`; those that are not installed are left out.
`python -m tests.bench.peers` installs those that are named, `all`, or all but the large ones.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.bench.machine import unpin
from tests.bench.servers import ROOT
from tests.bench.wire import request

HOME = ROOT / ".bench-peers"
WORDS = " ".join(f"word{n % 29}" for n in range(128))


@dataclass(frozen=True, slots=True)
class Peer:
    """Another mock server. `arguments` are those of its `program` for a port; `files` are those that it reads when it
    starts, by name; `large` ones take gigabytes of disk space; `remark` is a caveat about its figures."""

    name: str
    package: str
    language: Literal["python", "node"]
    program: str
    arguments: Callable[[int], tuple[str, ...]]
    files: dict[str, str] = field(default_factory=dict)
    large: bool = False
    remark: str = ""

    @property
    def folder(self) -> Path:
        """The folder in which it is installed."""
        return HOME / self.name

    @property
    def executable(self) -> Path:
        """The program to start."""
        return self.folder / ("bin" if self.language == "python" else "node_modules/.bin") / self.program

    def command(self, port: int) -> tuple[str, ...]:
        """Its command line."""
        return (str(self.executable), *self.arguments(port))

    def prepare(self, folder: Path) -> None:
        """Write the files that it reads when it starts."""
        for name, text in self.files.items():
            Path(folder, name).write_text(text, encoding="utf-8")


def question(**more: Any) -> bytes:
    """A chat request that every peer understands, with a prompt of 128 words."""
    messages = [{"role": "user", "content": WORDS}]
    return request("/v1/chat/completions", {"model": "gpt-4o", "messages": messages, "max_tokens": 128, **more})


PEERS = (
    Peer(
        name="fakellm",
        package="fakellm==0.3.5",
        language="python",
        program="fakellm",
        arguments=lambda port: ("serve", "--port", str(port)),
        files={
            "fakellm.yaml": "version: 1\nrules:\n  - name: all\n    when:\n      messages_contain: word1\n"
            f'    respond:\n      content: "{WORDS}"\n'
        },
        remark="waits 10 ms before every word of a stream, which cannot be switched off",
    ),
    Peer(
        name="llmock",
        package="llmock==0.2.2",
        language="python",
        program="llmock",
        arguments=lambda port: ("serve", "--port", str(port), "--response-style", "echo", "--log-level", "warning"),
    ),
    Peer(
        name="mockllm",
        package="mockllm==0.0.8",
        language="python",
        program="mockllm",
        arguments=lambda port: ("start", "--port", str(port), "--responses", "responses.yml"),
        files={"responses.yml": f'responses:\n  "x": "y"\ndefaults:\n  unknown_response: "{WORDS}"\n'},
        remark="tries to fetch a tokenizer for every plain answer",
    ),
    Peer(
        name="guidellm",
        package="guidellm==0.8.1",
        language="python",
        program="guidellm",
        arguments=lambda port: (
            *("mock-server", "--port", str(port), "--host", "127.0.0.1", "--output-tokens", "128"),
            *("--ttft-ms", "0", "--itl-ms", "0", "--request-latency", "0"),
        ),
        large=True,
    ),
    Peer(
        name="aimock",
        package="@copilotkit/aimock@1.43.0",
        language="node",
        program="llmock",
        arguments=lambda port: (
            *("--port", str(port), "--fixtures", "fixtures.json", "--log-level", "silent"),
            # One event for each word.
            *("--chunk-size", "7"),
        ),
        files={
            "fixtures.json": json.dumps(
                {"fixtures": [{"match": {"userMessage": "word1"}, "response": {"content": WORDS}}]}
            )
        },
        remark="writes a whole stream at once",
    ),
)


def installed() -> list[Peer]:
    """The peers that are installed."""
    return [peer for peer in PEERS if peer.executable.exists()]


def install(peer: Peer) -> bool:
    """Install a peer; False if that fails, with the reason on stdout."""
    peer.folder.mkdir(parents=True, exist_ok=True)
    for command in _installation(peer):
        if shutil.which(command[0]) is None:
            print(f"{peer.name}: left out, since {command[0]} is not installed")
            return False
        done = subprocess.run(command, cwd=peer.folder, preexec_fn=unpin, capture_output=True, text=True)
        if done.returncode:
            print(f"{peer.name}: could not be installed: {done.stderr[-500:]}")
            return False
    return True


def _installation(peer: Peer) -> list[list[str]]:
    if peer.language == "node":
        return [["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", peer.package]]
    pip = [str(peer.folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return [[sys.executable, "-m", "venv", "."], [*pip, peer.package]]


def main() -> None:
    """Install the named peers, or all but the large ones; installed peers stay as they are."""
    wanted = set(sys.argv[1:])
    for peer in PEERS:
        if (peer.name in wanted or "all" in wanted or not (wanted or peer.large)) and peer not in installed():
            print(f"Installing {peer.package}")
            install(peer)


if __name__ == "__main__":
    main()
