"""The pytest plugin: a server for the session, a namespace of it for each test, and explanations of failures.

Nothing of the server is imported before a test uses it.
"""

import os
import re
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockserver.state.settings import Settings
    from mockserver.testing.cassettes import Cassette, Cassettes
    from mockserver.testing.handle import Handle
    from mockserver.testing.server import MockServer, RemoteServer

_SEED = 42
# How cassettes are recorded.
_MODES = {
    "none": "replay cassettes",
    "once": "record cassettes that do not exist, replay the others",
    "new": "add to cassettes what they do not have",
    "all": "record cassettes anew",
}
_OPTIONS = {
    "seed": f"the number from which the seeds of all tests are derived (default: {_SEED})",
    "config": "a config file; its settings of how requests are answered apply: routes, faults, quotas, stubs, ...",
    "url": "use the server at this URL instead of starting one for the session",
    "report": "write the verdict on the clients of each test to this file, as JSON",
    "latency": "off (default), realistic, a preset, or settings such as 'ttft=180ms, rate=50 tok/s'",
    "record": f"{', '.join(f'{mode} ({text})' for mode, text in _MODES.items())}; default: none",
}
_UPSTREAM = "where recorded requests of a dialect go, as in ovms=http://localhost:9000 (default: the vendor's host)"
_STRICT = "fail a test if no stub matches a request, a request breaks the vendor's contract, or a stub is not used"
_MARKER = (
    "mockserver(dialect=, seed=, latency=, edition=, strict=, cassette=, ...): settings of the test's namespace, the "
    "recording that answers in it, and arguments of verify.resilience"
)
_LONGEST_SLUG = 40
_PACKAGE = "mockserver"
# What these modules raise themselves is addressed to tests.
_FOR_TESTS = (
    *("mockserver.core.messages", "mockserver.state.namespaces", "mockserver.testing.environment"),
    *("mockserver.testing.handle", "mockserver.testing.verify"),
)

# What pytest says of a fixture of several tests that wants one of a single test.
_WIDER_SCOPE = re.compile(r"ScopeMismatch: .* fixture (?:llm_)?mockserver with")
_OF_SEVERAL_TESTS = "The fixture mockserver is of one test. For several, use mockserver_server.in_namespace('a-name')."

_HANDLE = pytest.StashKey["Handle"]()
_STRICTLY = pytest.StashKey[bool]()
_RUN = pytest.StashKey[str]()
_NAMES = pytest.StashKey[dict[str, int]]()
_CASSETTES = pytest.StashKey["Cassettes"]()
_CASSETTE = pytest.StashKey["Cassette"]()
_PASSED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each of which is also an ini key."""
    group = parser.getgroup("mockserver", "mockserver, a simulator of LLM inference APIs")
    for name, text in _OPTIONS.items():
        group.addoption(f"--mockserver-{name}", dest=f"mockserver_{name}", metavar=name.upper(), help=text)
        parser.addini(f"mockserver_{name}", text)
    group.addoption(
        "--mockserver-upstream", dest="mockserver_upstream", action="append", metavar="NAME=URL", help=_UPSTREAM
    )
    parser.addini("mockserver_upstream", _UPSTREAM, type="linelist", default=[])
    group.addoption("--mockserver-strict", dest="mockserver_strict", action="store_true", default=None, help=_STRICT)
    parser.addini("mockserver_strict", _STRICT, type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the run and the marker, and collect the report in the process that gets all tests' reports."""
    config.addinivalue_line("markers", _MARKER)
    worker = getattr(config, "workerinput", None)
    config.stash[_RUN] = f"{worker['testrunuid'][:8]}-{worker['workerid']}" if worker else os.urandom(4).hex()
    config.stash[_NAMES] = {}
    if _mode(config) not in _MODES:
        raise pytest.UsageError(f"--mockserver-record: unknown mode {_mode(config)!r}. Known: {', '.join(_MODES)}")
    if config.getoption("mockserver_url") and config.getoption("mockserver_config"):
        raise pytest.UsageError(
            "--mockserver-config cannot be combined with --mockserver-url: that server has its own config"
        )
    if worker is None and _mode(config) != "none":
        from mockserver.testing.reports import RecordingReport

        config.pluginmanager.register(RecordingReport(), "mockserver-recorded")
    path = _option(config, "report")
    if path and worker is None:
        if not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK):
            raise pytest.UsageError(f"--mockserver-report {path}: the folder does not exist or is not writable")
        from mockserver.testing.reports import ReportFile

        config.pluginmanager.register(ReportFile(path), "mockserver-report")


