"""The plugin in test suites of its users: each of these tests runs a pytest of its own."""

import json
import re
import sys
from collections.abc import Iterator

import pytest

from mockserver import MockServer
from tests.plugin.test_cassettes import write_replayed
from tests.server.test_workers import served
from tests.support.pages import page
from tests.support.suites import LEAN, run, run_apart, write_documented_cassette

pytest_plugins = ("pytester",)

DOCUMENTED = page("tests") + page("verify")
PROMISED = "\n".join(
    code for code in re.findall(r"^```python\n(.*?)^```", DOCUMENTED, re.DOTALL | re.MULTILINE) if "def test_" in code
)
SHUFFLED = """
import random

def pytest_collection_modifyitems(items):
    random.Random(1).shuffle(items)
"""


@pytest.fixture
def shared() -> Iterator[MockServer]:
    with MockServer() as running:
        yield running


def test_what_the_documentation_promises_runs_as_written(pytester: pytest.Pytester) -> None:
    write_documented_cassette(pytester.path)
    run(pytester, "--mockserver-strict", test_it=PROMISED, conftest=SHUFFLED).assert_outcomes(passed=8)


def test_workers_and_repetitions_share_one_server_and_never_meet(pytester: pytest.Pytester, shared: MockServer) -> None:
    module = """
        import pytest, my_app

        @pytest.mark.parametrize("number", range(20))
        def test_alone(mockserver, number):
            mockserver.next().error("server_error")
            mockserver.on().reply(f"answer {number}")
            assert my_app.ask_plainly("the same question") == f"answer {number}"
            assert [view.number for view in mockserver.exchanges] == [1, 2]
            mockserver.verify.calls(2).all_used()
    """
    for arguments in (("-n", "2"), ()):
        run(pytester, *arguments, f"--mockserver-url={shared.url}", test_it=module).assert_outcomes(passed=20)


def test_pytest_rewrites_no_module_of_the_package_but_the_plugin(pytester: pytest.Pytester) -> None:
    # What pytest does for the packages of installed plugins, though not for editable ones.
    conftest = """
        import pytest

        pytest.register_assert_rewrite("mockserver")

        from mockserver import contains
    """
    module = """
        import sys, my_app

        def test_loaders(mockserver):
            assert my_app.ask("hello")
            own = {name: module for name, module in sys.modules.items() if name.startswith("mockserver.")}
            del own["mockserver.pytest_plugin"]
            assert {type(module.__spec__.loader).__name__ for module in own.values()} == {"SourceFileLoader"}
            assert len(own) > 50
    """
    run_apart(pytester, test_it=module, conftest=conftest).assert_outcomes(passed=1)


def test_threads_of_one_test_have_one_namespace(pytester: pytest.Pytester) -> None:
    module = """
        import my_app
        from concurrent.futures import ThreadPoolExecutor

        def test_threads(mockserver):
            with ThreadPoolExecutor(20) as pool:
                answers = list(pool.map(my_app.ask_plainly, ["one question"] * 20))
            assert len(set(answers)) == 1
            mockserver.verify.calls(20)
    """
    run(pytester, test_it=module).assert_outcomes(passed=1)


def test_the_fixture_works_in_tests_of_asyncio_and_trio(pytester: pytest.Pytester) -> None:
    module = """
        import anyio, asyncio, openai, pytest

        async def ask(model="gpt-3.5-turbo-instruct"):
            async with openai.AsyncOpenAI() as client:
                stream = await client.completions.create(model=model, prompt="hi", max_tokens=9, stream=True)
                return [chunk async for chunk in stream]

        @pytest.mark.anyio
        @pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
        async def test_backends(mockserver, anyio_backend):
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                assert len(await mockserver.aio.wait_for_requests(1)) == 1
            await mockserver.aio.wait_idle()
            assert mockserver.last.closed_by == "server"

        def test_a_loop_of_its_own(mockserver):
            mockserver.on(stream=True).reply("ready")
            assert asyncio.run(ask())
            mockserver.verify.all_used()
            assert asyncio.run(ask("gpt-oss-120b"))
            # Without a dialect the model decides.
            assert [each.dialect for each in mockserver.requests] == ["openai", "cerebras"]
    """
    run(pytester, test_it=module).assert_outcomes(passed=3)


