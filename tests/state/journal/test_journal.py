"""The journal of a namespace: what it keeps of exchanges, and their summaries, transcripts and archives."""

import gc
import json
import tracemalloc
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest

from mockserver.core.failures import SimulatorError
from mockserver.core.http import Call, Headers, LazyFrames, Record, TimedFrames, Timeline
from mockserver.core.installed import load_dialects
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import read_faults
from mockserver.pipeline import answer
from mockserver.routes import Routes
from mockserver.server.logs import AccessLine
from mockserver.state.journal import transcripts
from mockserver.state.journal.exchanges import Budget, Exchange, Journal
from mockserver.state.journal.transcripts import (
    ARCHIVE_BEGIN,
    ARCHIVE_END,
    Transcript,
    exact_transcript_of,
    har_entry,
    summary_of,
    transcript_of,
)
from mockserver.state.journal.views import View
from mockserver.state.namespaces import Namespace, Namespaces
from mockserver.state.settings import Settings
from tests.support.shapes import SHAPES, Shape

QUIET = Settings(latency="off", created=1_700_000_000.0)
ROUTES = Routes(load_dialects(), QUIET)


def exchange(
    journal: Journal,
    path: str = "/cerebras/v1/completions",
    wish: str = "",
    namespace: Namespace | None = None,
    **fields: Any,
) -> Exchange:
    """An exchange that nobody has played; `wish` is a fault."""
    namespace = namespace or Namespaces().get("")
    route = ROUTES.find("POST", path)
    assert route is not None
    body = json.dumps({"model": "m", "prompt": "hello", "max_tokens": 4, **fields}).encode()
    wishes = [(b"x-mockserver-fault", wish.encode())] * bool(wish)
    sent = [(b"authorization", b"Bearer secret-key-1234"), (b"content-type", b"application/json"), (b"x-mine", b"yes")]
    headers = Headers([*sent, *wishes])
    call = Call("POST", route.path, headers, body, "a=1", 1_700_000_000.0)
    return journal.open("mine", path, call, answer(call, route, QUIET, namespace))


def test_a_journal_keeps_the_latest_and_counts_all() -> None:
    journal = Journal(most=2)
    for _ in range(5):
        exchange(journal)
    assert [kept.number for kept in journal.exchanges()] == [4, 5]
    assert journal.opened == 5
    assert journal.find(3) is None


def test_the_heaviest_namespace_gives_way_when_all_together_hold_too_much() -> None:
    budget = Budget(most=40_000)
    namespaces = Namespaces(1000, budget)
    for name in ("quiet", "busy", "busy", "busy", "busy", "quiet"):
        exchange(namespaces.get(name).journal, prompt="x" * 8_000)
        namespaces.trim()
    journals = {name: namespaces.get(name).journal for name in ("quiet", "busy")}
    assert {name: [kept.number for kept in journal.exchanges()] for name, journal in journals.items()} == {
        "quiet": [1, 2],
        "busy": [4],
    }
    assert [journal.forgotten for journal in journals.values()] == [(0, 0), (3, 3)]
    for journal in journals.values():
        journal.clear()
    assert (budget.held, journals["busy"].forgotten) == (0, (0, 0))


def test_among_many_namespaces_the_heaviest_is_not_looked_for_with_each_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    slot: Any = vars(Journal)["held"]

    def held(journal: Journal) -> Any:
        looks.append(1)
        return slot.__get__(journal)

    monkeypatch.setattr(Journal, "held", property(held, slot.__set__))
    budget = Budget(most=4_000_000)
    namespaces = Namespaces(1000, budget)
    call, simulator_error = Call("GET", "/nowhere", Headers()), SimulatorError(404, "no_route", "")
    for number in range(5_000):
        namespaces.get(f"test-{number % 500}").journal.open("", "/nowhere", call, simulator_error=simulator_error)
        namespaces.trim()
        assert budget.held <= budget.most
    assert len(looks) < 500 * 700
    kept = [len(space.journal.exchanges()) for space in namespaces.all()]
    assert {*kept} <= {1, 2}