class _Plainly:
    """Imports the package's own modules without the assertion rewriting that pytest gives to every package of a plugin.

    It would parse hundreds of modules in each new environment, and do so in the server's thread too, where CPython 3.11
    fails now and then ("AST constructor recursion depth mismatch") when another thread parses at the same time.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The specification of a module of this package; nothing for other modules, which others find."""
        return PathFinder.find_spec(name, path, target) if name.startswith("mockserver.") else None


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """See to the package's imports before the first conftest imports some of it."""
    sys.meta_path.insert(0, _Plainly)


def pytest_unconfigure() -> None:
    """Leave the imports as they were."""
    if _Plainly in sys.meta_path:
        sys.meta_path.remove(_Plainly)


def pytest_report_header(config: pytest.Config) -> str | None:
    """A line with the options, if any were given."""
    options = {name: value for name in (*_OPTIONS, "strict") if (value := _option(config, name))}
    return f"mockserver: {', '.join(f'{name} {value}' for name, value in options.items())}" if options else None


@pytest.fixture(scope="session")
def mockserver_settings() -> "Mapping[str, Any] | Settings":
    """Settings of the session's server, by name; override it to change them."""
    return {}


@pytest.fixture(scope="session")
def mockserver_server(
    pytestconfig: pytest.Config, mockserver_settings: "Mapping[str, Any] | Settings"
) -> "Iterator[MockServer | RemoteServer]":
    """The session's server: one in a thread of each process that runs tests, or the one at --mockserver-url."""
    from mockserver.state.settings import ConfigError
    from mockserver.testing.server import MockServer, RemoteServer

    url = _option(pytestconfig, "url")
    if url:
        yield RemoteServer(url, os.environ.get("MOCKSERVER_ADMIN_TOKEN"))
        return
    given = mockserver_settings
    options: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {"settings": given}
    try:
        own_server = MockServer(**{"config": _config_file(pytestconfig), **options})
    except ConfigError as error:
        raise pytest.fail.Exception(f"mockserver: invalid settings: {error}", pytrace=False) from None
    with own_server as server:
        yield server


@pytest.fixture
def llm_mockserver(
    request: pytest.FixtureRequest,
    mockserver_server: "MockServer | RemoteServer",
    mockserver_settings: "Mapping[str, Any] | Settings",
) -> "Iterator[Handle]":
    """The test's own namespace of the session's server, to which the clients' environment variables point."""
    from mockserver.core.messages import unknown_name
    from mockserver.state.settings import ConfigError
    from mockserver.state.settings.options import BY_NAME, OWN, from_names
    from mockserver.state.verify.client_review import CLIENT_FACTS
    from mockserver.testing.backend import BackendError
    from mockserver.testing.cassettes import OF_CASSETTES

    item, config = request.node, request.config
    recorder: AbstractContextManager[Handle] | None = None
    with ExitStack() as stack:
        try:
            marked = _marked(item)
            dialect, cassette = marked.pop("dialect", None), _cassette(item, marked)
            if cassette is not None:
                item.stash[_CASSETTE] = cassette
                recorder = _cassettes(config).recorder(
                    cassette,
                    mockserver_server,
                    dialect,
                    sharing=lambda: _sharing(item, cassette.path),
                    passed=lambda: item.stash.get(_PASSED, False),
                )
            strict = marked.pop("strict", None)
            declared = {name: marked.pop(name) for name in CLIENT_FACTS if name in marked}
            for name in marked.keys() - BY_NAME.keys():
                known = ("dialect", "cassette", *OF_CASSETTES, *OWN, *CLIENT_FACTS)
                raise ValueError(unknown_name("argument", name, known))
            own = {"seed": _seed(item), "latency": _latency(config, mockserver_settings), **marked}
            given = _option(config, "strict") if strict is None else strict
            strictly = from_names({"strict": given}, "setting")["strict"]
            if recorder is not None:
                handle = stack.enter_context(recorder)
            else:
                handle = mockserver_server.in_namespace(_namespace(item), dialect, item.path.parent)
            handle.settle(**own)
            if cassette is not None and recorder is None:
                cassette.replay(handle)
            handle.declare(**declared)
            variables = handle.environ()
        except (ConfigError, ValueError) as error:
            raise pytest.fail.Exception(f"mockserver: invalid marker or option: {error}", pytrace=False) from None
        except BackendError as error:
            place = "--mockserver-url" if recorder is None else "invalid marker or option"
            raise pytest.fail.Exception(f"mockserver: {place}: {error}", pytrace=False) from None
        item.stash[_HANDLE] = handle
        item.stash[_STRICTLY], item.stash[_PASSED] = strictly, False
        with variables:
            yield handle
        handle.reset()


