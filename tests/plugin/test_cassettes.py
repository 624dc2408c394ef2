"""Cassettes in test suites of users: a recording answers in a test, or is made by it."""

import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from mockserver import MockServer
from tests.support.suites import BODY, run, write_cassette

pytest_plugins = ("pytester",)

REPLAYED = """
    import unittest
    import anyio, my_app, pytest

    @pytest.mark.mockserver(cassette="cassettes/weather.jsonl")
    def test_marked():
        assert my_app.ask("Oslo?") == "Rain."

    @pytest.mark.mockserver(cassette="cassettes/weather.jsonl")
    @pytest.mark.anyio
    async def test_coroutine(anyio_backend_name):
        assert await anyio.to_thread.run_sync(my_app.ask, "Oslo?") == "Rain."

    @pytest.mark.mockserver(cassette="cassettes/weather.jsonl")
    class TestCase(unittest.TestCase):
        def setUp(self):
            self.first = my_app.ask_plainly("Oslo?")

        def test_it(self):
            assert (self.first, my_app.ask_plainly("Rome?")) == ("Rain.", "Sun.")

    def test_word(mockserver):
        mockserver.replay("cassettes/weather.jsonl")
        mockserver.next().error("rate_limit", retry_after=0)
        assert my_app.ask_plainly("Rome?") == "Sun."
        mockserver.verify.calls(2)

    @pytest.mark.mockserver(cassette="cassettes/weather.jsonl", unmatched="generate", pace=True)
    def test_generated(mockserver):
        assert my_app.ask_plainly("Bern?")
        assert my_app.ask_plainly("Rome?") == "Sun."

    @pytest.mark.mockserver(cassette=False)
    def test_without():
        assert my_app.ask_plainly("Bern?")
"""


def write_replayed(folder: Path) -> None:
    """Write tests of every kind into a folder, and the cassette that answers in them."""
    write_cassette(folder / "cassettes" / "weather.jsonl", ("Oslo?", "Rain."), ("Rome?", "Sun."))
    (folder / "test_replayed.py").write_text(dedent(REPLAYED))


def test_a_cassette_answers_in_tests_of_every_kind(pytester: pytest.Pytester) -> None:
    write_replayed(pytester.path / "below")
    run(pytester).assert_outcomes(passed=7)


def test_what_a_cassette_does_not_know_is_told_and_so_is_what_nobody_asked(pytester: pytest.Pytester) -> None:
    write_cassette(pytester.path / "weather.jsonl", ("Oslo?", "Rain."), ("Rome?", "Sun."))
    module = """
        import my_app, pytest

        pytestmark = pytest.mark.mockserver(cassette="weather.jsonl")

        def test_other():
            my_app.ask_plainly("Bern?")

        def test_less():
            my_app.ask_plainly("Oslo?")
    """
    result = run(pytester, test_it=module)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*stub 'weather-1':", '*$.prompt: expected "Oslo?", found "Bern?"'])
    # Other tests may ask for the rest of a cassette that is named in a marker, but not of a test's own.
    run(pytester, "--mockserver-strict", test_it=module).assert_outcomes(passed=1, failed=1)
    own = pytester.path / "cassettes" / "test_it" / "test_less.jsonl"
    write_cassette(own, ("Oslo?", "Rain."), ("Rome?", "Sun."))
    module = module.replace('"weather.jsonl"', "True")
    result = run(pytester, "--mockserver-strict", "-k", "less", test_it=module)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Expected every stub to be used, but:", "*test_less-2, for requests with *Rome*"])


def test_a_test_fails_if_what_it_asks_has_changed_since_it_was_recorded(pytester: pytest.Pytester) -> None:
    write_cassette(pytester.path / "weather.jsonl", ("Oslo?", "Rain."), ("Rome?", "Sun."))
    module = """
        import my_app, pytest

        def marked(**how):
            return pytest.mark.mockserver(cassette="weather.jsonl", **how)

        @marked()
        def test_exact():
            my_app.ask_plainly("Oslo?", temperature=1)

        @marked(volatile=["$.temperature"])
        def test_volatile():
            assert my_app.ask_plainly("Oslo?", temperature=1) == "Rain."

        @marked(match="lenient")
        def test_lenient(mockserver):
            assert my_app.ask_plainly("Oslo?", temperature=1) == "Rain."
            assert [each["field"] for each in mockserver.last.stale] == ["$.temperature"]
            assert mockserver.last.answer_headers["x-mockserver-stale"] == "$.temperature"

        @marked(match="lenient", strict=True)
        def test_strict():
            my_app.ask_plainly("Oslo?", temperature=1)

        @marked(match="fuzzy")
        def test_unknown(): ...

        @pytest.mark.mockserver(volatile=["$.seed"])
        def test_without_any(): ...
    """
    result = run(pytester, test_it=module)
    result.assert_outcomes(passed=2, failed=2, errors=2)
    result.stdout.fnmatch_lines(
        [
            "mockserver: invalid marker or option: match: unknown value 'fuzzy'*",
            "mockserver: invalid marker or option: volatile: is that of a cassette, and there is none",
            "Requests that no stub matched, with the nearest stubs:",
            "          $.temperature: expected nothing, found 1",
            "Expected no stale answers, but 1 were recorded for other requests:",
            "*-> 200 by weather-1 (stale: $.temperature), *",
            "      $.temperature: recorded nothing, found 1",
        ]
    )


