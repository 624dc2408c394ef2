"""Checks in text form: which requests pass, and the problem that is reported for others."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mockserver.core.matching.values import CriteriaError
from mockserver.state.journal.exchanges import NOTHING, Forgotten
from mockserver.state.journal.views import Past, View, journal_lines, line
from mockserver.state.verify import CHECKS, Evidence, run_checks
from mockserver.state.verify.client_review import CheckError
from mockserver.state.verify.expectations import contract
from mockserver.state.verify.selection import Selection, Selector
from tests.support.journals import exchange

CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
HISTORY = [{"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": "It rains."}]
ITEMS = [
    {"type": "function_call", "call_id": "c2", "name": "get_time", "arguments": '{"zone": "CET"}'},
    {"type": "function_call_output", "call_id": "c2", "output": "Noon."},
    {"type": "function_call", "call_id": "c3", "name": "get_sun", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c3", "output": '{"rises": 7, "sets": null}'},
]
DIFFERENCE = {"field": "model", "wanted": "'x'", "found": "'m'"}
VIEWS = [
    exchange(1, 0.0, status=429, decision={"kind": "rate_limit", "rule": "limit", "faults": ["error"]}),
    exchange(2, 0.5, tool_calls=[{"name": "get_weather", "arguments": '{"city": "Oslo", "unit": "C"}'}]),
    exchange(3, 0.505, 1.0, model="n", request={"body": {"model": "n", "messages": HISTORY}}),
    exchange(4, 2.0, streamed=True, request={"body": {"model": "m", "input": ITEMS}}, outcome={"closed_by": "client"}),
    exchange(5, 3.0, decision={"kind": "invalid_request", "by": "refusal"}, status=400, usage={}),
    exchange(
        6,
        3.1,
        usage={"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 8},
        decision={"nearest": [{"name": "weather", "differences": [DIFFERENCE]}]},
    ),
    exchange(7, 3.2, question=False, operation="models", usage={}),
]
STUBS = [{"name": "limit", "match": {}, "used": 1, "most": 2}, {"name": "ok", "match": {}, "used": 4, "most": None}]


def filter_exchanges(match: Mapping[str, Any]) -> dict[int, Sequence[str]]:
    """By the model alone."""
    if match.keys() - {"model", "operation"}:
        raise CriteriaError("match: unknown field")
    return {
        view.number: [f"{name}: wanted {value}" for name, value in match.items() if view.data[name] != value]
        for view in VIEWS
    }


def evidence(views: Sequence[View] = VIEWS, forgotten: Forgotten = NOTHING) -> Evidence:
    return Evidence(Selector(lambda: Past(views, forgotten), filter_exchanges), STUBS)


EVIDENCE = evidence()

PASSING: list[dict[str, Any]] = [
    {"calls": 6},
    {"calls": {"at_least": 2, "at_most": 6}},
    {"calls": 1, "match": {"model": "n"}},
    {"calls": 1, "match": {"status": 429, "rule": "limit", "fault": "error"}},
    {"calls": 1, "match": {"operation": "models"}},
    {"never": True, "match": {"model": "o"}},
    {"spaced_at_least": 0.4, "match": {"model": "m", "status": {"one_of": [200, 429]}, "closed_by": "server"}},
    {"in_order": [{"status": 429}, {"model": "n"}, {"closed_by": "client"}]},
    {"concurrency": 2},
    {"tokens": 75},
    {"cached_tokens": 8},
    {"cost": 0.001, "prices": {"*": [1, 2]}},
    {"cost": 0.000093, "prices": {"*": [1, 2, 0]}},
    {"tool_called": "get_weather", "arguments": {"city": {"regex": "^O"}}},
    {"tool_answered": "get_weather", "result": {"contains": "rain"}},
    {"tool_answered": "get_time", "result": "Noon."},
    {"tool_answered": "get_sun", "result": {"sets": None, "rises": 7}},
    {"tool_answered": "get_sun", "result": {"contains": "rises"}},
    {"schema": {"type": "object", "required": ["model"]}},
    {"contract": True, "match": {"status": 200}},
    {"cancelled": 1},
    {"all_matched": True, "match": {"rule": "limit"}},
    {"resilience": {"handles": "raise"}, "match": {"status": 200}},
]
FAILING: list[tuple[dict[str, Any], str]] = [
    ({"calls": 3, "match": {"model": "n"}}, "Expected 3 requests with model='n', found 1.\nFound:\n  #3 cerebras"),
    ({"calls": 1, "match": {"model": "o"}}, "found 0.\nNearest others:\n  #1 cerebras completions m 'hello'"),
    ({"calls": {"at_most": 1}}, "Expected at most 1 request, found 6."),
    ({"never": True, "match": {"model": "n"}}, "Expected no request with model='n', found 1:\n  #3"),
    (
        {"spaced_at_least": 0.4},
        "Expected at least 0.4 s from each answer to the next request, but:\n  #3 came before #2",
    ),
    ({"in_order": [{"model": "n"}, {"status": 429}]}, "but no request with status=429 came after #3 (step 2)."),
    ({"concurrency": 1}, "Expected at most 1 request at once, found 2 when #3 came:\n  #2"),
    ({"tokens": 74}, "Expected at most 74 tokens, found 75. Most of them in:"),
    (
        {"cached_tokens": 9, "match": {"model": "m"}},
        "Expected at least 9 cached tokens in prompts, found 8. The first prompts:\n  #1 ",
    ),
    ({"cost": 0.00001, "prices": {"*": [1, 2]}}, "Expected a cost of at most 1e-05, found 0.0001."),
    ({"cost": 1, "prices": {"m": [1, 2]}}, "No price for n. Add it, or '*' for all other models. Given: m"),
    ({"tool_called": "get_weather", "arguments": {"city": "Rome"}}, 'found 1 call:\n  #2: get_weather({"city"'),
    ({"tool_answered": "get_weather", "result": "Sun."}, "that is 'Sun.', found 1:\n  #3: 'It rains.'"),
    ({"tool_answered": "get_sun", "result": {"rises": 8}}, """that is {'rises': 8}, found 1:\n  #4: '{"rises": 7"""),
    ({"schema": {"required": ["messages"]}, "match": {"model": "m"}}, '  #1 at $: "messages" is a required property'),
    ({"contract": True}, "Expected all requests to conform to the vendor's contract, but 1 does not:\n  #5"),
    ({"cancelled": 2}, "Expected the client to cancel 2 answers, found 1."),
    ({"all_used": True}, "Expected every stub to be used, but:\n  limit, for requests: used 1 of 2 times"),
    ({"all_matched": True}, "      stub 'weather':\n          model: expected 'x', found 'm'"),
    ({"resilience": {}}, "non_retryable_retried: a request refused with 400 was sent again, unchanged, once"),
]