def test_a_journal_counts_what_it_has_forgotten_and_knows_what_of_it_is_still_open() -> None:
    journal = Journal(most=1)
    first, second = exchange(journal), exchange(journal)
    journal.open(
        "mine", "/nowhere", Call("GET", "/nowhere", Headers()), simulator_error=SimulatorError(404, "no_route", "")
    )
    assert (journal.opened, journal.asked, journal.forgotten) == (3, 3, (2, 2))
    [last] = journal.exchanges()
    for ended in (last, second, first):
        assert not journal.is_idle
        ended.record.closed_by = "server"
        journal.notify(ended)
    assert journal.is_idle


def test_a_denial_is_told_with_its_body_and_the_paths_nearest_to_the_request() -> None:
    simulator_error = SimulatorError(404, "no_route", "Nothing is served", ("/v1/models",))
    one = Journal().open("", "/v1/model", Call("GET", "/v1/model", Headers()), simulator_error=simulator_error)
    error = {"message": "Nothing is served", "type": "mockserver_no_route", "nearest": ["/v1/models"]}
    assert transcript_of(one)["answer"] == {
        "status": 404,
        "headers": {"content-type": "application/json"},
        "finished": True,
        "body": {"error": error},
    }


def test_an_exchange_is_found_by_its_number_however_many_there_are() -> None:
    journal = Journal(most=50)
    for _ in range(70):
        journal.open(
            "mine", "/nowhere", Call("GET", "/nowhere", Headers()), simulator_error=SimulatorError(404, "no_route", "")
        )
    looked_at = [journal.find(number) for number in range(-80, 120)]
    assert [each.number for each in looked_at if each is not None] == [*range(21, 71)]
    journal.clear()
    assert journal.find(1) is None


def test_to_ask_a_long_journal_costs_no_more_than_a_short_one() -> None:
    lengths: dict[int, float] = {}
    for length in (10, 100_000):
        journal = Journal(most=length, budget=Budget(most=10**12))
        call, simulator_error = Call("GET", "/nowhere", Headers()), SimulatorError(404, "no_route", "")
        for _ in range(length):
            exchange = journal.open("mine", "/nowhere", call, simulator_error=simulator_error)
        began = process_time()
        for _ in range(2_000):
            assert not journal.is_idle
            assert journal.find(length) is exchange
        lengths[length] = process_time() - began
    assert lengths[100_000] < 20 * lengths[10]


@pytest.mark.parametrize("alternatives", [None, 0, 5, 20])
def test_an_exchange_weighs_about_what_it_takes(alternatives: int | None) -> None:
    journal = Journal()
    fields: dict[str, Any] = {"max_tokens": 100, "min_tokens": 100, "logprobs": alternatives}
    # What all answers share is there already.
    for number in range(20):
        exchange(journal, prompt=f"{number} at first", **fields)
    gc.collect()
    tracemalloc.start()
    try:
        kept = [exchange(journal, prompt=f"{number} then", **fields) for number in range(20)]
        taken = tracemalloc.get_traced_memory()[0] / len(kept)
    finally:
        tracemalloc.stop()
    assert taken / 2 < kept[0].weight < taken * 2


def test_a_line_tells_what_was_asked_what_decided_and_how_it_went() -> None:
    one = exchange(Journal(), stream=True)
    one.record.wrote(2, 2, 0.25)
    one.record.closed_by, one.record.seconds = "client", 0.5
    line = summary_of(one)
    timing = line.pop("timing")
    assert line == {
        "number": 1,
        "namespace": "mine",
        "at": 1_700_000_000.0,
        "arrived": 0.0,
        "ahead": 0.0,
        "method": "POST",
        "path": "/cerebras/v1/completions",
        "dialect": "cerebras",
        "operation": "completions",
        "question": True,
        "edition": "documented",
        "seed": 42,
        "status": 200,
        "streamed": True,
        "model": "m",
        "prompt": "hello",
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
        "finish_reasons": [],
        "tool_calls": [],
        "planned": {
            "usage": {"prompt_tokens": 1, "completion_tokens": 4},
            "finish_reasons": ["length"],
            "tool_calls": [],
        },
        "decision": {
            "by": "generation",
            "faults": [],
            "applied_faults": [],
            "rule": None,
            "attempt": 1,
            "unmatched": False,
        },
        "outcome": {"closed_by": "client", "events_sent": 2, "tokens_sent": 2, "seconds": 0.5},
    }
    assert timing["ttft"] == 0.25


