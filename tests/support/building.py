"""Building a Dockerfile in bare roots, without a container engine: the same commands, files and users."""

import re
import shutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.clients.environments import BUILD_SECONDS, built, run_in
from tests.support import bare_root
from tests.support.dockerfile import Stage, Step, context, read_stages

# The variables that an image of Python sets.
_BASE = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/bin:/bin"}


class Image(NamedTuple):
    """The result of a build: its root, its variables, and the last stage."""

    root: Path
    variables: Mapping[str, str]
    stage: Stage


class _Build:
    """The build of one stage."""

    def __init__(self, root: Path, source: Path, before: Mapping[str, Path], packages: Path) -> None:
        self.root, self.source, self.before = root, source, before
        self.variables = dict(_BASE)
        self.given: dict[str, str] = {}
        self.work = "/"
        shutil.copytree(packages, root / "packages")

    def perform(self, step: Step) -> None:
        """Perform a step; steps that only describe the image are ignored."""
        done = {"RUN": self._run, "COPY": self._copy, "ENV": self._set, "ARG": self._give, "WORKDIR": self._go}
        if step.name in done:
            done[step.name](step)

    def _run(self, step: Step) -> None:
        # Packages come from a folder instead of an index, because a bare root has no network.
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/packages"}
        variables = self.variables | self.given | offline
        bare_root.run(self.root, ["/bin/sh", "-c", step.value], variables, work=self.work)

    def _copy(self, step: Step) -> None:
        *sources, target = step.value.split()
        origin = self.before.get(step.flags.get("from", ""), self.source)
        place = self.root / (Path(self.work) / target).as_posix().lstrip("/")
        for source in sources:
            found = origin / source.strip("/")
            if found.is_dir():
                shutil.copytree(found, place, symlinks=True, dirs_exist_ok=True)
            else:
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, place)

    def _set(self, step: Step) -> None:
        for name, value in re.findall(r"(\w+)=(\S+)", step.value):
            self.variables[name] = value.replace("$PATH", self.variables["PATH"])

    def _give(self, step: Step) -> None:
        name, _, value = step.value.partition("=")
        self.given[name] = value

    def _go(self, step: Step) -> None:
        self.work = step.value
        (self.root / step.value.strip("/")).mkdir(parents=True, exist_ok=True)


def build(folder: Path, scratch: Path) -> Image:
    """Build the Dockerfile of a folder in bare roots within a scratch folder."""
    packages = _packages(folder)
    source = scratch / "context"
    for path in context(folder, (folder / ".dockerignore").read_text()):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / path, source / path)
    stages = read_stages((folder / "Dockerfile").read_text())
    made: dict[str, Path] = {}
    for number, stage in enumerate(stages):
        root = made[stage.name] = scratch / f"root{number}"
        root.mkdir()
        root.chmod(0o755)
        bare_root.make_base(root)
        container = _Build(root, source, made, packages)
        for step in stage.steps:
            container.perform(step)
        shutil.rmtree(root / "packages")
    return Image(root, container.variables, stages[-1])


def _packages(folder: Path) -> Path:
    """A folder with all packages that the project needs to be built and to run, downloaded by pip and kept."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += [each for extra in ("tls", "record") for each in project["project"]["optional-dependencies"][extra]]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *wanted]
    return built("packages", "\n".join((sys.version, *wanted)), lambda target: run_in(command, target, BUILD_SECONDS))
