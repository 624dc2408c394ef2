"""Reading what a process prints, with a deadline."""

import subprocess
from threading import Timer

_SECONDS = 60.0


def printed_until(process: "subprocess.Popen[str]", beginning: str | tuple[str, ...]) -> list[str]:
    """The lines that a process prints, up to the first with this beginning; AssertionError if it never prints one."""
    assert process.stdout is not None
    lines: list[str] = []
    deadline = Timer(_SECONDS, process.kill)
    deadline.start()
    try:
        while not lines or not lines[-1].startswith(beginning):
            lines.append(process.stdout.readline())
            assert lines[-1], f"no line begins with {beginning!r} in {lines}"
    finally:
        deadline.cancel()
    return lines
