"""The notation of faults: what can be written, and the errors for mistakes."""

import pytest

from mockserver.core.failures import FailureKind
from mockserver.core.matching.requests import read_criteria
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import (
    OTHER_WORDS,
    SCENARIOS,
    SYNONYMS,
    FaultError,
    read_fault,
    read_faults,
    table_of,
)
from mockserver.faults.rules import Chance, Fault, Place


def test_a_table_says_kind_settings_place_chance_and_match() -> None:
    text = """{ kind = "stall", seconds = 2, after_event = 5, times = 3, every = 2, skip = 1, share = 0.1, for = 60,
               match = { dialect = "cerebras", stream = true } }""".replace("\n", " ")
    assert read_faults(text) == (
        Fault(
            "stall",
            {"seconds": 2},
            Place(after_event=5),
            Chance(times=3, every=2, skip=1, share=0.1, seconds=60),
            read_criteria({"dialect": "cerebras", "stream": True}),
        ),
    )


@pytest.mark.parametrize("table", [
    {"kind": "stall", "seconds": 2, "after_event": 5},
    {"kind": "error", "error": "rate_limit", "message": "no", "retry_after": 0.5, "retry_after_as": "date"},
    {"kind": "error", "error": "rate_limit", "limit": "tokens", "param": "quota", "code": "used_up"},
    {"kind": "cut", "at": 0.25},
    {"kind": "status", "status": 302},
    *({"kind": kind} for kind in FAULTS),
])  # fmt: skip
def test_a_fault_is_told_as_the_table_that_it_was_read_from(table: dict[str, object]) -> None:
    assert table_of(read_fault(table)) == table


def test_what_is_told_of_a_fault_leaves_out_what_is_usual_and_whom_it_is_for() -> None:
    [fault] = read_faults('{ kind = "stall", seconds = 5.0, after_token = 0, times = 3, match = { stream = true } }')
    assert table_of(fault) == {"kind": "stall", "after_token": 0}


def test_names_alone_and_lists_are_faults_too() -> None:
    assert [fault.kind for fault in read_faults("html, crlf")] == ["html", "crlf"]
    assert [fault.kind for fault in read_faults('[{ kind = "bom" }, { kind = "cut" }]')] == ["bom", "cut"]


def test_a_table_may_be_written_in_json_too() -> None:
    assert read_faults('{"kind": "cut", "after_event": 5}') == read_faults('{ kind = "cut", after_event = 5 }')
    assert read_faults('[{"scenario": "outage"}, {"kind": "bom"}]') == read_faults("scenario:outage, bom")


def test_a_window_and_a_share_that_moves_are_said_in_the_same_table() -> None:
    [fault] = read_faults('{ kind = "html", from = 10, for = 30, share = [0, 0.5] }')
    assert fault.chance == Chance(start=10, seconds=30, share=0, share_end=0.5)


def test_a_listener_that_is_told_no_time_fails_for_five_seconds() -> None:
    assert [fault.chance for fault in read_faults("refuse, accept_nothing")] == [Chance(seconds=5.0)] * 2
    assert read_faults('{ kind = "refuse", from = 1, for = 2 }')[0].chance == Chance(start=1, seconds=2)


def test_not_found_is_another_word_for_an_unknown_model() -> None:
    [fault] = read_faults('{ kind = "error", error = "not_found" }')
    assert fault.settings["error"] == "unknown_model"


def test_a_scenario_is_as_many_faults_as_it_has_acts() -> None:
    assert read_faults("scenario:outage, crlf") == (*read_faults('{ scenario = "outage" }'), *read_faults("crlf"))
    made = read_faults('{ scenario = "slow-recovery", from = 5, for = 10, match = { dialect = "ovms" } }')
    assert [(fault.kind, fault.chance) for fault in made] == [
        ("stall", Chance(start=9, seconds=6, share=1, share_end=0)),
        ("error", Chance(start=6, seconds=3)),
        ("error", Chance(start=9, seconds=6, share=0.8, share_end=0)),
    ]
    assert {fault.match for fault in made} == {read_criteria({"dialect": "ovms"})}


def test_a_scenario_that_counts_ends_by_its_counts_or_by_the_time_that_is_told() -> None:
    [counted], [timed] = read_faults("scenario:rate-limited"), read_faults('{ scenario = "rate-limited", for = 9 }')
    assert (counted.chance, timed.chance) == (Chance(times=2), Chance(times=2, seconds=9))


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_has_an_end(name: str) -> None:
    faults = read_faults(f"scenario:{name}")
    assert faults
    whole = SCENARIOS[name].seconds
    for fault in faults:
        chance = fault.chance
        assert chance.times is not None or (chance.seconds and whole and chance.start + chance.seconds <= whole + 1e-9)


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_can_be_written_by_its_name(kind: str) -> None:
    [fault] = read_faults(kind)
    assert set(fault.settings) == set(FAULTS[kind].settings)
    assert kind not in SYNONYMS