def test_a_failing_test_explains_itself(pytester: pytest.Pytester) -> None:
    module = """
        import my_app

        def test_it(mockserver):
            mockserver.on(model="other", stream=True).reply("Never.")
            mockserver.next().error("rate_limit", retry_after=0.05)
            my_app.ask_plainly("hello")
            mockserver.verify.calls(1)
    """
    result = run(pytester, test_it=module)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: Expected 1 request, found 2.",
            "*- mockserver journal -*",
            "*#? cerebras completions llama3.1-8b 'hello' -> 429 by next-1, with fault error, 1 event, done after *",
            "*#? cerebras completions llama3.1-8b 'hello' -> 200, 1 event, *(client returned after 0.*",
            "Requests that no stub matched, with the nearest stubs:",
            "*stub 'stub-1':",
            "*model: expected 'other', found 'llama3.1-8b'",
            "*stream: expected True, found False",
            "To run it again with the same answers: pytest 'test_it.py::test_it' --mockserver-seed=42",
        ]
    )


STRICT = """
    import my_app, pytest

    def test_unmatched(mockserver):
        mockserver.on(model="other").reply("Never.").times(1)
        my_app.ask_plainly("hello")

    def test_contract(mockserver):
        import openai
        with pytest.raises(openai.BadRequestError):
            openai.OpenAI(base_url=mockserver.openai_base_url("cerebras")).completions.create(model=1, prompt="x")

    @pytest.mark.mockserver(strict=False)
    def test_lenient(mockserver):
        mockserver.on(model="other").reply("Never.")

    def test_fine(mockserver):
        mockserver.next(2).error("server_error")
        mockserver.on(model="llama3.1-8b").reply("Yes.")
        assert my_app.ask_plainly("hello") == "Yes."
"""


def test_strictness_is_said_on_the_command_line_or_in_the_ini_file(pytester: pytest.Pytester) -> None:
    run(pytester, test_it=STRICT).assert_outcomes(passed=4)
    result = run(pytester, "--mockserver-strict", test_it=STRICT)
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "Expected a stub to match every request, but 1 had none:",
            "Expected every stub to be used, but:",
            "*stub-1*used 0 of 1 time",
            "Expected all requests to conform to the vendor's contract, but 1 does not:",
        ]
    )
    pytester.makeini("[pytest]\nmockserver_strict = true\n")
    run(pytester, test_it=STRICT).assert_outcomes(passed=2, failed=2)


@pytest.mark.parametrize(
    ("marker", "arguments", "complaint"),
    [
        ("'cerebras'", [], "*invalid marker or option: 'cerebras' has no name; write mockserver(seed=7, *"),
        ("", ["--mockserver-seed=x"], "*invalid marker or option: mockserver_seed: 'x' is not a whole number"),
        (
            "",
            ["--mockserver-url=http://127.0.0.1:9"],
            "*mockserver: --mockserver-url: http://127.0.0.1:9: Connection refused. Nothing listens there: start *",
        ),
        (
            "",
            ["--mockserver-url=127.0.0.1:9"],
            "*mockserver: --mockserver-url: 127.0.0.1:9: '127.0.0.1:9' is not a URL such *",
        ),
    ],
)
def test_a_mistake_is_told_in_a_line_and_not_by_our_own_code(
    pytester: pytest.Pytester, marker: str, arguments: list[str], complaint: str
) -> None:
    module = f"""
        import pytest

        @pytest.mark.mockserver({marker})
        def test_it(mockserver): ...
    """
    result = run(pytester, *arguments, test_it=module)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([complaint])
    result.stdout.no_fnmatch_line("*Error*")


