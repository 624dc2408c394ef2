"""Cassettes in test suites of users: a recording answers in a test, or is made by it."""

import json
from textwrap import dedent

import pytest

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


@pytest.mark.parametrize("arguments", [(), ("-n", "2")])
def test_a_cassette_answers_in_tests_of_every_kind(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    write_cassette(pytester.path / "below" / "cassettes" / "weather.jsonl", ("Oslo?", "Rain."), ("Rome?", "Sun."))
    (pytester.path / "below" / "test_it.py").write_text(dedent(REPLAYED))
    run(pytester, *arguments).assert_outcomes(passed=7)


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
    result.stdout.fnmatch_lines(["*stub 'weather-1':", "*last_user: expected 'Oslo?', found 'Bern?'"])
    result = run(pytester, "--mockserver-strict", test_it=module)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["Expected every stub to be used, but:", "*weather-2, for requests with *Rome*"])


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
    result.stdout.fnmatch_lines(["There is no cassette *cassettes/test_it/test_forgotten.jsonl*"])


@pytest.mark.parametrize(
    "marker, complaint",
    [
        ("cassette='weather.json'", "*replay: *weather.json: No such file or directory*"),
        ("cassette='my_app.py'", "*replay: *my_app.py: line 1: is not valid JSON*"),
        ("cassette=7", "*cassette: 7 is not a path such as 'cassettes/weather.jsonl', and not True"),
        ("pace=True", "*pace: is that of a cassette, and there is none*"),
        ("cassette='weather.jsonl', unmatched='maybe'", "*unmatched: unknown value 'maybe'*"),
    ],
)
def test_a_cassette_that_cannot_be_meant_is_told_in_a_line(
    pytester: pytest.Pytester, marker: str, complaint: str
) -> None:
    write_cassette(pytester.path / "weather.jsonl", ("Oslo?", "Rain."))
    module = f"import pytest\n\n@pytest.mark.mockserver({marker})\ndef test_it(): ...\n"
    result = run(pytester, test_it=module)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"mockserver: invalid marker or option: {complaint}"])
    result.stdout.no_fnmatch_line("*Traceback*")
