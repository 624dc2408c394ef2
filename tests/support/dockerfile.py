"""A Dockerfile as values, and the build context: the files that are sent to the engine."""

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """One instruction: its name, its flags (`--from=build`) and the rest of its line."""

    name: str
    flags: dict[str, str]
    value: str


class Stage(NamedTuple):
    """A stage: the image that it begins with, its name, and its steps."""

    base: str
    name: str
    steps: list[Step]

    def one(self, name: str) -> Step:
        """The one step of that name."""
        [step] = [step for step in self.steps if step.name == name]
        return step


def read_stages(text: str) -> list[Stage]:
    """The stages of a Dockerfile; instructions before the first stage are left out."""
    stages: list[Stage] = []
    for line in _lines(text):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            base, _, called = rest.partition(" AS ")
            stages.append(Stage(base.strip(), called.strip(), []))
        elif stages:
            flags = dict(re.findall(r"--([a-z-]+)=(\S+)", re.match(r"(--\S+\s+)*", rest)[0]))  # type: ignore[index]
            stages[-1].steps.append(Step(name, flags, re.sub(r"^(--\S+\s+)*", "", rest).strip()))
    return stages


def context(folder: Path, ignored: str) -> Iterator[Path]:
    """The files of a folder that are sent to the engine, relative to it."""
    patterns = [line.strip() for line in ignored.splitlines() if line.strip() and not line.startswith("#")]
    yield from sorted(_sent(folder, Path(), patterns))


def _sent(folder: Path, inside: Path, patterns: list[str]) -> Iterator[Path]:
    for entry in os.scandir(folder / inside):
        path = inside / entry.name
        sent = _is_sent(path, patterns)
        if entry.is_dir():
            if sent or any(pattern.startswith(f"!{path}/") for pattern in patterns):
                yield from _sent(folder, path, patterns)
        elif sent:
            yield path


def _lines(text: str) -> Iterator[str]:
    """The instructions, each on one line, without comments."""
    kept = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return (line.strip() for line in re.sub(r"\\\n\s*", "", kept).splitlines() if line.strip())


def _is_sent(path: Path, patterns: list[str]) -> bool:
    """Whether the last pattern that matches a path, or a folder that it lies in, is an exception."""
    sent = True
    for pattern in patterns:
        wanted = pattern.removeprefix("!")
        places = [str(path), *(str(parent) for parent in path.parents if str(parent) != ".")]
        if any(_matches(place, wanted) for place in places):
            sent = pattern.startswith("!")
    return sent


def _matches(path: str, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatchcase(path.rpartition("/")[2], pattern.removeprefix("**/"))
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