def test_a_test_has_a_cassette_of_its_own_name(pytester: pytest.Pytester) -> None:
    folder = pytester.path / "cassettes" / "test_it"
    write_cassette(folder / "test_function.jsonl", ("Oslo?", "Rain."))
    write_cassette(folder / "TestClass.test_method[a-b].jsonl", ("Oslo?", "Snow."))
    request = {"method": "POST", "uri": "https://api.cerebras.ai/v1/completions", "headers": {}}
    answered = {"status": {"code": 200}, "headers": {}, "body": {"string": '{"choices": [{"text": "Sun."}]}'}}
    told = {"request": {**request, "body": json.dumps({**BODY, "prompt": "Oslo?"})}, "response": answered}
    (folder / "test_former.yaml").write_text(json.dumps({"interactions": [told], "version": 1}))
    module = """
        import my_app, pytest

        pytestmark = pytest.mark.mockserver(cassette=True)

        def test_function():
            assert my_app.ask_plainly("Oslo?") == "Rain."

        class TestClass:
            @pytest.mark.parametrize("path", ["a/b"])
            def test_method(self, path):
                assert my_app.ask_plainly("Oslo?") == "Snow."

        def test_former():
            assert my_app.ask_plainly("Oslo?") == "Sun."

        def test_silent(): ...

        def test_forgotten():
            my_app.ask_plainly("Oslo?")
    """
    result = run(pytester, test_it=module)
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["There is no cassette *cassettes/test_it/test_forgotten.jsonl. To record it: *once"])


@pytest.mark.parametrize(
    "marker, complaint",
    [
        ("cassette='weather.json'", "*cassette: *weather.json does not exist; record it with --mockserver-record=once"),
        ("cassette='my_app.py'", "*replay: *my_app.py: line 1: is not valid JSON* a cassette of vcrpy"),
        ("cassette='cut.jsonl'", "*replay: *cut.jsonl: line 1: is not valid JSON*. To record it anew: *-record=all"),
        ("cassette=7", "*cassette: 7 is not a path such as 'cassettes/weather.jsonl', and not True"),
        ("pace=True", "*pace: is that of a cassette, and there is none*"),
        ("cassette='weather.jsonl', unmatched='maybe'", "*unmatched: unknown value 'maybe'*"),
    ],
)
def test_a_cassette_that_cannot_be_meant_is_told_in_a_line(
    pytester: pytest.Pytester, marker: str, complaint: str
) -> None:
    write_cassette(pytester.path / "weather.jsonl", ("Oslo?", "Rain."))
    (pytester.path / "cut.jsonl").write_bytes((pytester.path / "weather.jsonl").read_bytes()[:100])
    module = f"import pytest\n\n@pytest.mark.mockserver({marker})\ndef test_it(): ...\n"
    result = run(pytester, test_it=module)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"mockserver: invalid marker or option: {complaint}"])
    result.stdout.no_fnmatch_line("*Traceback*")


# --- recorded -----------------------------------------------------------------------------------------------------


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[MockServer]:
    """A server in place of Cerebras, for which the user has a key."""
    monkeypatch.setenv("CEREBRAS_API_KEY", "my-own-key")
    with MockServer() as running:
        running.on(prompt="Oslo?").reply("Rain.")
        running.on(prompt="And now?").replies("Rain.", "Snow.")
        yield running


def upstream(vendor: MockServer) -> str:
    return f"--mockserver-upstream=cerebras={vendor.url}/cerebras"


