"""Which requests trigger faults: by match, by count, by share, in every dialect's own words."""

import json
from typing import Any

import pytest

from mockserver.core.failures import FailureKind
from mockserver.core.http import Call, Headers
from mockserver.core.installed import load_dialects
from mockserver.core.regexes import renew_time_budget
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import read_faults
from mockserver.pipeline import parse
from mockserver.routes import Routes
from mockserver.state.context import HeaderError, make_context
from mockserver.state.fault_rules import FaultRules
from mockserver.state.namespaces import Namespace, Namespaces
from mockserver.state.plan import Plan, RuleCount, refund_counts
from mockserver.state.settings import Settings
from tests.support.asking import ask
from tests.support.shapes import SHAPES, Shape

every_shape = pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.id)


ROUTES = Routes(load_dialects(), Settings())


def question(prompt: str = "hello", settings: Settings | None = None, **fields: Any) -> Plan:
    body = json.dumps({"model": "m", "prompt": prompt, **fields}).encode()
    headers = Headers([(b"authorization", b"Bearer key-1"), (b"x-tenant", b"blue")])
    settings = settings or Settings(latency="off")
    route = ROUTES.find("POST", "/cerebras/v1/completions")
    assert route is not None
    return parse(make_context(Call("POST", route.path, headers, body, "tag=a%20b&tag=b&empty="), route, settings))


def triggers(text: str, count: int, *, now: float = 0.0, **fields: Any) -> list[bool]:
    """Which of so many requests trigger the faults of a text."""
    settings = Settings(latency="off", fault=read_faults(text))
    rules = FaultRules()
    return [bool(rules.pick(question(f"p{n}", settings, **fields), now)) for n in range(count)]


def test_times_every_and_skip_count_the_requests_that_match() -> None:
    assert triggers('{ kind = "html", times = 2 }', 4) == [True, True, False, False]
    assert triggers('{ kind = "html", every = 3 }', 7) == [True, False, False, True, False, False, True]
    assert triggers('{ kind = "html", skip = 2, times = 1 }', 5) == [False, False, True, False, False]
    assert triggers('{ kind = "html", times = 1, match = { prompt = "p2" } }', 4) == [False, False, True, False]


def test_a_request_of_which_nobody_knows_whether_it_matches_is_neither_hit_nor_counted() -> None:
    slow = "{ regex = '(a|aa)+$' }"
    rule = "{ kind = 'html', %s, match = { %s } }"
    hostile = "a" * 5000 + "!"
    for match in (f"prompt = {slow}", f"not = {{ prompt = {slow} }}"):
        for chance in ("times = 1", "every = 1", "share = 1.0"):
            rules = FaultRules()
            [fault] = read_faults(rule % (chance, match))
            rules.arm("slow", fault, 0.0)
            asked = (hostile, "a" if match.startswith("prompt") else "b", hostile)
            picked = []
            for prompt in asked:
                renew_time_budget()
                picked.append(bool(rules.pick(question(prompt), 1.0)))
            assert picked == [False, True, False]
            assert rules.armed["slow"].seen == RuleCount(matched=1, applied=1, undecided=2)
    [over] = read_faults(rule % ("for = 1", f"prompt = {slow}"))
    rules.arm("over", over, 0.0)
    renew_time_budget()
    rules.pick(question(hostile), 2.0)
    assert rules.armed["over"].seen == RuleCount()


def test_namespaces_count_for_themselves() -> None:
    settings = Settings(latency="off", fault=read_faults('{ kind = "html", times = 1 }'))
    namespaces = Namespaces()
    asked = (namespaces.get(name) for name in ("one", "two", "one", "two"))
    picked = [bool(namespace.faults.pick(question("a", settings), 0.0)) for namespace in asked]
    assert picked == [True, True, False, False]


def test_a_rule_ends_with_its_time() -> None:
    assert triggers('{ kind = "html", for = 60 }', 1, now=59.0) == [True]
    assert triggers('{ kind = "html", for = 60 }', 1, now=61.0) == [False]


