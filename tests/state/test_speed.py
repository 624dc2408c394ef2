"""The setting `speed`: every latency so many times as fast, and nothing else."""

from typing import Any

import pytest

from mockserver.core.installed import load_dialects
from mockserver.latency.parse_latency import preset_profile
from mockserver.state.journal.transcripts import summary_of
from mockserver.state.namespaces import Namespace
from mockserver.state.plan import Plan
from mockserver.state.settings import RouteSettings, Settings
from mockserver.state.settings.checks import read_namespace_settings
from mockserver.state.settings.options import settle
from mockserver.state.stubs.parse_stubs import read_stub
from tests.support.asking import ask

ROUTES = (RouteSettings("/mine", "cerebras", "completions", latency="slow"),)


def asked(
    settings: Settings,
    *,
    dialect: str = "cerebras",
    path: str | None = None,
    wish: str = "",
    now: float = 0.0,
    space: Namespace | None = None,
    stub: dict[str, Any] | None = None,
) -> Plan:
    """The plan of ten tokens asked for at an instant; `wish` is the latency that the request's own header says."""
    here = space or Namespace("")
    if stub is not None:
        here.stubs.add(read_stub(stub))
    body = {"model": "llama3.1-8b", "prompt": "hello", "max_tokens": 10, "min_tokens": 10, "stream": True}
    headers = {"x-mockserver-latency": wish}
    return ask(dialect, body, path=path, headers=headers, settings=settings, namespace=here, now=now).plan


def schedule(plan: Plan) -> tuple[float, ...]:
    assert plan.pace is not None
    return tuple(plan.pace.schedule)


@pytest.mark.parametrize(
    "latency, wished",
    [
        ("realistic", {}),
        ("realistic", {"dialect": "ovms"}),
        ("flaky-wifi", {}),
        ("realistic", {"path": "/mine"}),
        ("off", {"wish": "realistic, jitter=0.5"}),
        ("off", {"wish": "ttft=1s, speed=2"}),
        ("off", {"stub": {"latency": "slow"}}),
    ],
)
def test_all_times_of_whatever_latency_holds_are_divided(latency: str, wished: dict[str, Any]) -> None:
    routes = ROUTES if "path" in wished else ()
    usual, faster = (asked(Settings(latency=latency, speed=speed, routes=routes), **wished) for speed in (1, 10))
    assert usual.pace is not None
    assert faster.pace is not None
    assert schedule(usual)[-1] > 0
    assert schedule(faster) == pytest.approx([instant / 10 for instant in schedule(usual)])
    parts = (usual.pace.queue, usual.pace.prefill, usual.pace.decode)
    assert (faster.pace.queue, faster.pace.prefill, faster.pace.decode) == pytest.approx([part / 10 for part in parts])
    assert [run.tokens for run in faster.timeline.runs] == [run.tokens for run in usual.timeline.runs]


def test_at_speed_one_the_profile_is_the_very_preset_and_off_stays_off() -> None:
    assert asked(Settings(latency="slow")).context.profile is preset_profile("slow")
    assert asked(Settings(latency="off", speed=10)).pace == asked(Settings(latency="off")).pace


def test_a_speed_of_its_own_is_beside_the_one_of_all() -> None:
    profile = asked(Settings(latency="slow, speed=4", speed=0.5)).context.profile
    assert profile is not None
    assert profile.speed == 2


def test_a_load_that_comes_ten_times_as_fast_finds_the_same_engine() -> None:
    busy = "ttft=1s, itl=normal(100ms, 30ms), slots=2, waiting=3, slowdown=3, interference=0.4"
    stories = []
    for speed in (1, 10):
        space = Namespace("")
        plans = [
            asked(Settings(latency=busy, speed=speed), now=number * 0.3 / speed, space=space) for number in range(12)
        ]
        turns = [(plan.slot.grant.position, plan.slot.grant.wait * speed) if plan.slot else (-1, 0) for plan in plans]
        ends = [schedule(plan)[-1] * speed if plan.slot else 0 for plan in plans]
        stories.append([(*turn, end) for turn, end in zip(turns, ends, strict=True)])
    places = [place for place, _, _ in stories[0]]
    assert (min(places), max(places)) == (-1, 3)
    assert stories[1] == [pytest.approx(each) for each in stories[0]]


def test_what_says_its_own_seconds_keeps_to_them() -> None:
    stub = {"reply": {"chunks": ["It ", {"text": "rains.", "delay": "3s"}]}}
    plan = asked(Settings(latency="ttft=1s, itl=0", speed=10), stub=stub)
    due = sorted({instant for run in plan.timeline.runs for instant in run.due})
    assert due == pytest.approx([0.1, 3.1])


def test_a_namespace_has_a_speed_of_its_own() -> None:
    settings = settle({"latency": "slow"}, read_namespace_settings({"speed": "10"}, load_dialects()))
    assert schedule(asked(settings)) == pytest.approx([each / 10 for each in schedule(asked(Settings(latency="slow")))])


def test_the_journal_tells_the_latency_in_force_and_the_speed() -> None:
    space = Namespace("")
    asked(Settings(speed=10), wish="slow, itl=1s", space=space)
    timing = summary_of(space.journal.exchanges()[-1])["timing"]
    assert (timing["latency"], timing["speed"], timing["ttft_due"]) == ("slow, itl=1s", 10, pytest.approx(0.15))
