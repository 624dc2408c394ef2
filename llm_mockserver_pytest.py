"""The entries of llm-mockserver, beside its package: the pytest plugin, and the command `mockserver`.

Other distributions have a package `mockserver` too. Installing one of them overwrites files of ours, and uninstalling
it deletes them. This module survives both: it hands over to the package if that is whole, and else says what has
happened, without breaking a test run that does not use it. It imports nothing until then.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

_PACKAGE, _DISTRIBUTION = "mockserver", "llm-mockserver"
# Files that other distributions have as well, and what ours begin with.
_SHARED = {
    "__init__.py": b'"""A simulator of LLM inference APIs',
    "pytest_plugin.py": b'"""The pytest plugin: a server for the session, a namespace of it for each test',
}
# The options of the plugin, which a run may have in its configuration without using the plugin.
_OPTIONS = ("seed", "config", "url", "report", "latency", "record", "upstream")
_FLAG = "strict"
# Uninstalling either of the two deletes files of the other.
_MEND = "uninstall both, then install again the one that you need: an environment can have only one of them"
_AGAIN = f"install {_DISTRIBUTION} again, with `pip install --force-reinstall --no-deps`"


def main() -> int:
    """Run the command `mockserver`; without its package say why not, with exit code 2."""
    problem = problem_of_package()
    if problem is not None:
        sys.stderr.write(f"mockserver: error: {problem}\n")
        return 2
    warning = warning_of_sharing()
    if warning is not None and sys.argv[1:2] in (["serve"], ["dev"], ["run"], ["record"]):
        sys.stderr.write(f"mockserver: warning: {warning}\n")
    from mockserver.cli import main as run

    return run()


def problem_of_package() -> str | None:
    """Why the package `mockserver` is not ours or not whole, and how to mend it; None if nothing is wrong."""
    folder = _folder()
    if folder is None:
        return f"`import {_PACKAGE}` does not find the package of {_DISTRIBUTION}. To mend it: {_AGAIN}."
    states = {name: _begins(folder / name, beginning) for name, beginning in _SHARED.items()}
    if all(states.values()):
        return None
    if False not in states.values():
        return (
            f"{folder} lacks {' and '.join(name for name, state in states.items() if state is None)}, which are "
            f"probably gone because another distribution with the same package was uninstalled. To mend it: {_AGAIN}."
        )
    others = " and ".join(_owners(folder, everywhere=True))
    mend = _MEND if others else "rename it, or see that its folder is not the first of `sys.path`"
    whose = f"a package of {others or 'your own'}"
    return (
        f"{folder} is {whose}, which has the same name as that of {_DISTRIBUTION} and takes its place. "
        f"To mend it: {mend}."
    )


def warning_of_sharing() -> str | None:
    """That another distribution has installed files into our package, although ours are whole; None if none has.

    Only distributions are read that are named like the package, so that this takes no time.
    """
    folder = _folder()
    owners = [] if folder is None else _owners(folder, everywhere=False)
    if not owners:
        return None
    return (
        f"{' and '.join(owners)} has installed files into the package `{_PACKAGE}` of {_DISTRIBUTION}, and does not "
        f"work beside it. Uninstalling it deletes files of {_DISTRIBUTION}. To mend it: {_MEND}."
    )


def _folder() -> Path | None:
    """The folder that `import mockserver` would load, which may lack an `__init__.py`."""
    try:
        spec = find_spec(_PACKAGE)
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _begins(file: Path, beginning: bytes) -> bool | None:
    """Whether a file begins in this way; None without the file."""
    try:
        with file.open("rb") as opened:
            return opened.read(len(beginning)) == beginning
    except OSError:
        return None


def _owners(folder: Path, *, everywhere: bool) -> list[str]:
    """The other distributions beside the package that have files in it, with their versions."""
    found = []
    for described in folder.parent.glob("*.dist-info" if everywhere else f"*{_PACKAGE}*.dist-info"):
        name, _, version = described.stem.partition("-")
        name = name.replace("_", "-").lower()
        if name != _DISTRIBUTION and _lists_package(described / "RECORD"):
            found.append(f"{name} {version}")
    return sorted(found)


def _lists_package(record: Path) -> bool:
    try:
        listed = b"\n" + record.read_bytes()
    except OSError:
        return False
    return f"\n{_PACKAGE}/__init__.py,".encode() in listed


def pytest_addoption(parser: "pytest.Parser", pluginmanager: "pytest.PytestPluginManager") -> None:
    """Register the package's plugin; if the package is not whole, what takes its place."""
    problem = problem_of_package()
    if problem is None:
        from mockserver import pytest_plugin

        # Under the name that the other distribution's entry has, for pytest to pass over that one: it would load the
        # same module a second time.
        if not (pluginmanager.has_plugin(_PACKAGE) or pluginmanager.is_registered(pytest_plugin)):
            pluginmanager.register(pytest_plugin, _PACKAGE)
        return
    group = parser.getgroup(_PACKAGE, "mockserver, which is not whole")
    for name in _OPTIONS:
        group.addoption(f"--mockserver-{name}", action="append", help=problem)
        parser.addini(f"mockserver_{name}", problem)
    group.addoption(f"--mockserver-{_FLAG}", action="store_true", help=problem)
    parser.addini(f"mockserver_{_FLAG}", problem)
    pluginmanager.register(_stand_in(problem), "llm-mockserver-stand-in")


def pytest_report_header() -> str | None:
    """A warning if another distribution has the package's folder too."""
    warning = None if problem_of_package() else warning_of_sharing()
    return warning and f"mockserver: warning: {warning}"


def _stand_in(problem: str) -> Any:
    """A plugin whose fixtures fail with the problem, for tests that ask for ours, and only for these."""
    import pytest

    def fail() -> None:
        pytest.fail(f"mockserver: {problem}", pytrace=False)

    class StandIn:
        def pytest_configure(self, config: pytest.Config) -> None:
            config.addinivalue_line("markers", f"mockserver: {problem}")

        def pytest_report_header(self) -> str:
            return f"mockserver: warning: {problem}"

        @pytest.fixture
        def llm_mockserver(self) -> None:
            fail()

        @pytest.fixture(autouse=True)
        def _mockserver_of_the_marked(self, request: pytest.FixtureRequest) -> None:
            # Without the server, the clients of such a test would ask the vendor.
            if request.node.get_closest_marker(_PACKAGE) is not None:
                fail()

    class AllFixtures(StandIn):
        @pytest.fixture(scope="session")
        def mockserver_server(self) -> None:
            fail()

        @pytest.fixture
        def mockserver(self) -> None:
            fail()

    # A plugin of the other distribution has fixtures of these names, which are to work.
    folder = _folder()
    has_theirs = folder is not None and (folder / "pytest_plugin.py").exists()
    return StandIn() if has_theirs else AllFixtures()