def test_a_share_hits_as_many_and_the_same_in_any_order() -> None:
    settings = Settings(latency="off", fault=read_faults('{ kind = "html", share = 0.1 }'))
    asked = list(enumerate(question(f"prompt {number}", settings) for number in range(600)))

    def faulted(order: list[tuple[int, Plan]]) -> set[int]:
        rules = FaultRules()
        return {number for number, plan in order if rules.pick(plan, 0.0)}

    forward = faulted(asked)
    assert 0.07 * 600 <= len(forward) <= 0.13 * 600
    assert faulted(asked[::-1]) == forward


def test_a_share_of_one_repeated_request_is_hit_and_the_same_again_in_another_namespace() -> None:
    settings = Settings(latency="off", fault=read_faults('{ kind = "html", share = 0.3 }'))

    def faulted(prompt: str) -> list[bool]:
        rules, asked = FaultRules(), question(prompt, settings)
        return [bool(rules.pick(asked, 0.0)) for _ in range(500)]

    assert 0.25 * 500 <= sum(faulted("hello")) <= 0.35 * 500
    assert faulted("hello") == faulted("hello") != faulted("good bye")


def test_a_rule_forgets_how_often_the_oldest_requests_have_come() -> None:
    count = RuleCount()
    assert [count.times_seen(1) for _ in range(3)] == [1, 2, 3]
    for request in range(2, 2 + 4095):
        assert count.times_seen(request) == 1
    assert count.times_seen(1) == 4
    for request in range(2, 2 + 4095):
        assert count.times_seen(request) == 2
    assert (count.times_seen(5000), count.times_seen(1)) == (1, 1)


def test_a_share_is_drawn_anew_for_each_retry_so_that_one_gets_through() -> None:
    settings = Settings(latency="off", fault=read_faults('{ kind = "error", share = 0.5 }'))

    def failures(prompt: str) -> int:
        """How often a prompt fails before its answer comes."""
        here, body = Namespace("here"), {"model": "m", "prompt": prompt, "max_tokens": 1}
        statuses = (ask("cerebras", body, settings=settings, namespace=here).status for _ in range(40))
        return next(number for number, status in enumerate(statuses) if status == 200)

    prompts = [f"prompt {number}" for number in range(200)]
    tried = [failures(prompt) for prompt in prompts]
    assert 80 <= tried.count(0) <= 120
    assert 35 <= tried.count(1) <= 65
    assert [failures(prompt) for prompt in prompts[::-1]] == tried[::-1]


def test_a_share_is_drawn_anew_for_retries_of_what_asks_no_model_too() -> None:
    def statuses(seed: int) -> list[int]:
        settings = Settings(latency="off", seed=seed, fault=read_faults('{ kind = "error", share = 0.5 }'))
        here = Namespace("here")
        asked = (ask("cerebras", path="/v1/models", settings=settings, namespace=here) for _ in range(40))
        return [answer.status for answer in asked]

    first = [statuses(seed).index(200) for seed in range(40)]
    assert 12 <= first.count(0) <= 28
    assert 5 <= first.count(1) <= 15


@pytest.mark.parametrize(
    "match, fits",
    [
        ('dialect = "cerebras"', True),
        ('dialect = "ovms"', False),
        ('operation = "completions", model = "m", stream = false', True),
        ("stream = true", False),
        ('path = "/v1/completions"', True),
        ('path = "/v1/other"', False),
        ('key = "key-1"', True),
        ('key = "key-2"', False),
        ('header = "x-tenant"', True),
        ('header = "X-Tenant: blue"', True),
        ('header = "X-Tenant: red"', False),
        ('prompt = "p0"', True),
        ('prompt = "p1"', False),
        ('prompt = { regex = "^p[0-9]$" }, body = { "$.model" = "m" }', True),
        ('any = [ { model = "x" }, { last_user = { contains = "p" } } ], not = { stream = true }', True),
        ("turn = { at_least = 2 }", False),
        ('headers = { x-tenant = { one_of = ["red", "green"] } }', False),
        ('query = { tag = "a b", empty = "", none = { exists = false } }', True),
        ('query = { tag = "b" }', True),
        ('query = { tag = "c" }', False),
    ],
)
def test_a_rule_hits_only_what_it_is_meant_for(match: str, fits: bool) -> None:
    assert triggers(f'{{ kind = "html", match = {{ {match} }} }}', 1) == [fits]