def test_the_time_to_the_first_token_leaves_out_events_before_it_that_carry_none() -> None:
    one = exchange(Journal(), stream=True)
    one.record.wrote(1, 0, 0.01)
    assert summary_of(one)["timing"]["ttft"] is None
    assert View(transcript_of(one)).ttft is None
    one.record.wrote(1, 1, 0.25)
    one.record.wrote(1, 1, 0.5)
    assert summary_of(one)["timing"]["ttft"] == 0.25
    assert View(transcript_of(one)).ttft == 0.25


def test_an_answer_without_tokens_is_as_late_as_its_first_event() -> None:
    embeddings = exchange(Journal(), "/ovms/v3/embeddings", model="bge-small", input="hello")
    refusal = exchange(Journal(), max_tokens="many")
    for one in (embeddings, refusal):
        one.record.wrote(1, 0, 0.25)
        assert View(transcript_of(one)).ttft == 0.25
    assert summary_of(embeddings)["timing"]["ttft"] == 0.25


def test_the_whole_of_an_exchange_has_every_event_with_its_due_and_its_actual_instant() -> None:
    one = exchange(Journal(), stream=True)
    one.record.wrote(2, 2, 0.25)
    whole = transcript_of(one)
    assert whole["request"]["body"]["prompt"] == "hello"
    assert [event["sent"] for event in whole["answer"]["events"][:3]] == [0.25, 0.25, None]
    assert whole["answer"]["events"][-1]["data"] == "data: [DONE]\n\n"
    json.dumps(whole)


def test_a_transcript_is_the_whole_of_an_exchange_and_tells_no_event_before_somebody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []

    def events(timeline: Timeline, record: Record) -> list[dict[str, Any]]:
        looks.append(1)
        return all_events(timeline, record)

    all_events = transcripts._events
    monkeypatch.setattr(transcripts, "_events", events)
    one = exchange(Journal(), wish='{ kind = "reset", after_event = 1 }', stream=True)
    whole = transcript_of(one)
    looks.clear()
    transcript = Transcript(one)
    assert [transcript[key] for key in whole if key not in ("request", "answer")] == [*whole.values()][:-2]
    assert (len(transcript), looks) == (len(whole), [])
    one.record.wrote(1, 1, 0.25)
    assert transcript["outcome"]["events_sent"] == 0
    assert (list(transcript), looks) == (list(whole), [])
    assert [transcript["request"], transcript["answer"]["status"]] == [whole["request"], 200]
    assert (dict(transcript).keys(), looks) == (whole.keys(), [1])


def test_the_whole_of_an_exchange_tells_each_fault_as_it_would_be_written() -> None:
    space = Namespace("")
    [limit] = read_faults('{ kind = "stall", seconds = 2, after_token = 1, times = 1, match = { prompt = "hello" } }')
    space.faults.arm("slow", limit, 0.0)
    calm = exchange(Journal(), namespace=space, stream=True, wish="crlf")
    wish = '[{ kind = "stall", seconds = 5.0 }, { kind = "error", error = "rate_limit", retry_after = 2 }]'
    harsh = exchange(Journal(), namespace=space, stream=True, wish=wish)
    assert summary_of(calm)["decision"]["faults"] == ["stall", "crlf"]
    assert transcript_of(calm)["decision"]["applied_faults"] == [
        {"by": "armed", "rule": "slow", "fault": {"kind": "stall", "seconds": 2, "after_token": 1}},
        {"by": "header", "fault": {"kind": "crlf"}},
    ]
    refusal = {"kind": "error", "error": "rate_limit", "retry_after": 2}
    assert transcript_of(harsh)["decision"]["applied_faults"] == [{"by": "header", "fault": refusal}]
    assert summary_of(harsh)["decision"]["unapplied_faults"] == ["stall"]
    assert "unapplied_faults" not in summary_of(calm)["decision"]


