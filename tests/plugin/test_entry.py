"""The entries of the plugin and the command, beside another distribution that has a package of the same name."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pytest

import llm_mockserver_pytest
from mockserver import pytest_plugin

ROOT = Path(llm_mockserver_pytest.__file__).parent
ENTRIES = "[pytest11]\n{name} = {module}\n"
THEIR_FILES = {
    "__init__.py": '"""Another product."""\n',
    "pytest_plugin.py": "import pytest\n\n\n@pytest.fixture\ndef mockserver():\n    return 'theirs'\n",
    "client.py": "",
}
PLAIN = "def test_plain():\n    pass\n"
OURS = "def test_ours(llm_mockserver):\n    assert llm_mockserver.url\n"
USUAL = "def test_usual(mockserver, llm_mockserver):\n    assert mockserver is llm_mockserver\n"
THEIRS = "def test_theirs(mockserver):\n    assert mockserver == 'theirs'\n"
MARKED = "\nimport pytest\n\n@pytest.mark.mockserver(seed=7)\ndef test_marked():\n    pass\n"


class Site:
    """A folder of installed packages, as pip would leave it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "mockserver"
        self.package.mkdir(parents=True)

    def install_ours(self) -> None:
        for path in (ROOT / "mockserver").iterdir():
            here = self.package / path.name
            here.unlink(missing_ok=True)
            here.symlink_to(path)
        shutil.copy(ROOT / "llm_mockserver_pytest.py", self.folder)
        entry = ENTRIES.format(name="llm-mockserver", module="llm_mockserver_pytest")
        self._describe("llm_mockserver", entry, ("__init__.py", "pytest_plugin.py"))

    def install_theirs(self, name: str = "mockserver_client") -> None:
        for file, text in THEIR_FILES.items():
            here = self.package / file
            here.unlink(missing_ok=True)
            here.write_text(text)
        self._describe(name, ENTRIES.format(name="mockserver", module="mockserver.pytest_plugin"), THEIR_FILES)

    def uninstall_theirs(self, name: str = "mockserver_client") -> None:
        for file in THEIR_FILES:
            (self.package / file).unlink()
        shutil.rmtree(self.folder / f"{name}-9.2.0.dist-info")

    def _describe(self, name: str, entries: str, files: Iterable[str]) -> None:
        described = self.folder / f"{name}-9.2.0.dist-info"
        described.mkdir(exist_ok=True)
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.2.0\n")
        (described / "entry_points.txt").write_text(entries)
        (described / "RECORD").write_text("".join(f"mockserver/{file},,\n" for file in files))

    def python(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the interpreter with this folder in the place of the editable installation, which a .pth adds."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "MOCKSERVER"))},
            "PYTHONPATH": os.pathsep.join((str(self.folder), sysconfig.get_path("purelib"))),
        }
        command = [sys.executable, "-S", *arguments]
        return subprocess.run(
            command, cwd=self.folder.parent, env=environment, capture_output=True, text=True, timeout=60
        )

    def pytest(self, tests: str, *, passed: int, errors: int = 0) -> str:
        """What pytest says of these tests, of which so many must pass, and so many fail in their setup."""
        (self.folder.parent / "test_it.py").write_text(tests)
        lean = ("no:cacheprovider", "no:schemathesis", "no:hypothesispytest", "no:xdist", "no:faker", "no:anyio")
        options = ["--strict-markers", "--strict-config", *(word for plugin in lean for word in ("-p", plugin))]
        done = self.python("-m", "pytest", "test_it.py", "--show-capture=no", "-r", "N", *options)
        said = done.stdout + done.stderr
        assert (done.returncode, *outcomes(done.stdout)) == (int(errors > 0), passed, errors), said
        return said


def outcomes(said: str) -> tuple[int, int]:
    """How many tests passed, and how many failed in their setup, by the last line."""
    counts = {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (passed|errors?)", said)}
    return counts.get("passed", 0), counts.get("error", 0)


@pytest.fixture
def scope(tmp_path: Path) -> Site:
    return Site(tmp_path / "site")


def test_alone_both_names_of_the_fixture_work_and_nothing_is_said(scope: Site) -> None:
    scope.install_ours()
    assert "warning" not in scope.pytest(OURS + USUAL, passed=2)


@pytest.mark.parametrize("name", ["mockserver_client", "another_product"])
def test_who_is_overwritten_says_so_to_its_own_tests_alone(scope: Site, name: str) -> None:
    scope.install_ours()
    scope.install_theirs(name)
    said = scope.pytest(PLAIN + THEIRS + OURS + MARKED, passed=2, errors=2)
    assert f"is a package of {name.replace('_', '-')} 9.2.0, which has the same name" in said
    assert said.count("uninstall both, then install again the one that you need") == 3


def test_who_has_lost_its_files_says_so_to_its_own_tests_alone(scope: Site) -> None:
    scope.install_ours()
    scope.install_theirs()
    scope.uninstall_theirs()
    (scope.folder.parent / "pytest.ini").write_text(
        "[pytest]\naddopts = --mockserver-seed=7\nmockserver_strict = true\n"
    )
    said = scope.pytest(PLAIN + OURS + MARKED + USUAL + "def test_server(mockserver_server): ...\n", passed=1, errors=4)
    assert said.count("lacks __init__.py and pytest_plugin.py, which are probably gone") == 5
    assert "mockserver: warning: " in said
    assert "--force-reinstall" in said


def test_who_has_overwritten_works_and_warns_of_what_uninstalling_would_delete(scope: Site) -> None:
    scope.install_theirs()
    scope.install_ours()
    said = scope.pytest(OURS + USUAL + PLAIN, passed=3)
    assert "mockserver: warning: mockserver-client 9.2.0 has installed files into the package" in said


def test_the_command_says_what_has_happened(scope: Site) -> None:
    scope.install_ours()
    command = ("-c", "import sys, llm_mockserver_pytest; sys.exit(llm_mockserver_pytest.main())", "--version")
    assert scope.python(*command).returncode == 0
    scope.install_theirs()
    for way in (command, ("-m", "mockserver", "--version")):
        done = scope.python(*way)
        assert done.returncode == 2
        assert "is a package of mockserver-client 9.2.0" in done.stderr
    scope.uninstall_theirs()
    done = scope.python(*command)
    assert done.returncode == 2
    assert "lacks __init__.py and pytest_plugin.py" in done.stderr


def test_a_suite_that_does_not_use_it_imports_the_plugin_alone(scope: Site) -> None:
    scope.install_ours()
    tests = """
import sys

def test_it():
    loaded = {name for name in sys.modules if name.partition(".")[0] in ("mockserver", "llm_mockserver_pytest")}
    assert loaded == {"mockserver", "mockserver.pytest_plugin", "llm_mockserver_pytest"}
    assert not {"faker", "anyio", "starlette", "uvicorn", "orjson", "asyncio.base_events"} & sys.modules.keys()
"""
    scope.pytest(tests, passed=1)


def test_a_package_of_that_name_which_nobody_has_installed_is_to_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "__init__.py").touch()
    monkeypatch.setattr(llm_mockserver_pytest, "_folder", lambda: tmp_path)
    said = llm_mockserver_pytest.problem_of_package()
    assert said is not None
    assert "is a package of your own, which has the same name" in said
    assert "To mend it: rename it" in said


def test_the_entry_knows_the_options_of_the_plugin_and_the_beginnings_of_the_files() -> None:
    assert set(llm_mockserver_pytest._OPTIONS) == {*pytest_plugin._OPTIONS, "upstream"}
    assert llm_mockserver_pytest.problem_of_package() is None