def test_a_rule_for_streams_leaves_plain_answers_alone_but_a_wish_for_one_is_told() -> None:
    assert triggers("cut", 1) == [False]
    assert triggers("cut", 1, stream=True) == [True]
    with pytest.raises(HeaderError, match="'cut' needs a stream, but this request does not ask for one"):
        SHAPES[0].plain("hi", fault="cut")


@every_shape
@pytest.mark.parametrize("fault", ["cut", "refusal"])
def test_a_wish_for_an_answer_to_what_is_refused_tells_why_it_is_refused(shape: Shape, fault: str) -> None:
    refused = f"{fault!r} needs an answer of the model, but this request is refused: .*temperature"
    with pytest.raises(HeaderError, match=refused):
        shape.stream("hi", fault=fault, temperature="warm")


def test_a_wish_for_an_answer_where_no_model_answers_says_what_it_hits() -> None:
    with pytest.raises(HeaderError, match="'refusal' changes what a model says, but this request does not ask a model"):
        ask("cerebras", None, path="/v1/models", method="GET", headers={"x-mockserver-fault": "refusal"})


@every_shape
def test_every_failure_can_be_had_in_every_vendors_words(shape: Shape) -> None:
    for kind in FailureKind:
        answer = shape.plain("hi", fault=f'{{ kind = "error", error = "{kind}", retry_after = 2 }}')
        assert (kind, answer.plan.faults) == (kind, ("error",))
        row = answer.plan.context.route.dialect.error(answer.plan.context.scope.edition, kind)
        assert (kind, answer.status, answer.headers["retry-after"]) == (kind, row.status, "2")


@every_shape
def test_every_placed_fault_hits_every_dialects_streams_after_two_events(shape: Shape) -> None:
    whole = shape.stream("Tell me about tides", max_tokens=40)
    events = [event for run in whole.plan.timeline.runs for event in run.data]
    kinds = [name for name, kind in FAULTS.items() if kind.places and kind.says is None]
    assert kinds
    for kind in kinds:
        faulted = shape.stream("Tell me about tides", max_tokens=40, fault=f'{{ kind = "{kind}", after_event = 2 }}')
        assert faulted.plan.faults == (kind,)
        assert faulted.body.startswith(b"".join(events[:2])), kind
        assert faulted.body != whole.body or kind == "stall", kind


@every_shape
@pytest.mark.parametrize(
    "fault", ['{ kind = "finish", after_token = 3 }', "silence", '{ kind = "repeat", after_token = 2 }']
)
def test_what_the_model_says_otherwise_is_the_same_plain_and_streamed(shape: Shape, fault: str) -> None:
    plain, stream = (ask("Tell me about tides", fault=fault) for ask in (shape.plain, shape.stream))
    assert shape.text(plain) == shape.text(stream) != shape.text(shape.plain("Tell me about tides"))
    assert shape.usage(stream) == (shape.usage(plain) if shape.stream_usage else None)


def test_a_failing_stream_says_so_in_the_vendors_shape() -> None:
    said = {}
    for shape in SHAPES:
        answer = shape.stream("hi", fault='{ kind = "error_event", after_event = 1 }')
        *_, last = [event for run in answer.plan.timeline.runs for event in run.data]
        said[shape.id] = last
    error = {
        "message": "Encountered a server error, please try again.",
        "type": "server_error",
        "param": "",
        "code": "",
    }
    captured = {"status_code": 500, "error": error | {"id": ""}}
    assert json.loads(said["cerebras"].removeprefix(b"data: ")) == captured
    assert said["cerebras-observed"] == said["cerebras"]
    broken = (
        "Mediapipe execution failed. MP status - INTERNAL: CalculatorGraph::Run() failed: \n"
        'Calculator::Process() for node "LLMExecutor" failed: Response generation failed'
    )
    assert json.loads(said["ovms"]) == {"error": broken}
    assert json.loads(said["yandex-d2"].removeprefix(b"data: "))["error"]["type"] == "server_error"
    assert json.loads(said["upstash"].removeprefix(b"data: "))["error"]