_REPLACING = [name for name, kind in FAULTS.items() if kind.ends]


@pytest.mark.parametrize("kind", _REPLACING)
def test_of_an_answer_that_a_fault_has_replaced_nothing_is_told(kind: str) -> None:
    one = exchange(Journal(), stream=True, wish=kind)
    line = summary_of(one)
    assert line["decision"]["faults"] == [kind]
    assert (line["model"], line["prompt"]) == ("m", "hello")
    assert {"usage", "finish_reasons", "tool_calls", "planned"}.isdisjoint(line)
    assert set(line["timing"]) == {"latency", "speed", "ttft"}
    if FAULTS[kind].places:
        later = summary_of(exchange(Journal(), stream=True, wish=f'{{ kind = "{kind}", after_event = 2 }}'))
        assert (later["usage"]["completion_tokens"], later["finish_reasons"]) == (0, [])
        assert (later["planned"]["usage"]["completion_tokens"], later["planned"]["finish_reasons"]) == (4, ["length"])


def play(one: Exchange, most: int | None = None) -> Exchange:
    """The exchange with so many of its events sent, all of them without a number."""
    assert one.plan is not None
    for run in one.plan.timeline.runs:
        for tokens in run.tokens:
            if one.record.events_sent != most:
                one.record.wrote(1, tokens, 0.1)
    one.record.closed_by = "server" if most is None else "client"
    return one


def said(line: dict[str, Any]) -> dict[str, Any]:
    return {key: line[key] for key in ("usage", "finish_reasons", "tool_calls")}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_of_a_stream_that_a_client_leaves_so_much_is_told_as_went_out(shape: Shape) -> None:
    several: dict[str, Any] = {"n": 2} if shape.many else {}
    plan = shape.stream("Tell me about tides", max_tokens=16, **several).plan

    def left(most: int | None = None) -> dict[str, Any]:
        return summary_of(play(Journal().open("", plan.context.call.path, plan.context.call, plan), most))

    whole = left()
    assert said(whole) == whole["planned"]
    events = whole["outcome"]["events_sent"]
    assert said(left(events)) == whole["planned"]
    early = left(2)
    assert early["usage"] == {**whole["usage"], "completion_tokens": early["outcome"]["tokens_sent"]}
    assert (early["finish_reasons"], early["planned"]) == ([], whole["planned"])
    ended = [len(left(most)["finish_reasons"]) for most in range(events + 1)]
    assert ended == sorted(ended)


@pytest.mark.parametrize(
    "wish, tokens, reasons",
    [
        ('{ kind = "reset", after_bytes = 40 }', 0, []),
        ("truncated", 0, []),
        ('{ kind = "reset", after_event = 1 }', 4, ["length"]),
        ("drip", 4, ["length"]),
    ],
)
def test_a_plain_answer_has_gone_out_when_all_of_it_has(wish: str, tokens: int, reasons: list[str]) -> None:
    line = summary_of(play(exchange(Journal(), wish=wish)))
    assert (line["usage"]["completion_tokens"], line["finish_reasons"]) == (tokens, reasons)


@pytest.mark.parametrize("wish", ["no_finish", '{ kind = "half_event", after_token = 4 }'])
def test_an_end_that_a_client_cannot_have_read_is_not_told(wish: str) -> None:
    line = summary_of(play(exchange(Journal(), wish=wish, stream=True)))
    assert (line["usage"]["completion_tokens"], line["finish_reasons"]) == (4, [])


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)
def test_a_stream_is_finished_once_the_event_that_its_dialect_ends_it_with_has_gone_out(shape: Shape) -> None:
    plan = shape.stream("Tell me about tides", max_tokens=16).plan

    def left(most: int) -> dict[str, Any]:
        return transcript_of(play(Journal().open("", plan.context.call.path, plan.context.call, plan), most))

    events = sum(len(run.data) for run in plan.timeline.runs)
    ends = [(whole["answer"]["finished"], bool(whole["finish_reasons"])) for whole in map(left, range(events + 1))]
    assert all(finished is ended for finished, ended in ends)
    assert {finished for finished, _ in ends} == {False, True}