def test_a_function_that_fails_fails_its_test(pytester: pytest.Pytester) -> None:
    module = """
        import my_app, pytest

        def test_it(mockserver):
            def answer(request):
                assert request.prompt == "what I expected"
            mockserver.on().reply(answer)
            with pytest.raises(Exception):
                my_app.ask_plainly("hello")
    """
    result = run(pytester, test_it=module)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*stub 'stub-1': its function raised AssertionError*"])


SEEDED = """
    import json, my_app, pytest

    @pytest.mark.parametrize("name", "abc")
    def test_it(mockserver, name):
        with open("seen.txt", "a") as file:
            file.write(json.dumps([name, my_app.ask_plainly("hello")]) + "\\n")

    @pytest.mark.mockserver(seed=7)
    @pytest.mark.parametrize("name", "de")
    def test_same(mockserver, name):
        test_it(mockserver, name)
"""
JUDGED = """
    import my_app, pytest

    @pytest.mark.mockserver(handles="retry")
    def test_patient(mockserver):
        mockserver.verify.resilience(least_attempts=1)
        my_app.ask_plainly("hello")

    def test_hasty(mockserver):
        mockserver.next(2).error("rate_limit", retry_after=5)
        my_app.ask_plainly("hello")

    def test_without(): ...
"""


def test_all_kinds_of_tests_run_in_several_processes(pytester: pytest.Pytester) -> None:
    write_documented_cassette(pytester.path)
    write_replayed(pytester.path / "below")
    modules = {"test_promised": PROMISED, "test_it": MARKED, "test_fails": FAILS}
    modules |= {"test_seeded": SEEDED, "test_judged": JUDGED}
    result = run(pytester, "-n", "2", "--mockserver-report=report.json", **modules, conftest=SHUFFLED)
    result.assert_outcomes(passed=8 + 7 + 7 + 5 + 3, failed=1)
    result.stdout.fnmatch_lines(FAILURE)
    # Seeds follow from the test and the base alone.
    seen = pytester.path / "seen.txt"
    first = dict(map(json.loads, seen.read_text().splitlines()))
    assert len(set(first.values())) == 4
    assert first["d"] == first["e"]
    for arguments, same in (((), True), (("--mockserver-seed=43",), False)):
        seen.unlink()
        run(pytester, *arguments, "test_seeded.py").assert_outcomes(passed=5)
        again = dict(map(json.loads, seen.read_text().splitlines()))
        assert (again == first, again["a"] == first["a"]) == (same, same)
    # The report has the verdicts of all processes.
    report = json.loads((pytester.path / "report.json").read_text())
    faults = {told["test"]: {each["fault"] for each in told["verdict"]["findings"]} for told in report["tests"]}
    assert report["clean"] is False
    assert {test: found for test, found in faults.items() if test.startswith("test_judged.py")} == {
        "test_judged.py::test_hasty": {"retry_after_ignored"},
        "test_judged.py::test_patient": set(),
    }
    result.stdout.fnmatch_lines(["test_judged.py::test_hasty: retry_after_ignored: asked to wait 5 s*"])


def test_settings_come_from_the_marker_the_command_line_the_fixture_and_the_ini_file(pytester: pytest.Pytester) -> None:
    module = """
        import my_app, pytest

        @pytest.fixture(scope="session")
        def mockserver_settings():
            return {"latency": "ttft=20ms", "edition": "observed"}

        def test_fixture(mockserver, latency):
            my_app.ask_plainly("hello", model="gpt-oss-120b")
            assert mockserver.last.ttft >= latency
            assert mockserver.last.edition == "observed"

        @pytest.mark.mockserver(latency="off", edition="documented")
        def test_marker(mockserver):
            my_app.ask_plainly("hello")
            assert mockserver.last.data["timing"]["ttft_due"] == 0
            assert mockserver.last.edition == "documented"
    """
    latency = "import pytest\n\n@pytest.fixture\ndef latency():\n    return {seconds}\n"
    run(pytester, test_it=module, conftest=latency.format(seconds=0.02)).assert_outcomes(passed=2)
    conftest = latency.format(seconds=0.04)
    run(pytester, "--mockserver-latency=ttft=40ms", test_it=module, conftest=conftest).assert_outcomes(passed=2)