def test_a_models_list_is_hit_like_any_answer_but_no_model_speaks_in_it() -> None:
    def models(fault: str) -> int:
        return ask("cerebras", path="/v1/models", headers={"x-mockserver-fault": fault}).status

    assert models('{ kind = "error", error = "overloaded" }') == 429
    with pytest.raises(HeaderError, match="'silence' changes what a model says, but this request does not ask a model"):
        models("silence")
    with pytest.raises(HeaderError, match="are only possible in the faults of settings and of the admin API"):
        models('{ kind = "html", times = 2 }')


def test_a_crowd_of_namespaces_does_not_make_a_rule_forget_the_one_in_use() -> None:
    settings = Settings(latency="off", fault=read_faults('{ kind = "html", times = 1 }'))
    namespaces = Namespaces()
    asked = question("a", settings)
    assert namespaces.get("mine").faults.pick(asked, 0.0)
    for number in range(5000):
        namespaces.get(f"other {number}").faults.pick(asked, 0.0)
        if number % 1000 == 0:
            assert not namespaces.get("mine").faults.pick(asked, 0.0)
    assert not namespaces.get("mine").faults.pick(asked, 0.0)


def test_an_armed_rule_counts_apart_from_one_of_the_settings() -> None:
    settings = Settings(latency="off", fault=read_faults('{ kind = "html", times = 1 }'))
    rules = FaultRules()
    [fault] = read_faults('{ kind = "empty", times = 1 }')
    rules.arm("settings 0", fault, 0.0)
    picked = [[each.fault.kind for each in rules.pick(question("a", settings), 0.0)] for _ in range(2)]
    assert picked == [["html", "empty"], []]


PLACED = [kind for kind in FAULTS if "after_event" in FAULTS[kind].places]


@pytest.mark.parametrize("kind", PLACED)
def test_a_random_place_is_within_the_answer_and_another_for_each_request_and_each_attempt(kind: str) -> None:
    fault = f'{{ kind = "{kind}", after_event = "random" }}'
    settings, here = Settings(created=1e9, latency="off", fault=read_faults(fault)), Namespace("")

    def drawn(prompt: str, *, stream: bool = True, space: Namespace = here) -> int:
        body = {"model": "m", "prompt": prompt, "max_tokens": 20, "stream": stream}
        [applied] = ask("cerebras", body, settings=settings, namespace=space).plan.applied
        place = applied.fault.place.after_event
        assert isinstance(place, int)
        return place

    events = len(ask("cerebras", {"model": "m", "prompt": "0", "max_tokens": 20, "stream": True}).events())
    places = [drawn(f"{number}") for number in range(40)]
    assert places == [drawn(f"{number}", space=Namespace("again")) for number in range(40)]
    assert (len({*places}) > 5, min(places) > 0, max(places) < events) == (True, True, True)
    if FAULTS[kind].harm == "truncates":
        assert len({drawn("0") for _ in range(10)}) > 2
    if not FAULTS[kind].streams:
        assert drawn("0", stream=False) == 0


@pytest.mark.parametrize("kind", [*(kind for kind, it in FAULTS.items() if it.within), "finish", "repeat"])
def test_a_fault_whose_place_is_beyond_the_end_changes_nothing_and_is_not_noted(kind: str) -> None:
    body = {"model": "m", "prompt": "hello", "max_tokens": 8, "stream": True}
    plain = ask("cerebras", body)
    faulted = ask("cerebras", body, headers={"x-mockserver-fault": f'{{ kind = "{kind}", after_token = 900 }}'})
    assert (faulted.body, faulted.plan.faults) == (plain.body, ())