@pytest.mark.parametrize("check", PASSING, ids=str)
def test_a_check_that_holds_passes(check: dict[str, Any]) -> None:
    [result] = run_checks([check], EVIDENCE)
    assert result == {"check": result["check"], "passed": True}


@pytest.mark.parametrize("check, problem", FAILING, ids=lambda value: str(value)[:60])
def test_a_check_that_does_not_hold_says_what_it_expected_and_found(check: dict[str, Any], problem: str) -> None:
    [result] = run_checks([check], EVIDENCE)
    assert not result["passed"]
    assert problem in result["problem"]


FORGETFUL = evidence(forgotten=Forgotten(exchanges=4, questions=3))
LOSS = "The journal has forgotten 3 exchanges. Keep more with --journal"

DECIDED: list[tuple[dict[str, Any], bool]] = [
    ({"calls": 9}, True),
    ({"calls": {"at_least": 2}}, True),
    ({"calls": {"at_least": 1, "at_most": 4}, "match": {"model": "n"}}, True),
    ({"calls": 1, "match": {"operation": "chat"}}, False),
    ({"calls": {"at_most": 8}}, False),
    ({"calls": 5, "match": {"model": "n"}}, False),
    ({"never": True}, False),
    ({"never": True, "match": {"model": "n"}}, False),
    ({"in_order": [{"status": 429}, {"model": "n"}]}, True),
    ({"concurrency": 1}, False),
    ({"tokens": 74}, False),
    ({"cached_tokens": 8}, True),
    ({"cost": 0.00001, "prices": {"*": [1, 2]}}, False),
    ({"spaced_at_least": 0.4}, False),
    ({"tool_called": "get_weather"}, True),
    ({"tool_answered": "get_weather"}, True),
    ({"contract": True}, False),
    ({"schema": {"required": ["messages"]}}, False),
    ({"cancelled": {"at_least": 1}}, True),
    ({"all_matched": True}, False),
    ({"all_used": True}, False),
]
UNDECIDED: list[dict[str, Any]] = [
    {"calls": 1, "match": {"model": "n"}},
    {"calls": {"at_least": 2}, "match": {"model": "n"}},
    {"calls": {"at_most": 3}, "match": {"model": "n"}},
    {"never": True, "match": {"model": "o"}},
    {"spaced_at_least": 0, "match": {"model": "o"}},
    {"in_order": [{"model": "n"}, {"status": 429}]},
    {"concurrency": 2},
    {"tokens": 75},
    {"cached_tokens": 9},
    {"cost": 0.001, "prices": {"*": [1, 2]}},
    {"tool_called": "get_weather", "arguments": {"city": "Rome"}},
    {"tool_answered": "get_weather", "result": "Sun."},
    {"schema": {"type": "object"}},
    {"contract": True, "match": {"status": 200}},
    {"cancelled": 1},
    {"all_matched": True, "match": {"rule": "limit"}},
    {"resilience": {"handles": "raise"}, "match": {"status": 200}},
]


