"""Faults in words: what can be written, and what a mistake is told."""

import pytest

from mockserver.faults.catalogue import FAULTS
from mockserver.faults.notation import FaultError, read_faults
from mockserver.faults.rules import Chance, Fault, Match, Place


def test_a_table_says_kind_settings_place_chance_and_match() -> None:
    text = """{ kind = "stall", seconds = 2, after_event = 5, times = 3, every = 2, skip = 1, share = 0.1, for = 60,
               match = { dialect = "cerebras", stream = true } }""".replace("\n", " ")
    assert read_faults(text) == (
        Fault(
            "stall",
            {"seconds": 2},
            Place(after_event=5),
            Chance(times=3, every=2, skip=1, share=0.1, seconds=60),
            Match(dialect="cerebras", stream=True),
        ),
    )


def test_names_alone_and_lists_are_faults_too() -> None:
    assert [fault.kind for fault in read_faults("html, crlf")] == ["html", "crlf"]
    assert [fault.kind for fault in read_faults('[{ kind = "bom" }, { kind = "cut" }]')] == ["bom", "cut"]


@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind_can_be_written_by_its_name(kind: str) -> None:
    [fault] = read_faults(kind)
    assert set(fault.settings) == set(FAULTS[kind].settings)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("rst", "kind: unknown fault 'rst'. Did you mean 'reset'? Known: error, status, html,"),
        ("cutt", "kind: unknown fault 'cutt'. Did you mean 'cut'?"),
        ('{ kind = "cut", after = 5 }', "cut: unknown key 'after'. Did you mean 'after_"),
        ('{ kind = "html", after_event = 5 }', "html: unknown key 'after_event'. Known: times, every"),
        ('{ kind = "cut", after_event = -1 }', "cut.after_event: -1 is no whole number from 0 on"),
        ('{ kind = "cut", after_event = true }', "cut.after_event: True is no whole number from 0 on"),
        ('{ kind = "cut", share = 1.5 }', "cut.share: 1.5 is no probability from 0 to 1"),
        ('{ kind = "cut", every = 0 }', "cut.every: is a whole number from 1 on"),
        ('{ kind = "cut", match = { vendor = "x" } }', "cut.match: unknown key 'vendor'. Known: dialect, operation"),
        ('{ kind = "cut", match = 3 }', 'cut.match: is a table, such as { dialect = "cerebras" }'),
        (
            '{ kind = "error", error = "rate_limt" }',
            "error.error: unknown failure 'rate_limt'. Did you mean 'rate_limit'?",
        ),
        ('{ kind = "error", retry_after_as = "hours" }', "error.retry_after_as: is seconds, ms or date"),
        ('{ kind = "status", status = 99 }', "status.status: 99 is no status from 200 to 599"),
        ('{ kind = "status", status = 204, body = "x" }', "status.body: an answer of status 204 has none"),
        ('{ kind = "encoding", name = "klingon" }', "encoding.name: Python knows no encoding 'klingon'"),
        ('{ kind = "split", pieces = 0 }', "split.pieces: is a number from 1 on"),
        ('{ kind = "cut"', "is no TOML table"),
        ('{ kind = "finish", after_event = 1 }', "finish: unknown key 'after_event'. Did you mean 'after_token'?"),
        ('{ kind = "cut", after_event = 1, at = 2 }', "cut: strikes in one place: after_event, at are too many"),
        ('{ kind = "stall", seconds = inf }', "stall.seconds: inf is no number from 0 on"),
        ('{ kind = "comment", text = "a\\nb" }', "comment.text: 'a\\nb' holds more than one line"),
        ('{ kind = "encoding", name = "rot13" }', "encoding.name: Python knows no encoding 'rot13'"),
        ("[" * 3000, "is no TOML table"),
        ("[3]", "3 is no table, such as { kind"),
        ("", "kind: unknown fault ''"),
    ],
)
def test_a_mistake_names_its_key_and_what_would_be_valid(text: str, complaint: str) -> None:
    with pytest.raises(FaultError) as raised:
        read_faults(text)
    assert complaint in str(raised.value)