_TOOL = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}
_CHAT = {"model": "gpt://folder/yandexgpt/latest", "messages": [{"role": "user", "content": "hi"}], "tools": [_TOOL]}
_CALLS_NONE, _CALLS = {**_CHAT, "tool_choice": "none"}, {**_CHAT, "tool_choice": "required"}
_SHORT = {"model": "m", "prompt": "hello", "max_tokens": 5, "stream": True}
_NONE_AFTER = '{ kind = "cut", after_event = 50, times = 1 }'


@pytest.mark.parametrize(
    "fault, dialect, spared, faulted",
    [
        ('{ kind = "broken_tool_call", times = 1 }', "yandex", _CALLS_NONE, _CALLS),
        (_NONE_AFTER, "cerebras", _SHORT, {**_SHORT, "max_tokens": 90, "min_tokens": 90}),
        ('{ kind = "no_usage", times = 1 }', "friendli", _SHORT, {**_SHORT, "stream_options": {"include_usage": True}}),
        ('{ kind = "swap", after_event = 7, times = 1 }', "cerebras", _SHORT, {**_SHORT, "max_tokens": 9}),
        ('{ kind = "repeat", after_token = 5, times = 1 }', "cerebras", _SHORT, {**_SHORT, "max_tokens": 9}),
    ],
)
def test_a_fault_that_changes_nothing_is_kept_for_an_answer_that_it_can_change(
    fault: str, dialect: str, spared: dict[str, Any], faulted: dict[str, Any]
) -> None:
    space = Namespace("")
    [rule] = read_faults(fault)
    space.faults.arm("late", rule, 0.0)
    path = "/serverless/v1/completions" if dialect == "friendli" else None
    asked = [spared, spared, faulted, faulted]
    plans = [ask(dialect, body, path=path, namespace=space).plan for body in asked]
    assert [plan.faults for plan in plans] == [(), (), (rule.kind,), ()]
    assert space.faults.armed["late"].seen == RuleCount(matched=4, applied=1)


def test_of_faults_that_undo_one_another_only_those_count_that_can_be_seen() -> None:
    """The rules, what the first request triggers, and what the second."""
    for rules, first, second in (
        ("error, cut", ["error"], ["cut"]),
        ("cut, error", ["error"], ["cut"]),
        ("silence, html", ["html"], ["silence"]),
        ("comment, garbage, crlf", ["garbage"], ["comment", "crlf"]),
        ("reset, hang", ["hang"], ["reset"]),
        ("content_type, empty", ["content_type", "empty"], []),
        ("content_type, reset", ["reset"], ["content_type"]),
        ("stall, crlf", ["stall", "crlf"], []),
    ):
        space = Namespace("")
        for kind in rules.split(", "):
            [rule] = read_faults(f'{{ kind = "{kind}", times = 1 }}')
            space.faults.arm(kind, rule, 0.0)
        assert [list(ask("cerebras", _SHORT, namespace=space).plan.faults) for _ in range(2)] == [first, second], rules


def test_what_is_taken_back_of_a_rule_that_was_armed_anew_is_nothing_of_the_new_one() -> None:
    rules = FaultRules()
    [rule] = read_faults(_NONE_AFTER)
    rules.arm("late", rule, 0.0)
    meant = rules.pick(question(stream=True), 0.0)
    rules.arm("late", rule, 0.0)
    refund_counts(meant)
    assert rules.armed["late"].seen == RuleCount()


@pytest.mark.parametrize(
    "said, seconds",
    [("2592000", "2592000"), ("0.00001", "0.00001"), ("2.5", "2.5"), ("100.0", "100"), ("1e6", "1000000")],
)
def test_a_time_to_wait_is_written_without_an_exponent(said: str, seconds: str) -> None:
    wish = {"x-mockserver-fault": f'{{ kind = "error", error = "rate_limit", retry_after = {said} }}'}
    assert ask("cerebras", _SHORT, headers=wish).headers["retry-after"] == seconds