@pytest.mark.parametrize("check, passed", DECIDED, ids=lambda value: str(value)[:60])
def test_a_check_that_what_is_kept_decides_is_decided(check: dict[str, Any], passed: bool) -> None:
    [result] = run_checks([check], FORGETFUL)
    assert result["passed"] is passed
    assert "Nobody knows" not in result.get("problem", "")


@pytest.mark.parametrize("check", UNDECIDED, ids=str)
def test_a_check_that_would_have_to_decide_over_what_is_forgotten_does_not_pass(check: dict[str, Any]) -> None:
    [result] = run_checks([check], FORGETFUL)
    assert not result["passed"]
    assert LOSS in result["problem"]
    assert "Keep more with --journal" in result["problem"]


def test_all_that_is_forgotten_counts_where_more_than_questions_are_meant() -> None:
    [result] = run_checks([{"never": True, "match": {"operation": "chat"}}], FORGETFUL)
    assert "has forgotten 4 exchanges" in result["problem"]


def test_every_check_is_tried_both_ways() -> None:
    tried = ({name for check in PASSING for name in check}, {name for check, _ in FAILING for name in check})
    assert [set(CHECKS) - names for names in tried] == [{"all_used"}, set()]


@pytest.mark.parametrize(
    "checks, words",
    [
        ({}, "must be a list of tables"),
        ([], "must be a list of tables"),
        ([3], r"checks\[0\]: must be a table"),
        ([{"cals": 3}], r"checks\[0\]: unknown check 'cals'. Did you mean 'calls'\?"),
        ([{"calls": 3, "never": True}], r"checks\[0\]: must have exactly one check"),
        ([{"calls": "three"}], "'three' is not a whole number, or a table such as"),
        ([{"tokens": "many"}], r"checks\[0\].tokens: 'many' is not a number of at least 0"),
        ([{"tokens": True}], r"checks\[0\].tokens: True is not a number of at least 0"),
        ([{"concurrency": True}], r"checks\[0\].concurrency: True is not a whole number of at least 0"),
        ([{"concurrency": 1.5}], r"checks\[0\].concurrency: 1.5 is not a whole number of at least 0"),
        ([{"cost": 1}], r"checks\[0\].cost: needs prices beside it"),
        ([{"cost": "1", "prices": {"*": [1, 2]}}], r"checks\[0\].cost: '1' is not a number of at least 0"),
        ([{"cost": 1, "prices": {"*": 1}}], r"checks\[0\].cost.prices: .* is not a table with the prices"),
        ([{"cost": 1, "prices": []}], r"checks\[0\].cost.prices: .* is not a table with the prices"),
        ([{"tool_called": 3}], r"checks\[0\].tool_called: 3 is not a name"),
        ([{"tool_called": "f", "arguments": "x"}], r"checks\[0\].tool_called.arguments: must be a table"),
        ([{"tool_answered": None}], r"checks\[0\].tool_answered: None is not a name"),
        ([{"in_order": {"turn": 1}}], r"checks\[0\].in_order: must be a list of matches"),
        ([{"in_order": [{"turn": 1}, 2]}], r"checks\[0\].in_order\[1\]: must be a table"),
        ([{"schema": None}], r"checks\[0\].schema: must be a JSON Schema; .* \{\"contract\": true\}"),
        ([{"cancelled": {"at_least": 5, "at_most": 2}}], "at_least 5 is more than at_most 2"),
        ([{"calls": {"at_least": None}}], "is not a whole number, or a table such as"),
        ([{"calls": {}}], "is not a whole number, or a table such as"),
        ([{"spaced_at_least": "long"}], "'long' is not a number of seconds of at least 0"),
        ([{"calls": 1, "match": []}], r"checks\[0\].match: must be a table"),
        ([{"calls": 1, "match": {"modl": 1}}], "unknown field"),
        ([{"calls": {"at_leest": 100}}], "is not a whole number, or a table such as"),
        ([{"calls": {"at_least": 1, "match": {"model": "n"}}}], "is not a whole number, or a table such as"),
        ([{"calls": -1}], "-1 is not a whole number, or a table such as"),
        ([{"calls": 1, "macth": {"model": "n"}}], r"unknown check 'macth'. Did you mean 'match'\?"),
        ([{"calls": 1, "prices": {}}], r"checks\[0\]: calls cannot be combined with prices"),
        ([{"never": False}], r"checks\[0\].never: must be true, or be left out"),
        ([{"contract": False}], r"checks\[0\].contract: must be true, or be left out"),
        ([{"in_order": []}], "in_order: must be a list of matches"),
        ([{"spaced_at_least": -1}], "-1 is not a number of seconds of at least 0"),
        ([{"spaced_at_least": float("nan")}], "nan is not a number of seconds of at least 0"),
        ([{"resilience": "retry"}], "resilience: 'retry' is not true or a table of handles, outcome, patience"),
        ([{"resilience": {"handels": "retry"}}], r"checks\[0\].resilience: unknown argument 'handels'"),
        ([{"resilience": {"patience": 0}}], r"checks\[0\].resilience: patience: 0 is not a number greater than 0"),
        ([{"never": True, "match": {"fault": "rest"}}], r"fault: unknown value 'rest'. Did you mean 'reset'\?"),
        ([{"never": True, "match": {"closed_by": "sever"}}], "closed_by: unknown value 'sever'"),
        (
            [{"never": True, "match": {"finish_reason": {"one_of": ["lenght"]}}}],
            "finish_reason: unknown value 'lenght'",
        ),
        ([{"never": True, "match": {"status": "200"}}], "status: '200' is not a number"),
    ],
)
def test_a_check_that_cannot_be_meant_is_refused(checks: Any, words: str) -> None:
    with pytest.raises((CheckError, CriteriaError), match=words):
        run_checks(checks, EVIDENCE)