def test_what_others_call_a_kind_is_no_name_of_ours() -> None:
    assert FAULTS.keys() >= {*SYNONYMS.values()}
    assert not SYNONYMS.keys() & {*FailureKind, *OTHER_WORDS}


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("rst", "kind: unknown fault 'rst'. Did you mean 'reset'? Known: error, status, html,"),
        ("cutt", "kind: unknown fault 'cutt'. Did you mean 'cut'?"),
        ("disconnect", "kind: unknown fault 'disconnect'. Did you mean 'close'?"),
        ("CONNECTION-RESET_BY_PEER", "Did you mean 'reset'?"),
        ("503", 'kind: 503 is a status: { kind = "status", status = 503 }. What fails has a name: malformed_json, '),
        ("{ kind = 'error', error = 429 }", 'error.error: 429 is a status: { kind = "status", status = 429 }.'),
        ('{ error = "rate_limit" }', "kind: is missing, and so is scenario. Known kinds: error, status"),
        ('{ kind = "cut", after = 5 }', "cut: unknown key 'after'. Did you mean 'after_"),
        ('{ kind = "html", after_event = 5 }', "html: unknown key 'after_event'. Known: times, every"),
        ('{ kind = "cut", after_event = "randm" }', "'randm' is not a whole number of at least 0, nor \"random\""),
        ('{ kind = "cut", after_token = "random" }', "cut.after_token: 'random' is not a whole number of at least 0"),
        ('{ kind = "cut", after_event = -1 }', "cut.after_event: -1 is not a whole number of at least 0"),
        ('{ kind = "cut", after_event = true }', "cut.after_event: True is not a whole number of at least 0"),
        ('{ kind = "cut", share = 1.5 }', "cut.share: 1.5 is not a probability from 0 to 1"),
        ('{ kind = "cut", every = 0 }', "cut.every: must be a whole number of at least 1"),
        ('{ kind = "cut", times = 0 }', "cut.times: must be a whole number of at least 1"),
        ('{ kind = "cut", match = { vendor = "x" } }', "cut.match: unknown field 'vendor'. Known: dialect, operation"),
        ('{ kind = "cut", match = 3 }', 'cut.match: must be a table, such as { dialect = "cerebras" }'),
        (
            '{ kind = "error", error = "rate_limt" }',
            "error.error: unknown error 'rate_limt'. Did you mean 'rate_limit'?",
        ),
        (
            '{ kind = "error", error = "overloaded", limit = "tokens" }',
            'error.limit: is only of error = "rate_limit", not of overloaded',
        ),
        ('{ kind = "error", retry_after_as = "hours" }', "unknown retry_after_as 'hours'. Known: seconds, ms, date"),
        ('{ kind = "status", status = 99 }', "status.status: 99 is not a status from 200 to 599"),
        ('{ kind = "status", status = 204, body = "x" }', "status.body: an answer with status 204 cannot have a body"),
        ('{ kind = "encoding", charset = "klingon" }', "encoding.charset: Python has no encoding 'klingon'"),
        ('{ kind = "split", pieces = 0 }', "split.pieces: must be a number of at least 2"),
        ('{ kind = "half_head", then = "cry" }', "half_head.then: unknown then 'cry'. Known: hang, reset, close"),
        ('{ kind = "finish", reason = "x" }', "finish.reason: unknown reason 'x'. Known: stop, length, content_filter"),
        ('{ kind = "burst", events = 1 }', "burst.events: must be a number of at least 2"),
        ('{ kind = "drip", bytes_per_second = 0 }', "drip.bytes_per_second: must be a number of at least 1"),
        (
            '{ kind = "html", share = [0, 0.5] }',
            "html.share: to move from 0 to 0.5 it needs a duration, such as for = 30",
        ),
        ('{ kind = "html", share = [0, 2], for = 9 }', "html.share: 2 is not a probability from 0 to 1, or two"),
        ('{ kind = "html", share = [0, 1, 0] }', "html.share: [0, 1, 0] is not a probability"),
        ('{ kind = "html", from = -1 }', "html.from: -1 is not a number of at least 0"),
        ('{ kind = "refuse", times = 2 }', "refuse: unknown key 'times'. Known: from, for"),
        ('{ kind = "refuse", match = {} }', "refuse: unknown key 'match'. Known: from, for"),
        ("scenario:outge", "scenario: unknown scenario 'outge'. Did you mean 'outage'? Known: rate-limited"),
        ("{ scenario = 3 }", "scenario: unknown scenario 3"),
        ('{ scenario = "outage", share = 0.1 }', "outage: unknown key 'share'. Known: from, for, match"),
        ('{ scenario = "outage", match = { modell = "x" } }', "outage.match: unknown field 'modell'. Did you mean 'mo"),
        ('{ kind = "cut"', "is not a valid TOML table"),
        ("{ kind = reset }", "is not a valid TOML table: Invalid value (at column 10); a text needs quotes"),
        ('{ kind = "finish", after_event = 1 }', "finish: unknown key 'after_event'. Did you mean 'after_token'?"),
        ('{ kind = "cut", after_event = 1, at = 2 }', "cut: can have only one place, not after_event and at"),
        ('{ kind = "stall", seconds = inf }', "stall.seconds: inf is not a number of at least 0"),
        (r'{"kind": "status", "body": "\ud800"}', r"status.body: '\ud800' contains half of a surrogate pair"),
        ('{ kind = "comment", text = "a\\nb" }', "comment.text: 'a\\nb' contains line breaks or control characters"),
        ('{ kind = "encoding", charset = "rot13" }', "encoding.charset: Python has no encoding 'rot13'"),
        ("[" * 3000, "is not a valid TOML table"),
        ("[3]", "3 is not a table such as { kind"),
        ("", "kind: unknown fault ''"),
        ("error, error=rate_limit", "'error=rate_limit' is not a name; write settings as a table such as { kind ="),
        ('{"kind": "cutt"}', "kind: unknown fault 'cutt'. Did you mean 'cut'?"),
    ],
)
def test_a_mistake_names_its_key_and_what_would_be_valid(text: str, complaint: str) -> None:
    with pytest.raises(FaultError) as raised:
        read_faults(text)
    assert complaint in str(raised.value)