@pytest.fixture
def mockserver(llm_mockserver: "Handle") -> "Handle":
    """The same by the name that is usual; other plugins and suites may have a fixture of that name."""
    return llm_mockserver


@pytest.fixture(autouse=True)
def _mockserver_of_the_marked(request: pytest.FixtureRequest) -> None:
    """Activate the fixture for marked tests that do not name it, so that their clients do not reach the vendors.

    The plugin's fixtures run before those of test suites with the same scope, which may create a client.
    """
    if request.node.get_closest_marker("mockserver") is not None:
        request.getfixturevalue("mockserver")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """After a test that has passed: fail it for problems that raised nothing."""
    yield
    handle = item.stash.get(_HANDLE, None)
    if handle is not None:
        problems = handle.problems(strict=item.stash[_STRICTLY])
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Add to a failing test's report what has happened, and to every report the verdict."""
    if call.excinfo is not None and not item.config.getoption("fulltrace"):
        _end_at_the_caller(call.excinfo)
    report = yield
    if report.when == "call":
        item.stash[_PASSED] = report.passed
    handle = item.stash.get(_HANDLE, None)
    if call.excinfo is not None and _WIDER_SCOPE.match(str(call.excinfo.value)):
        report.sections.append(("mockserver", _OF_SEVERAL_TESTS))
    if report.when != "teardown" and _CASSETTE in item.stash:
        kept = _kept(handle, report.passed) if report.when == "call" else 0
        report.mockserver_cassette = {"path": str(item.stash[_CASSETTE].path), "exchanges": kept}
    if handle is None or report.when == "teardown":
        return report
    if report.failed:
        report.sections.append(("mockserver journal", _explained(item, handle)))
    if report.when == "call" and _option(item.config, "report"):
        report.mockserver = {"test": item.nodeid, "outcome": report.outcome, **_judged(handle)}
    return report


def _mode(config: pytest.Config) -> str:
    """How cassettes are recorded, if they are."""
    return _option(config, "record") or "none"


def _option(config: pytest.Config, name: str) -> Any:
    """An option from the command line, else from the ini file."""
    given = config.getoption(f"mockserver_{name}")
    return config.getini(f"mockserver_{name}") if given is None else given


def _config_file(config: pytest.Config) -> Path | None:
    """The session server's config file: relative to the working directory, or to the ini file's folder if set there."""
    given, written = config.getoption("mockserver_config"), config.getini("mockserver_config")
    if given:
        return config.invocation_params.dir / str(given)
    return (config.inipath.parent if config.inipath else config.rootpath) / str(written) if written else None


def _marked(item: pytest.Item) -> dict[str, Any]:
    """The arguments of a test's markers; the nearest take precedence. Raises ValueError for positional arguments."""
    marked: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("mockserver"))):
        if marker.args:
            raise ValueError(f"{marker.args[0]!r} has no name; write mockserver(seed=7, dialect='cerebras')")
        marked |= marker.kwargs
    return marked