EVIL = {"regex": "(a|aa)+$"}
HOSTILE = "a" * 5000 + "!"
ANSWERED = {"messages": [*HISTORY[:1], {"role": "tool", "tool_call_id": "c1", "content": HOSTILE}]}


@pytest.mark.parametrize(
    "view, check",
    [
        (exchange(1, 0.0, decision={"rule": HOSTILE}), {"calls": 1, "match": {"rule": EVIL}}),
        (exchange(1, 0.0, decision={"rule": HOSTILE}), {"never": True, "match": {"rule": {"not": EVIL}}}),
        (
            exchange(1, 0.0, tool_calls=[{"name": "f", "arguments": f'{{"x": "{HOSTILE}"}}'}]),
            {"tool_called": "f", "arguments": {"x": EVIL}},
        ),
        (exchange(1, 0.0, request={"body": ANSWERED}), {"tool_answered": "get_weather", "result": EVIL}),
    ],
    ids=["calls", "never", "tool_called", "tool_answered"],
)
def test_a_check_that_would_have_to_guess_is_an_error(view: View, check: dict[str, Any]) -> None:
    words = r"Cannot tell whether 'a+\.\.\.' is (not )?matching /\(a\|aa\)\+\$/: the regular expression took too long "
    with pytest.raises(CriteriaError, match=words):
        run_checks([check], evidence([view]))