def test_a_marker_or_a_scope_that_cannot_be_meant_is_refused(pytester: pytest.Pytester) -> None:
    module = """
        import pytest

        @pytest.mark.mockserver(sed=7)
        def test_setting(mockserver): ...

        @pytest.mark.mockserver(casette=True)
        def test_argument(mockserver): ...

        @pytest.mark.mockserver(stubs="stubs")
        def test_of_the_server(mockserver): ...

        @pytest.mark.mockserver(dialect=["cerebras"])
        def test_list(mockserver): ...

        @pytest.mark.mockserver(handles="maybe")
        def test_word(mockserver): ...

        @pytest.mark.mockserver(dialect="cerebra")
        def test_dialect(mockserver): ...

        @pytest.mark.mockserver(strict="perhaps")
        def test_switch(mockserver): ...

        @pytest.mark.mockserver(strict="off")
        def test_off(mockserver):
            mockserver.on(prompt="x").reply("y").once()

        @pytest.fixture(scope="module")
        def shop(mockserver): ...

        def test_shop(shop): ...
    """
    result = run(pytester, test_it=module)
    result.assert_outcomes(errors=8, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*invalid marker or option: unknown argument 'sed'. Did you mean 'seed'*",
            "*unknown argument 'casette'. Did you mean 'cassette'? Known: dialect, *, seed, *, handles, *",
            "*A namespace has no setting 'stubs'. The whole server has it: * or the fixture mockserver_settings)",
            "*unknown dialect ?'cerebras'?. Known: anthropic, cerebras, *",
            "*handles: unknown value 'maybe'*",
            "*Did you mean 'cerebras'*",
            "*'perhaps' must be true or false*",
            "ScopeMismatch: *",
            "The fixture mockserver is of one test. For several, use mockserver_server.in_namespace('a-name').",
        ]
    )


CONFIG = """
seed = 3
port = 1
latency = "slow"

[[route]]
path = "/inference/completions"
dialect = "friendli"
operation = "completions"
latency = "slow"

[[stub]]
name = "of the file"
match = { prompt = "hello" }
reply = { file = "hello.json" }

[[fault]]
kind = "error"
error = "rate_limit"
match = { prompt = "too often" }
"""
CONFIGURED = """
    import my_app, pytest

    def test_file(mockserver):
        assert my_app.ask_plainly("something else")
        with pytest.raises(RuntimeError):
            my_app.ask_plainly("too often")
        assert [view.status for view in mockserver.requests] == [200, 429, 429, 429]
        assert mockserver.requests[0].data["timing"]["ttft_due"] == 0
        assert mockserver.last.data["seed"] != 3
        assert my_app.ask_plainly("hello") == "Hello from a file."

    @pytest.mark.mockserver(fault=[])
    def test_marker(mockserver):
        assert my_app.ask_plainly("too often")
"""