def prompts(path: Path) -> list[str]:
    """The prompts that a cassette has answers to; none if there is no file."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    return [json.loads(line)["request"]["body"]["prompt"] for line in lines]


RECORDED = """
    import unittest
    import anyio, my_app, pytest

    pytestmark = pytest.mark.mockserver(cassette=True)

    def test_twice(mockserver):
        assert [my_app.ask_plainly("And now?") for _ in range(2)] == ["Rain.", "Snow."]
        mockserver.verify.calls(2, last_user="And now?")

    @pytest.mark.anyio
    async def test_coroutine(mockserver, anyio_backend_name):
        assert await anyio.to_thread.run_sync(my_app.ask_plainly, "Oslo?")
        assert [view.prompt for view in await mockserver.aio.wait_for_requests(1)] == ["Oslo?"]

    class TestCase(unittest.TestCase):
        def setUp(self):
            self.first = my_app.ask_plainly("Oslo?")

        def test_it(self):
            assert self.first == "Rain."

    def test_silent(): ...
"""


def test_a_test_is_recorded_once_with_the_users_key_and_needs_no_vendor_from_then_on(
    pytester: pytest.Pytester, vendor: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = ("--mockserver-record=once", upstream(vendor))
    result = run(pytester, *once, test_it=RECORDED)
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["mockserver: 5 exchanges recorded in 4 cassettes"])
    assert {view.headers["authorization"] for view in vendor.requests} == {"Bearer ****-key"}
    assert len(vendor.requests) == 5
    folder = pytester.path / "cassettes" / "test_it"
    names = ("TestCase.test_it", "test_coroutine[asyncio]", "test_coroutine[trio]", "test_twice")
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.jsonl" for name in names]
    monkeypatch.delenv("CEREBRAS_API_KEY")
    result = run(pytester, *once, "--mockserver-strict", test_it=RECORDED)
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["mockserver: nothing was recorded"])
    run(pytester, test_it=RECORDED).assert_outcomes(passed=5)
    assert len(vendor.requests) == 5
    assert "my-own-key" not in "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())


ASKING = """
    import my_app, pytest

    @pytest.mark.mockserver(cassette="tape.jsonl", volatile=[r"$.prompt =~ today|tomorrow"])
    def test_it():
        for prompt in {prompts}:
            my_app.ask_plainly(prompt)
        assert {fine}
"""


def test_each_mode_records_what_it_says_and_only_of_a_test_that_passes(
    pytester: pytest.Pytester, vendor: MockServer
) -> None:
    tape = pytester.path / "tape.jsonl"

    def recorded(mode: str, *asked: str, fine: bool = True) -> list[str]:
        """What the file has after a run, and then what the vendor was asked in it."""
        before = len(vendor.requests)
        arguments = (f"--mockserver-record={mode}", upstream(vendor))
        result = run(pytester, *arguments, test_it=ASKING.format(prompts=asked, fine=fine))
        result.assert_outcomes(passed=fine, failed=not fine)
        assert [path.name for path in pytester.path.glob("*.jsonl")] == ([tape.name] if tape.exists() else [])
        return [*prompts(tape), "asked", *(view.prompt or "" for view in vendor.requests[before:])]

    assert recorded("once", "a", "b", fine=False) == ["asked", "a", "b"]
    assert recorded("once", "a", "b") == ["a", "b", "asked", "a", "b"]
    assert recorded("once", "a") == ["a", "b", "asked"]
    assert recorded("none", "b") == ["a", "b", "asked"]
    assert recorded("new", "a", "c today") == ["a", "b", "c today", "asked", "c today"]
    assert recorded("new", "c tomorrow") == ["a", "b", "c today", "asked"]
    assert recorded("new", "d", fine=False) == ["a", "b", "c today", "d", "asked", "d"]
    assert recorded("all", "e", fine=False) == ["a", "b", "c today", "d", "asked", "e"]
    assert recorded("all", "a", "e") == ["a", "e", "asked", "a", "e"]


SHARED = """
    import my_app, pytest

    pytestmark = pytest.mark.mockserver(cassette="tape.jsonl")

    @pytest.mark.parametrize("prompt", ["a", "b", "c"])
    def test_it(prompt):
        assert my_app.ask_plainly(prompt)
        assert my_app.ask_plainly("shared")