def test_a_stream_that_is_left_before_its_last_token_is_not_looked_through() -> None:
    one = exchange(Journal(), stream=True)
    assert one.plan is not None

    def walked() -> Iterator[TimedFrames]:
        raise AssertionError("it may have a hundred thousand events")

    one.plan.timeline = one.plan.timeline._replace(runs=LazyFrames(walked))
    one.record.wrote(3, 3, 0.1)
    one.record.closed_by = "client"
    assert (summary_of(one)["finish_reasons"], summary_of(one)["usage"]["completion_tokens"]) == ([], 3)


def test_of_tool_calls_that_break_off_only_those_are_told_that_were_sent_whole() -> None:
    tools = [
        {"type": "function", "function": {"name": f"find_{what}", "parameters": {"type": "object"}}}
        for what in ("hotels", "flights")
    ]
    asked: dict[str, Any] = {
        "path": "/yandex/v1/chat/completions",
        "model": "gpt://folder/qwen3-235b-a22b-fp8/latest",
        "messages": [{"role": "user", "content": "Find hotels and flights"}],
        "tools": tools,
        "tool_choice": "required",
        "max_tokens": 400,
        "stream": True,
    }

    def called(wish: str, sent: int, left: bool = False) -> list[str]:
        one = exchange(Journal(), wish=wish, **asked)
        one.record.wrote(sent, sent, 0.1)
        one.record.closed_by = "client" if left else "server"
        return [call["name"] for call in summary_of(one)["tool_calls"]]

    plan = exchange(Journal(), **asked).plan
    assert plan is not None
    assert plan.generation is not None
    [choice] = plan.generation.choices
    first, second = choice.calls
    cut = '{ kind = "cut", after_token = 1 }'
    assert called(cut, len(choice.ids) + first.steps - 1) == []
    assert called(cut, len(choice.ids) + first.steps) == [first.name]
    assert called(cut, choice.steps) == [first.name, second.name]
    assert called("", 1, left=True) == []
    # What is only late, or written otherwise, is all there.
    assert called("crlf", 1) == [first.name, second.name]


def test_secrets_are_masked() -> None:
    headers = transcript_of(exchange(Journal()))["request"]["headers"]
    assert headers == {"authorization": "Bearer ****1234", "content-type": "application/json", "x-mine": "yes"}


SECRETS = {
    "Authorization": "Bearer sk-0123456789",
    "Upstash-Forward-Authorization": "Bearer sk-0123456789",
    "X-Auth-Token": "sk-0123456789",
    "Ocp-Apim-Subscription-Key": "sk-0123456789",
    "X-Amz-Security-Token": "sk-0123456789",
    "X-My-Password": "sk is 0123456789",
    "Cookie": "session=0123456789; theme=6789",
}
OPEN = {"X-RateLimit-Token": "100", "X-Max-Tokens": "4096", "Idempotency-Key": "sk-0123456789", "X-Token-Count": "12"}


def test_secrets_are_masked_by_their_names_wherever_a_request_is_told() -> None:
    headers = Headers((name.lower().encode(), value.encode()) for name, value in (SECRETS | OPEN).items())
    query = "api_key=sk%2D0123456789&max_tokens=5&token=0123456789&qstash_token=0123456789&apiKey=0123456789&a=b%20c&c"
    call = Call("POST", "/nowhere", headers, query=query)
    one = Journal().open("", "/nowhere", call, simulator_error=SimulatorError(404, "no_route", "Nothing is served"))
    request, archived = transcript_of(one)["request"], har_entry(one)["request"]
    assert request["headers"] == {
        **{name.lower(): "****6789" for name in SECRETS},
        **{name.lower(): "Bearer ****6789" for name in SECRETS if name.endswith("Authorization")},
        **{name.lower(): value for name, value in OPEN.items()},
    }
    masked = "api_key=****6789&max_tokens=5&token=****6789&qstash_token=****6789&apiKey=****6789&a=b%20c&c"
    assert request["query"] == masked
    assert archived["url"] == f"http://localhost/nowhere?{masked}"
    assert archived["queryString"][0] == {"name": "api_key", "value": "****6789"}
    assert "012345" not in json.dumps([request["query"], archived["queryString"], archived["url"]])