USED_UP: dict[str, dict[str, tuple[int, str, str | None]]] = {
    # Of what is used up: the status, a part of the body, and how long to wait.
    "cerebras": {
        "requests": (429, '"too_many_requests_error","param":"quota","code":"request_quota_exceeded"', "60"),
        "tokens": (429, '"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"', "60"),
        "queue": (429, '"too_many_requests_error","param":"queue","code":"queue_exceeded"', None),
    },
    "openai": {
        "requests": (429, '"type": "requests"', None),
        "tokens": (429, '"type": "tokens"', None),
        "queue": (503, '"server_is_overloaded"', None),
    },
    "yandex": {
        "requests": (429, "RequestsPerMinute.rate rate quota", None),
        "tokens": (429, "TokensPerMinute.rate rate quota", None),
        "queue": (429, "SessionsCount.count gauge quota", None),
    },
    "anthropic": {
        "requests": (429, "requests per minute", "1"),
        "tokens": (429, "input tokens per minute", "1"),
        "queue": (429, "Number of concurrent connections", "1"),
    },
}


@pytest.mark.parametrize("vendor", USED_UP)
def test_a_rate_limit_is_refused_as_the_vendor_does_when_that_is_used_up(vendor: str) -> None:
    shape = next(shape for shape in SHAPES if shape.dialect == vendor)
    for limit, (status, words, wait) in USED_UP[vendor].items():
        answer = shape.plain("hi", fault=f'{{ kind = "error", error = "rate_limit", limit = "{limit}" }}')
        assert (answer.status, answer.headers.get("retry-after")) == (status, wait)
        assert words in answer.body.decode()
        for name in ("requests", "tokens") if vendor == "cerebras" and limit != "queue" else ():
            left = answer.headers[f"x-ratelimit-remaining-{name}-minute"]
            assert (left == "0") is (name == limit)


def test_an_error_blames_another_field_with_another_code_where_the_vendors_has_them() -> None:
    wish = '{ kind = "error", error = "invalid_request", message = "No.", param = "tools", code = "bad_tools" }'
    said = {shape.id: shape.plain("hi", fault=wish).json() for shape in SHAPES}
    assert said["cerebras"]["error"] == {
        "message": "No.", "type": "invalid_request_error", "param": "tools", "code": "bad_tools",
    }  # fmt: skip
    assert [said["openai"]["error"][name] for name in ("message", "param", "code")] == ["No.", "tools", "bad_tools"]
    # Its codes are those of HTTP, and it blames no field.
    assert [said["upstash"][name] for name in ("message", "param", "code")] == ["No.", None, 400]
    assert said["friendli"] == {"detail": [{"loc": ["body", "tools"], "msg": "No.", "type": "bad_tools"}]}


def test_milliseconds_to_wait_are_rounded() -> None:
    wish = '{ kind = "error", error = "rate_limit", retry_after = 1.0099, retry_after_as = "ms" }'
    assert ask("cerebras", _SHORT, headers={"x-mockserver-fault": wish}).headers["retry-after-ms"] == "1010"


def test_a_model_that_writes_blanks_without_end_stops_where_the_request_says() -> None:
    wish = {"x-mockserver-fault": '{ kind = "whitespace", tokens = 1000000000 }'}
    answer = ask("cerebras", {"model": "m", "prompt": "hello", "max_tokens": 5}, headers=wish)
    assert answer.json()["usage"]["completion_tokens"] == 5
    assert answer.json()["choices"][0]["text"] == "\n" * 5


@pytest.mark.parametrize("dialect, status", [("upstash", 400), ("ovms", 400), ("cerebras", 200), ("yandex", 200)])
def test_an_answer_ends_only_as_its_vendor_can_say(dialect: str, status: int) -> None:
    shape = next(shape for shape in SHAPES if shape.id.startswith(dialect))
    wish = '{ kind = "finish", reason = "content_filter" }'
    if status == 400:
        with pytest.raises(HeaderError, match=f"content_filter, which {dialect} does not do. Known: stop, length"):
            shape.plain("hello", fault=wish)
    else:
        assert "content_filter" in shape.plain("hello", fault=wish).body.decode()