def test_a_search_of_a_schema_ends_and_does_not_pass_for_a_match() -> None:
    view = exchange(1, 0.0, request={"body": {"prompt": HOSTILE}})
    patterns = {
        "(a|aa)+$": f'"{HOSTILE}" does not match'[:300],
        r"^(a|aa)+\1$": "a pattern takes too long, so this was not checked",
    }
    for pattern, problem in patterns.items():
        schema = {"properties": {"prompt": {"pattern": pattern}}}
        [result] = run_checks([{"schema": schema}], evidence([view]))
        assert (result["passed"], f"  #1 at $.prompt: {problem}" in result["problem"]) == (False, True)


@pytest.mark.parametrize(
    "schema, words",
    [
        ({"type": "text"}, 'is not a valid JSON Schema: "text" is not'),
        ({"pattern": "("}, 'is not a valid JSON Schema: "\\(" is not a "regex"'),
        ({"$ref": "http://127.0.0.1:9/none"}, "127.0.0.1:9/none is not in the schema"),
        ("{}", "is not a valid JSON Schema: it must be an object or a boolean"),
    ],
)
def test_what_is_no_schema_is_refused_and_nothing_is_fetched(schema: Any, words: str) -> None:
    with pytest.raises(CriteriaError, match=words):
        run_checks([{"schema": schema}], EVIDENCE)


def test_a_journal_has_a_line_for_each_exchange() -> None:
    assert journal_lines(VIEWS[:3]) == [
        "   0.000 s  #1 cerebras completions m 'hello' -> 429 rate_limit by limit, with fault error, 1 event, "
        "done after 0.010 s",
        "   0.500 s  #2 cerebras completions m 'hello' -> 200, calls get_weather, 1 event, done after 0.010 s "
        "(client returned after 0.490 s)",
        "   0.505 s  #3 cerebras completions n 'hello' -> 200, 1 event, done after 1.000 s "
        "(client returned after 0.000 s)",
    ]


@pytest.mark.parametrize("operation", [None, "wrong_endpoint"])
def test_what_asks_no_model_is_told_with_its_path(operation: str | None) -> None:
    lost = exchange(4, 3, operation=operation, question=operation is None, path="/v3/v3/completions", model=None)
    assert line(lost).startswith("#4 cerebras POST /v3/v3/completions ")


def test_a_breach_of_the_contract_is_told_in_the_vendors_words() -> None:
    body = {"error": {"message": "temperature: 9 is too much"}}
    broken = exchange(1, 0, status=400, answer={"body": body}, decision={"kind": "invalid_request"})
    assert '-> 400 invalid_request ({"error":{"message":"temperature: 9 is too much"}}), ' in line(broken)
    assert "temperature: 9 is too much" in str(contract(Selection([broken])))
    hinted = {"headers": {"x-mockserver-hint": "/v1 is openai's"}, "body": body}
    bare = exchange(1, 0, status=400, answer=hinted, decision={"kind": "invalid_request"})
    assert """temperature: 9 is too much"}}; /v1 is openai's), """ in line(bare)
    limited = exchange(1, 0, status=429, answer={"body": body}, decision={"kind": "rate_limit"})
    assert "temperature" not in line(limited)