def test_secrets_of_paths_urls_and_bodies_are_masked_wherever_an_exchange_is_told() -> None:
    path = "/upstash/v2/publish/https://user:hidden@host/x"
    body = b'[{"destination": "https://user:hidden@host", "headers": {"X-Auth": "hidden-0123"}, "body": "hi"}]'
    headers = Headers(
        [(b"upstash-callback", b"https://user:hidden@host/cb?sig=hidden-0123"), (b"x-session-id", b"hidden")]
    )
    call = Call("POST", path, headers, body, query="key=hidden-0123")
    simulator_error = SimulatorError(404, "no_route", f"Nothing is served at {path}")
    one = Journal().open("", path, call, simulator_error=simulator_error)
    told = json.dumps([summary_of(one), exact_transcript_of(one), har_entry(one), AccessLine(one).facts])
    assert "hidden" not in told + str(AccessLine(one))
    assert transcript_of(one)["request"]["body"] == [
        {"destination": "https://****@host", "headers": {"X-Auth": "****0123"}, "body": "hi"}
    ]
    assert summary_of(one)["path"] == "/upstash/v2/publish/https://****@host/x"


def test_other_credentials_are_told_apart_though_they_are_masked() -> None:
    def credentials(token: str) -> str:
        call = Call("POST", "/nowhere", Headers([(b"cookie", token.encode())]), query=f"token={token}-9999")
        one = Journal().open("", "/nowhere", call, simulator_error=SimulatorError(404, "no_route", ""))
        return str(transcript_of(one)["request"]["credentials"])

    assert credentials("one") == credentials("one") != credentials("two")


@pytest.mark.parametrize(
    "user, is_told",
    [("1", False), ("9007199254740993", True), ('"9007199254740993"', False), ('"\\"1234567890123456"', False)],
)
def test_a_body_with_numbers_that_might_be_rounded_is_told_as_it_came_too(user: str, is_told: bool) -> None:
    body = f'{{"user":  {user}}}'.encode()
    one = Journal().open(
        "", "/", Call("POST", "/", Headers(), body), simulator_error=SimulatorError(404, "no_route", "no")
    )
    request = transcript_of(one)["request"]
    assert request["body"] == json.loads(body)
    assert request.get("body_text") == (body.decode() if is_told else None)


def test_a_plain_answer_is_told_as_json_and_as_har() -> None:
    one = exchange(Journal())
    assert transcript_of(one)["answer"]["body"]["usage"]["completion_tokens"] == 4
    [entry] = json.loads(b"".join((ARCHIVE_BEGIN, json.dumps(har_entry(one)).encode(), ARCHIVE_END)))["log"]["entries"]
    assert entry["request"]["queryString"] == [{"name": "a", "value": "1"}]
    assert entry["request"]["url"] == "http://localhost/cerebras/v1/completions?a=1"
    assert json.loads(entry["response"]["content"]["text"])["object"] == "text_completion"


def test_an_answer_of_our_own_is_told_too() -> None:
    call = Call("GET", "/nothing", Headers())
    one = Journal().open("", "/nothing", call, simulator_error=SimulatorError(404, "no_route", "Nothing is served"))
    assert transcript_of(one)["decision"] == {
        "by": "simulator_error",
        "kind": "no_route",
        "message": "Nothing is served",
        "faults": [],
        "applied_faults": [],
    }


def test_watchers_hear_of_an_exchange_until_they_stop() -> None:
    journal, heard = Journal(), list[int]()
    stop = journal.watchers.add(lambda one: heard.append(one.number))
    exchange(journal)
    stop()
    exchange(journal)
    assert heard == [1]