def _cassettes(config: pytest.Config) -> "Cassettes":
    from mockserver.testing.cassettes import Cassettes

    return config.stash.setdefault(_CASSETTES, Cassettes(_mode(config), _option(config, "upstream")))


def _cassette(item: pytest.Item, marked: dict[str, Any]) -> "Cassette | None":
    """The cassette of a test, from arguments of its marker, which are taken out; None without one."""
    name = ".".join(item.nodeid.split("::")[1:]) or item.name
    return _cassettes(item.config).of(marked, item.path, name)


def _sharing(item: pytest.Item, path: Path) -> int:
    """How many tests of the session have a cassette; under xdist alone does that matter."""
    count = 0
    for each in item.session.items if hasattr(item.config, "workerinput") else ():
        with suppress(ValueError):
            cassette = _cassette(each, _marked(each))
            count += cassette is not None and cassette.path == path
    return count


def _kept(handle: "Handle | None", passed: bool) -> int:
    """How many exchanges a test has recorded that stay."""
    if handle is None or not handle.is_recording:
        return 0
    from mockserver.testing.cassettes import RecordingHandle

    return handle.kept(passed=passed) if isinstance(handle, RecordingHandle) else 0


def _namespace(item: pytest.Item) -> str:
    """The name of a test's namespace, unique for each run, worker, and repetition."""
    from mockserver.core.seeding import fingerprint

    slug = re.sub(r"[^a-z0-9]+", "-", item.name.lower()).strip("-")[:_LONGEST_SLUG]
    name = f"{item.config.stash[_RUN]}-{slug}-{fingerprint(item.nodeid.encode())[:8]}"
    names = item.config.stash[_NAMES]
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name}-{names[name]}"


def _base_seed(config: pytest.Config) -> int:
    seed = _option(config, "seed") or _SEED
    try:
        return int(seed)
    except ValueError:
        raise ValueError(f"mockserver_seed: {seed!r} is not a whole number") from None


def _seed(item: pytest.Item) -> int:
    """The seed of a test that sets none: derived from its node id, not from when or where it runs."""
    from mockserver.core.seeding import derive

    return derive(_base_seed(item.config), "test", item.nodeid) >> 32


def _latency(config: pytest.Config, settings: "Mapping[str, Any] | Settings") -> str:
    """The latency of tests that set none: from the command line, the settings, the ini file, or off."""
    latency = settings.get("latency") if isinstance(settings, Mapping) else settings.latency
    return str(config.getoption("mockserver_latency") or latency or config.getini("mockserver_latency") or "off")


def _explained(item: pytest.Item, handle: "Handle") -> str:
    """What has happened in a test's namespace, and how to reproduce it. Errors here are only reported."""
    seed = _base_seed(item.config)
    again = f"To run it again with the same answers: pytest {item.nodeid!r} --mockserver-seed={seed}"
    try:
        cassette = item.stash.get(_CASSETTE, None)
        advice = () if cassette is None else cassette.advice(handle)
        return "\n".join([*handle.story(), *([] if handle.is_recording else [*advice, again])])
    except Exception as error:
        return f"The journal cannot be read: {type(error).__name__}: {error}\n{again}"


def _end_at_the_caller(failure: pytest.ExceptionInfo[BaseException]) -> None:
    """Let the traceback of a mistake that our own message explains end where the user's code has called ours."""
    entries: list[TracebackType] = []
    entry: TracebackType | None = failure.tb
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    modules = [str(entry.tb_frame.f_globals.get("__name__")) for entry in entries]
    # We may have called the standard library in between, above all to ask the server's thread.
    others = {_PACKAGE, *sys.stdlib_module_names}
    theirs = [entry for entry, module in zip(entries, modules, strict=True) if module.partition(".")[0] not in others]
    is_explained = type(failure.value).__module__.partition(".")[0] == _PACKAGE or modules[-1] in _FOR_TESTS
    if theirs and is_explained:
        theirs[-1].tb_next = None


def _judged(handle: "Handle") -> dict[str, Any]:
    try:
        return {"namespace": handle.namespace, "verdict": handle.verdict().as_json()}
    except Exception as error:
        return {"namespace": handle.namespace, "error": f"{type(error).__name__}: {error}"}