"""


@pytest.mark.parametrize("mode", ["once", "new", "all"])
def test_tests_that_share_a_cassette_add_to_it_in_one_process(
    pytester: pytest.Pytester, vendor: MockServer, mode: str
) -> None:
    run(pytester, f"--mockserver-record={mode}", upstream(vendor), test_it=SHARED).assert_outcomes(passed=3)
    assert prompts(pytester.path / "tape.jsonl") == ["a", "shared", "b", "c"]
    run(pytester, "--mockserver-strict", test_it=SHARED).assert_outcomes(passed=3)


def test_tests_are_recorded_in_several_processes_unless_they_share_a_cassette(
    pytester: pytest.Pytester, vendor: MockServer
) -> None:
    once = ("--mockserver-record=once", upstream(vendor))
    result = run(pytester, *once, "-n", "2", test_it=RECORDED, test_shared=SHARED)
    result.assert_outcomes(passed=5, errors=3)
    result.stdout.fnmatch_lines(["*tape.jsonl is shared by 3 tests; record them in one process, with -n 0"])
    result.stdout.fnmatch_lines(["mockserver: 5 exchanges recorded in 4 cassettes"])
    assert len(vendor.requests) == 5


def test_what_goes_wrong_while_a_test_is_recorded_is_told(pytester: pytest.Pytester, vendor: MockServer) -> None:
    module = """
        import my_app, openai, pytest

        pytestmark = pytest.mark.mockserver(cassette=True)

        def test_stub(mockserver):
            mockserver.on().reply("Rain.")

        def test_fallback():
            with pytest.raises(openai.NotFoundError):
                openai.OpenAI(api_key="k").embeddings.create(model="m", input="x")

        @pytest.mark.mockserver(fault="reset")
        def test_fault(): ...

        @pytest.mark.mockserver(dialect="ovms")
        def test_host(): ...

        @pytest.mark.mockserver(cassette="tape.yaml")
        def test_format(): ...

        def test_assertion():
            my_app.ask_plainly("Oslo?")
            assert False
    """
    result = run(pytester, "--mockserver-record=all", upstream(vendor), test_it=module)
    result.assert_outcomes(failed=3, errors=3)
    result.stdout.fnmatch_lines(
        [
            "mockserver: invalid marker or option: The setting fault is impossible while the test is recorded*",
            "mockserver: invalid marker or option: upstream: OpenVINO Model Server has no host of its own: say where "
            "yours is, as in --mockserver-upstream ovms=http://HOST:PORT",
            "mockserver: invalid marker or option: cassette: *tape.yaml: the name of what is recorded ends in *",
            "*BackendError: A stub is impossible while the test is recorded, since the vendor itself answers. Write*",
            "Not recorded:",
            "*Say whose API the openai client is for: @pytest.mark.mockserver(dialect=...)",
            "*#1 cerebras completions llama3.1-8b 'Oslo?' -> 200, 1 event, done after*",
            "Recorded: 1 exchange, not kept, since the test has failed, in *test_assertion.jsonl",
        ]
    )
    assert not list(pytester.path.glob("cassettes/*/*"))
    result = run(pytester, "--mockserver-record=new", upstream(vendor), "-k", "format", test_it=module)
    result.stdout.fnmatch_lines(["*tape.yaml: the name of what is recorded ends in .jsonl"])


def test_an_upstream_that_does_not_answer_fails_the_test_even_if_the_application_copes(
    pytester: pytest.Pytester,
) -> None:
    module = """
        import urllib.error, urllib.request, os, pytest

        @pytest.mark.mockserver(cassette=True)
        def test_it():
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(os.environ["CEREBRAS_BASE_URL"] + "/v1/models")
    """
    pytester.makeini("[pytest]\nmockserver_record = once\nmockserver_upstream =\n    cerebras=http://127.0.0.1:9\n")
    result = run(pytester, test_it=module)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["Not recorded:", "*502 bad_gateway (http://127.0.0.1:9 did not answer: Connection *"])
    result.stdout.no_fnmatch_line("*To run it again with the same answers*")


def test_how_to_record_is_told_where_a_cassette_does_not_suffice(pytester: pytest.Pytester, vendor: MockServer) -> None:
    write_cassette(pytester.path / "tape.jsonl", ("a", "A."))
    result = run(pytester, test_it=ASKING.format(prompts=("b",), fine=True))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["To record what *tape.jsonl does not have: --mockserver-record=new*"])
    (pytester.path / "tape.jsonl").unlink()
    result = run(pytester, test_it=ASKING.format(prompts=("b",), fine=True))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*tape.jsonl does not exist; record it with --mockserver-record=once"])
    result = run(pytester, "--mockserver-record=once", test_it="def test_it(mockserver): ...")
    result.stdout.fnmatch_lines(
        ["mockserver: nothing was recorded; name the cassette of a test in its marker, as in *"]
    )
    result = run(pytester, "--mockserver-record=twice", test_it="")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mockserver-record: unknown mode 'twice'. Known: none, once, new, all"])