def test_a_fault_of_tool_calls_hits_only_where_tools_are_offered() -> None:
    fault = '{ kind = "broken_tool_call", times = 1 }'
    assert triggers(fault, 2) == [False, False]
    with pytest.raises(HeaderError, match="needs tool calls, but this request offers no tools"):
        ask("cerebras", {"model": "m", "prompt": "a"}, headers={"x-mockserver-fault": '{ kind = "broken_tool_call" }'})


def test_a_failure_of_a_streamed_request_is_told_as_the_vendor_tells_it() -> None:
    body = {"model": "llama3", "prompt": "a", "best_of": 99}
    wish = {"x-mockserver-fault": '{ kind = "error", error = "invalid_request" }'}
    for stream in (True, False):
        refused = ask("ovms", body | {"stream": stream})
        faulted = ask("ovms", {"model": "llama3", "prompt": "a", "stream": stream}, headers=wish)
        assert faulted.status == refused.status
        assert faulted.headers["content-type"] == refused.headers["content-type"]


YANDEX = {"model": "gpt://f/q", "messages": [{"role": "user", "content": "The weather in Rome?"}]}
TOOLS = [{"type": "function", "function": {"name": "get_weather"}}]


def faulted(body: dict[str, Any], fault: str, dialect: str = "yandex") -> Any:
    answer = ask(dialect, body, headers={"x-mockserver-fault": fault})
    assert answer.status == 200
    return answer.json()


@pytest.mark.parametrize("dialect", ["yandex", "cerebras", "upstash", "ovms"])
def test_a_model_that_writes_line_ends_alone_tells_how_likely_they_are(dialect: str) -> None:
    # No text goes before them: the model would have called a tool, or have stopped at once.
    bodies: dict[str, dict[str, Any]] = {
        "yandex": YANDEX | {"tools": TOOLS, "tool_choice": "required", "logprobs": True},
        "cerebras": {"model": "m", "prompt": "x", "stop": [",", " ", "a", "e"], "logprobs": 2},
        "upstash": {"model": "m", "messages": YANDEX["messages"], "stop": [",", " ", "a", "e"], "logprobs": True},
        "ovms": {"model": "m", "prompt": "x", "stop": [",", " ", "a", "e"], "logprobs": 1},
    }
    [choice] = faulted(bodies[dialect] | {"max_tokens": 5}, "whitespace", dialect)["choices"]
    told = choice["logprobs"]
    assert len(told.get("content") or told["tokens"]) == 5


@pytest.mark.parametrize("fault", ["refusal", "whitespace"])
def test_what_was_thought_before_counts_against_the_limit_of_a_hit_answer(fault: str) -> None:
    usage = faulted(YANDEX | {"max_completion_tokens": 5, "reasoning_effort": "high"}, fault)["usage"]
    assert usage["completion_tokens"] == usage["completion_tokens_details"]["reasoning_tokens"] == 5


@pytest.mark.parametrize(("fault", "accepted"), [("silence", 0), ('{ kind = "finish", after_token = 2 }', 2)])
def test_of_a_prediction_only_what_a_hit_answer_says_came_true(fault: str, accepted: int) -> None:
    said = ask("yandex", YANDEX | {"max_tokens": 30}).json()["choices"][0]["message"]["content"]
    prediction = {"type": "content", "content": said}
    details = faulted(YANDEX | {"prediction": prediction}, fault)["usage"]["completion_tokens_details"]
    assert details["accepted_prediction_tokens"] == accepted
    assert details["rejected_prediction_tokens"] == 30 - accepted


def test_friendli_has_no_word_for_a_content_filter() -> None:
    with pytest.raises(HeaderError, match=r"content_filter, which friendli does not do\. Known: stop, length"):
        faulted({"model": "m", "prompt": "x"}, '{ kind = "finish", reason = "content_filter" }', "friendli")