def test_a_config_file_holds_in_tests_too_named_from_the_ini_file_or_from_here(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pytester.mkdir("config")
    (folder / "mock.toml").write_text(CONFIG)
    (folder / "hello.json").write_text('{"choices": [{"text": "Hello from a file."}]}')
    run(pytester, "--mockserver-config=config/mock.toml", test_it=CONFIGURED).assert_outcomes(passed=2)
    pytester.makeini("[pytest]\nmockserver_config = config/mock.toml\n")
    below = pytester.mkdir("below")
    (below / "test_below.py").write_text(
        "import pytest\n\n@pytest.fixture(scope='session')\ndef mockserver_settings():\n    return {'fault': []}\n\n"
        "def test_it(mockserver, mockserver_server):\n"
        "    assert mockserver_server.settings.fault == ()\n"
        "    assert [stub.name for stub in mockserver_server.settings.stub] == ['of the file']\n"
    )
    monkeypatch.chdir(below)
    result = pytester.runpytest_subprocess(*LEAN, "-n", "1", str(below), f"--rootdir={pytester.path}")
    result.assert_outcomes(passed=1)


def test_a_mistake_in_the_config_file_is_told_with_its_line(pytester: pytest.Pytester) -> None:
    (pytester.path / "mock.toml").write_text('seed = 1\nlatncy = "off"\n')
    result = run(pytester, "--mockserver-config=mock.toml", test_it="def test_it(mockserver): ...")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*invalid settings: *mock.toml, line 2: latncy: unknown key 'latncy'. Did you mean*"])
    result.stdout.no_fnmatch_line("*Error*")
    both = run(pytester, "--mockserver-config=mock.toml", "--mockserver-url=http://127.0.0.1:9")
    assert both.ret == pytest.ExitCode.USAGE_ERROR
    both.stderr.fnmatch_lines(
        ["*--mockserver-config cannot be combined with --mockserver-url: that server has its own config"]
    )


MARKED = """
    import os, unittest
    import anyio, my_app, pytest

    def leads_here():
        return os.environ.get("OPENAI_BASE_URL", "").startswith("http://127.0.0.1")

    class Client:
        def __init__(self):
            assert leads_here(), "made before the fixture"

    @pytest.fixture(autouse=True)
    def client():
        return Client() if any(name in os.environ["PYTEST_CURRENT_TEST"] for name in ("marked", "Marked")) else None

    @pytest.mark.mockserver(dialect="cerebras")
    def test_marked_function():
        assert os.environ["OPENAI_BASE_URL"].endswith("/cerebras/v1")

    @pytest.mark.mockserver
    @pytest.mark.anyio
    async def test_marked_coroutine(anyio_backend_name):
        await anyio.to_thread.run_sync(my_app.ask_plainly, "hello")

    @pytest.mark.mockserver(seed=7)
    class TestMarked:
        def setup_method(self):
            self.client = Client()

        def test_in_it(self, client):
            assert leads_here()

        @pytest.mark.mockserver(seed=8)
        def test_the_same_fixture_where_it_is_named(self, mockserver):
            mockserver.on().reply("One.")
            assert my_app.ask_plainly("hello") == "One."
            assert mockserver.last.data["seed"] == 8

    @pytest.mark.mockserver(seed=7)
    class MarkedCase(unittest.TestCase):
        def setUp(self):
            self.client = Client()

        def test_in_it(self):
            assert my_app.ask_plainly("hello")

    class TestWithout:
        def test_it(self):
            assert not leads_here()
"""


FAILS = """
    import my_app, pytest

    pytestmark = pytest.mark.mockserver(seed=7)

    def test_of_a_marked_module():
        my_app.ask_plainly("hello")
        assert False
"""
FAILURE = ["*- mockserver journal -*", "*cerebras completions llama3.1-8b 'hello' -> 200*"]


def test_a_marker_brings_the_fixture_before_other_fixtures_make_clients(pytester: pytest.Pytester) -> None:
    result = run(pytester, test_it=MARKED, test_fails=FAILS)
    result.assert_outcomes(passed=7, failed=1)
    result.stdout.fnmatch_lines(FAILURE)


def test_a_report_that_cannot_be_written_is_told_before_anything_runs(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--mockserver-report=/nowhere/report.json", test_it="def test_nothing(): ...")
    result.stderr.fnmatch_lines(
        ["*--mockserver-report /nowhere/report.json: the folder does not exist or is not writable*"]
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_environment_is_as_before_after_each_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEREBRAS_BASE_URL", "https://real")
    module = """
        import os

        def test_before():
            assert os.environ["CEREBRAS_BASE_URL"] == "https://real"

        def test_patched(mockserver):
            assert os.environ["CEREBRAS_BASE_URL"] == mockserver.url + "/cerebras"
            assert os.environ["QSTASH_TOKEN"] == os.environ["FRIENDLI_TOKEN"] == mockserver.api_key
            assert mockserver.namespace in mockserver.url

        def test_after():
            assert os.environ["CEREBRAS_BASE_URL"] == "https://real"
            assert "QSTASH_TOKEN" not in os.environ
    """
    run(pytester, test_it=module).assert_outcomes(passed=3)


@pytest.mark.skipif(sys.platform != "linux", reason="processes share a port on Linux alone")
def test_a_server_of_several_processes_is_refused(pytester: pytest.Pytester) -> None:
    with served("--workers", "2") as several:
        result = run(pytester, f"--mockserver-url={several.url}", test_it="def test_it(mockserver): ...")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["mockserver: --mockserver-url: *needs a server with a single process*"])


def test_who_does_not_use_it_pays_nothing(pytester: pytest.Pytester) -> None:
    module = """
        import sys

        def test_it():
            assert "mockserver.pytest_plugin" in sys.modules
            loaded = {name.split(".")[1] for name in sys.modules if name.startswith("mockserver.")}
            assert loaded == {"pytest_plugin"}
    """
    run_apart(pytester, test_it=module).assert_outcomes(passed=1)


def test_a_traceback_ends_where_the_test_has_called_us_unless_all_of_it_is_asked_for(
    pytester: pytest.Pytester,
) -> None:
    module = """
        import pytest

        @pytest.fixture
        def stubbed(mockserver):
            mockserver.next().error("ratelimit")

        def test_fixture(stubbed): ...

        def test_stub(mockserver):
            mockserver.on(lastuser="x").reply("y")

        def test_setting(mockserver):
            mockserver.settle(sed=7)

        def test_last(mockserver):
            mockserver.last

        def test_misnamed(mockserver):
            mockserver.verify.never().call(3)

        def test_matcher(mockserver):
            mockserver.verify.calls(1, model={"contains": 3})

        def test_clock(mockserver):
            mockserver.clock.advance("60")

        def test_dialect(mockserver):
            mockserver.base_url("cerebra")
    """
    result = run(pytester, "--tb=short", test_it=module)
    result.assert_outcomes(failed=7, errors=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py:5: in stubbed",
            "E   mockserver.StubError: stub.error: *unknown error 'ratelimit'. Did you mean 'rate_limit'? *",
            "test_it.py:10: in test_stub",
            "E   mockserver.StubError: stub.match: unknown field 'lastuser'. Did you mean 'last_user'? *",
            "test_it.py:13: in test_setting",
            "E   mockserver.ConfigError: A namespace has no setting 'sed'. Did you mean 'seed'? *",
            "test_it.py:16: in test_last",
            "E   LookupError: There was no request yet. *",
            "test_it.py:19: in test_misnamed",
            "E   AttributeError: Verifier: unknown attribute 'call'. Did you mean 'calls'? Known: all_matched, *",
            "test_it.py:22: in test_matcher",
            "E   mockserver.CriteriaError: match.model.contains: 3 is not a string",
            "test_it.py:25: in test_clock",
            "E   ValueError: advance: must be a number of seconds from 0 to 3.2e+09, not '60'",
            "test_it.py:28: in test_dialect",
            "E   ValueError: unknown dialect 'cerebra'. Did you mean 'cerebras'? *",
        ]
    )
    result.stdout.no_fnmatch_line("*mockserver?testing*")
    result.stdout.no_fnmatch_line("*mockserver?state*")
    result.stdout.no_fnmatch_line("*concurrent?futures*")
    run(pytester, "--full-trace", "-k", "test_stub", test_it=module).stdout.fnmatch_lines(
        ["*mockserver?state?stubs*: StubError"]
    )
