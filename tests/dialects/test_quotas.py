"""What each vendor says of its quotas, over a scripted hour, beside a token bucket in exact arithmetic."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import NamedTuple

import pytest

from mockserver.core.dialects import Edition
from mockserver.core.http import Call, Headers
from mockserver.core.installed import load_dialect
from mockserver.core.quotas import Reservation
from mockserver.core.seeding import Draws, derive
from mockserver.pipeline import complete, parse
from mockserver.routes import Routes
from mockserver.state.context import make_context
from mockserver.state.quotas import allowance_of, read_quotas
from mockserver.state.rate_limiter import RateLimiter, admit, limit_states_of, settle
from mockserver.state.settings import Settings
from tests.support.asking import Answer, ask
from tests.support.buckets import Tanks
from tests.support.conformity import faults

START = 1_700_000_000.0
EDITIONS: tuple[Edition, ...] = ("documented", "observed")


@dataclass(frozen=True)
class Counted(Answer):
    """An answer under a quota, and what keeps its place while it runs."""

    reservation: Reservation | None


class Client:
    """Asks one dialect under a quota, at instants of its own."""

    def __init__(self, dialect: str, quota: object, edition: Edition = "documented") -> None:
        self.dialect = load_dialect(dialect)
        self.limiter = RateLimiter()
        self._edition: Edition = edition
        self._settings = Settings(latency="off", quota=read_quotas(quota))
        self._router = Routes({dialect: self.dialect}, self._settings)

    def limits(self, model: str) -> Tanks:
        """The limits that the quota sets, as exact tanks that nobody has taken from."""
        allowance = allowance_of(self._settings.quota, self.dialect, model, "me")
        assert allowance is not None
        return Tanks(allowance.limits)

    def ask(self, body: object, now: float = 0.0, key: str = "me", path: str = "") -> Counted:
        """Send a request `now` seconds after the start. Whatever is let in runs until its reservation leaves."""
        operation = self.dialect.operations[0]
        method = "GET" if path else operation.method
        route = self._router.find(method, f"/{self.dialect.name}{path or operation.paths[0]}")
        assert route is not None
        sent = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        sent |= {"x-mockserver-edition": self._edition}
        headers = Headers((name.encode(), value.encode()) for name, value in sent.items())
        call = Call(method, route.path, headers, json.dumps(body).encode(), received_at=START + now)
        made = parse(make_context(call, route, self._settings))
        if made.asks_model:
            admit(made, self.limiter, now)
        complete(made)
        settle(made, self.limiter, now)
        data = b"".join(event for run in made.timeline.runs for event in run.data)
        assert faults(made, data) == []
        said = {name.decode(): value.decode() for name, value in made.timeline.headers}
        return Counted(made.timeline.status, said, data, made, made.reservation)


def text(max_tokens: int | None = 4, model: str = "gpt-oss-120b", prompt: str = "Hi") -> dict[str, object]:
    return {"model": model, "prompt": prompt} | ({} if max_tokens is None else {"max_tokens": max_tokens})


def chat(max_tokens: int = 4, model: str = "meta-llama/Meta-Llama-3-8B-Instruct") -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": max_tokens}


def legacy(max_tokens: int = 4, model: str = "meta-llama-3.1-8b-instruct") -> dict[str, object]:
    return {"model": model, "prompt": "Hi", "max_tokens": max_tokens}


YANDEX = chat(model="gpt://folder/yandexgpt/latest")


# --- the hour ----------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    """One request of a script: when, whose, to which of two models, how long an answer."""

    now: float
    key: str
    model: int
    max_tokens: int


def script(name: str, lengths: tuple[int, ...], seconds: float = 3_600.0) -> Iterator[Step]:
    """An hour of crowds and lulls. Instants are multiples of 1/8 s, which floats hold exactly."""
    draws = Draws(derive(7, "script", name))
    now = 0.0
    while now <= seconds:
        now += draws.pick((0.0, 0.0, 0.125, 0.125, 0.125, 0.5, 0.5, 2.0, 6.0, 60.0))
        step = Step(now, draws.pick(("me", "me", "you")), draws.below(2), draws.pick(lengths))
        yield step
        # Now and then one of them does not stop for some seconds.
        for number in range(120 if draws.below(60) == 0 else 0):
            now = step.now + number / 8
            yield step._replace(now=now, max_tokens=max(lengths))


def blamed(said: Counted) -> set[tuple[str, str]]:
    """The limit that a refusal names, where it names one: Cerebras in its message, Upstash in its headers."""
    if said.status == 200 or said.plan.context.route.dialect.name == "friendli":
        return set()
    if "error" in said.json() and isinstance(said.json()["error"], dict):
        measure, _, period, *_ = said.json()["error"]["message"].split()
        return {(measure.lower(), period)}
    named = {"burst-ratelimit-limit": ("requests", "second"), "ratelimit-limit": ("requests", "day")}
    return {limit for name, limit in named.items() if name in said.headers}


def headers_of(dialect: str, tanks: Tanks, now: float, blamed: set[tuple[str, str]]) -> dict[str, float]:
    """What the tanks say in the vendor's headers: their names and units, as the vendor notes have them."""
    limits = {place: tank.amount for place, tank in tanks.tanks.items()}
    remaining, resets = tanks.remaining(now), tanks.resets(now)
    if dialect == "cerebras":
        return {
            f"x-ratelimit-{what}-{measure}-{period}": figures[measure, period]
            for what, figures in (("limit", limits), ("remaining", remaining), ("reset", resets))
            for measure, period in limits
        }
    said: dict[str, float] = {}
    for measure, period in limits:
        if dialect == "upstash" and measure == "requests" and period in ("second", "day"):
            continue
        reset = resets[measure, period] + (START + now if dialect == "upstash" else 0)
        if dialect == "friendli" or not blamed:
            said[f"x-ratelimit-limit-{measure}"] = limits[measure, period]
            said[f"x-ratelimit-remaining-{measure}"] = remaining[measure, period]
        said[f"x-ratelimit-reset-{measure}"] = ceil(round(reset, 6))
    return said


MODELS = {
    "cerebras": (text, ("gpt-oss-120b", "llama3.1-8b"), (0, 4, 30, 20_000, 59_000)),
    "upstash": (chat, ("meta-llama/Meta-Llama-3-8B-Instruct", "mistralai/Mistral-7B-Instruct-v0.2"), (1, 4, 30)),
    "friendli": (legacy, ("meta-llama-3.1-8b-instruct", "mixtral-8x7b-instruct-v0-1"), (1, 4, 30)),
}
HOURS = [
    ("cerebras", "free"),
    ("cerebras", "developer"),
    ("cerebras", "free-2026"),
    ("cerebras", "requests=7/min, requests=40/hour, tokens=100k/min"),
    ("upstash", "assumed"),
    ("upstash", "requests=1/s, requests=9/min, tokens=500/min, requests=200/day"),
    ("friendli", "tier1"),
    ("friendli", "requests=9/min, tokens=500/min"),
]


@pytest.mark.parametrize("dialect, quota", HOURS)
def test_an_hour_of_headers_and_refusals_is_that_of_an_exact_token_bucket(dialect: str, quota: str) -> None:
    client, (body, models, lengths) = Client(dialect, quota), MODELS[dialect]
    tanks = {(key, model): client.limits(models[model]) for key in ("me", "you") for model in (0, 1)}
    prompt = client.ask(body(1, models[0]), now=-9_999.0, key="nobody").json()["usage"]["prompt_tokens"]
    refusals = 0
    for step in script(dialect, lengths):
        # Cerebras charges up front what might be generated; the others the prompt, and the answer when it is known.
        answer = min(step.max_tokens, 16_384) if quota == "free-2026" else step.max_tokens
        mine, cost = tanks[step.key, step.model], prompt + (answer if dialect == "cerebras" else 0)
        short = mine.short_of(cost, step.now)
        said = client.ask(body(step.max_tokens, models[step.model]), step.now, step.key)
        assert said.status == (429 if short else 200), (step, short)
        if not short:
            mine.spend(cost, step.now, requests=1)
        stated = {name: float(value) for name, value in said.headers.items() if name.startswith("x-ratelimit-")}
        assert stated == pytest.approx(headers_of(dialect, mine, step.now, blamed(said)), abs=1e-5)
        if short:
            refusals += 1
            assert blamed(said) <= short
        elif dialect != "cerebras":
            mine.spend(said.json()["usage"]["completion_tokens"], step.now)
        if said.reservation is not None:
            client.limiter.release(said.reservation)
    assert refusals > 10


@pytest.mark.parametrize("dialect, quota", HOURS)
def test_a_client_that_waits_as_long_as_its_refusal_states_is_let_in(dialect: str, quota: str) -> None:
    client, (body, models, _) = Client(dialect, quota), MODELS[dialect]
    now = waits = 0.0
    for _ in range(5_000):
        said = client.ask(body(4, models[0]), now)
        if said.status == 200:
            continue
        stamps = [float(value) for name, value in said.headers.items() if "reset" in name]
        wait = max(stamps) - (START + now if dialect == "upstash" else 0)
        now += wait
        waits += 1
        assert client.ask(body(4, models[0]), now).status == 200
        if waits == 3:
            break
    assert waits == 3


# --- refusals in each vendor's words -----------------------------------------------------------------------------

REQUESTS_USED_UP = "too_many_requests_error", "request_quota_exceeded"
TOKENS_USED_UP = "too_many_tokens_error", "token_quota_exceeded"


@pytest.mark.parametrize("edition", ["documented", "observed"])
@pytest.mark.parametrize(
    "limit, what, type_, code",
    [
        ("requests=1/min", "Requests per minute limit exceeded - too many requests sent.", *REQUESTS_USED_UP),
        ("requests=1/hour", "Requests per hour limit exceeded - too many requests sent.", *REQUESTS_USED_UP),
        ("requests=1/day", "Requests per day limit exceeded - too many requests sent.", *REQUESTS_USED_UP),
        ("tokens=8/min", "Tokens per minute limit exceeded - too many tokens processed.", *TOKENS_USED_UP),
        ("tokens=8/day", "Tokens per day limit exceeded - too many tokens processed.", *TOKENS_USED_UP),
    ],
)
def test_cerebras_names_the_quota_that_is_used_up(
    edition: Edition, limit: str, what: str, type_: str, code: str
) -> None:
    client = Client("cerebras", limit, edition)
    assert client.ask(text()).status == 200
    said = client.ask(text())
    error = {"message": what, "type": type_, "param": "quota", "code": code}
    assert (said.status, said.json()) == (429, {"error": error} if edition == "documented" else error)


@pytest.mark.parametrize("edition", ["documented", "observed"])
@pytest.mark.parametrize(
    "limit, retry_after",
    [("requests=1/min", "58"), ("requests=1/day", "86398"), ("tokens=5/min", "58"), ("tokens=4/min", None)],
)
def test_cerebras_asks_to_wait_until_the_limit_that_was_exceeded_is_whole_again(
    edition: Edition, limit: str, retry_after: str | None
) -> None:
    client = Client("cerebras", limit, edition)
    client.ask(text())
    said = client.ask(text(), 2.0)
    assert (said.status, said.headers.get("retry-after")) == (429, retry_after)


def test_cerebras_states_resets_of_other_windows_on_its_page_alone() -> None:
    quota = "requests=9/min, requests=90/day, tokens=900/min, tokens=9k/day"
    names = {name for name in Client("cerebras", quota).ask(text()).headers if "ratelimit-reset" in name}
    today = {name for name in Client("cerebras", quota, "observed").ask(text()).headers if "ratelimit-reset" in name}
    assert today == {"x-ratelimit-reset-requests-day", "x-ratelimit-reset-tokens-minute"}
    assert names == today | {"x-ratelimit-reset-requests-minute", "x-ratelimit-reset-tokens-day"}


def test_cerebras_charges_the_models_longest_answer_where_none_is_asked_for() -> None:
    client = Client("cerebras", "tokens=100k/min")
    assert client.ask(text(None, "gpt-oss-120b", prompt="")).headers["x-ratelimit-remaining-tokens-minute"] == str(
        100_000 - 40_960
    )
    assert client.ask(text(None, "llama-3.3-70b", prompt="")).headers["x-ratelimit-remaining-tokens-minute"] == str(
        100_000 - 65_536
    )
    assert client.ask(text(None, "llama-3.3-70b")).json()["error"]["code"] == "token_quota_exceeded"


@pytest.mark.parametrize("max_tokens, charged", [(None, 16_384), (40_000, 16_384), (16_384, 16_384), (600, 600)])
def test_cerebras_of_today_charges_an_answer_with_16384_tokens_at_most(max_tokens: int | None, charged: int) -> None:
    client, counted = Client("cerebras", "free-2026", "observed"), "x-ratelimit-remaining-tokens-minute"
    assert client.ask(text(max_tokens, "gpt-oss-120b", prompt="")).headers[counted] == str(30_000 - charged)
    client = Client("cerebras", "free-2026, tokens=70k/min")
    assert client.ask(text(max_tokens, "gpt-oss-120b", prompt="")).headers[counted] == str(70_000 - charged)


CHAT = {f"x-ratelimit-{what}-{of}" for what in ("limit", "remaining", "reset") for of in ("requests", "tokens")}
DAILY = {f"ratelimit-{what}" for what in ("limit", "remaining", "reset")}
BURST = {f"burst-ratelimit-{what}" for what in ("limit", "remaining", "reset")}


@pytest.mark.parametrize(
    "limit, message, telling, reset",
    [
        ("requests=1/min", "rate limit exceeded", CHAT, ("x-ratelimit-reset-requests", 60)),
        ("requests=1/hour", "rate limit exceeded", CHAT, ("x-ratelimit-reset-requests", 3_600)),
        ("tokens=12/min", "rate limit exceeded", CHAT, ("x-ratelimit-reset-tokens", 60)),
        ("requests=1/day", "daily message limit exceeded", DAILY, ("ratelimit-reset", 86_400)),
        ("requests=1/s", "burst rate limit exceeded", BURST, ("burst-ratelimit-reset", 1)),
    ],
)
def test_upstash_tells_its_quotas_apart_by_headers_of_unix_time(
    limit: str, message: str, telling: set[str], reset: tuple[str, int]
) -> None:
    client = Client("upstash", limit)
    first = client.ask(chat())
    assert {name for name in first.headers if "ratelimit" in name} == CHAT
    said = client.ask(chat())
    assert (said.status, said.json()) == (429, {"error": message})
    limiting = {name for name in said.headers if "ratelimit" in name and not name.startswith("x-ratelimit-reset")}
    assert limiting == telling - {name for name in telling if name.startswith("x-ratelimit-reset")}
    name, seconds = reset
    stated = int(said.headers[name])
    if limit.startswith("tokens"):
        assert START < stated <= START + seconds * 2
    else:
        assert stated == START + seconds
    assert client.ask(chat(), now=stated - START).status == 200


@pytest.mark.parametrize("dialect, quota", HOURS)
def test_no_header_of_a_refusal_is_said_twice(dialect: str, quota: str) -> None:
    client, (body, models, _) = Client(dialect, quota), MODELS[dialect]
    said = next(filter(lambda said: said.status == 429, (client.ask(body(4, models[0])) for _ in range(20_000))))
    names = [name for name, _ in said.plan.timeline.headers]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    "quota, message",
    [
        ("vendor", "ai.textGenerationCompletionSessionsCount.count gauge quota limit exceed: allowed 10 requests"),
        (
            "requests=10/hour",
            "ai.textGenerationCompletionRequestsPerHour.rate rate quota limit exceed: allowed 10 requests",
        ),
    ],
)
def test_yandex_refuses_the_eleventh_in_the_name_of_its_quota(quota: str, message: str) -> None:
    client = Client("yandex", quota)
    running = [client.ask(YANDEX) for _ in range(10)]
    assert {said.status for said in running} == {200}
    said = client.ask(YANDEX)
    assert (said.status, said.json()) == (429, {"error": {"message": message, "type": "rate_limit_error"}})
    assert not [name for name in said.headers if "ratelimit" in name or "retry" in name]
    assert client.ask(YANDEX, key="other").status == 200


def test_yandex_lets_the_next_one_in_as_soon_as_one_has_ended() -> None:
    client = Client("yandex", "vendor")
    tickets = [client.ask(YANDEX).reservation for _ in range(10)]
    assert client.ask(YANDEX).status == 429
    assert tickets[3] is not None
    client.limiter.release(tickets[3])
    assert [client.ask(YANDEX).status for _ in range(2)] == [200, 429]


@pytest.mark.parametrize(
    "dialect, body, status, error",
    [
        ("cerebras", text(), 429, "queue_exceeded"),
        ("upstash", chat(), 429, "burst rate limit exceeded"),
        ("friendli", legacy(), 429, "Too many requests"),
        ("yandex", YANDEX, 429, "gauge quota limit exceed: allowed 1 requests"),
    ],
)
def test_a_crowd_is_refused_in_each_vendors_words(dialect: str, body: object, status: int, error: str) -> None:
    client = Client(dialect, "concurrent=1")
    assert client.ask(body).status == 200
    said = client.ask(body)
    assert said.status == status
    assert error in said.body.decode()


def test_friendlis_page_states_requests_and_tokens_and_its_service_of_today_requests_alone() -> None:
    quota = "requests=1/min, tokens=900/min"
    stated = {edition: Client("friendli", quota, edition).ask(legacy()).headers for edition in EDITIONS}
    names = {edition: {name for name in headers if "ratelimit" in name} for edition, headers in stated.items()}
    words = ("limit", "remaining", "reset")
    assert names["observed"] == {f"x-ratelimit-{word}-requests" for word in words}
    assert names["documented"] == names["observed"] | {f"x-ratelimit-{word}-tokens" for word in words}


def test_friendlis_minute_begins_with_its_first_request_and_counts_down_as_recorded() -> None:
    client = Client("friendli", "tier1", "observed")
    stated = [client.ask(legacy(), now).headers for now in (0.0, 19.5, 20.25, 60.0)]
    figures = [[said[f"x-ratelimit-{word}-requests"] for word in ("limit", "remaining", "reset")] for said in stated]
    assert figures == [["100", "99", "60"], ["100", "98", "41"], ["100", "97", "40"], ["100", "99", "60"]]


def test_friendlis_refused_client_is_let_in_when_the_minute_is_over() -> None:
    client = Client("friendli", "requests=2/min", "observed")
    said = [client.ask(legacy(), now) for now in (5.0, 6.0, 7.0, 64.875, 65.0)]
    assert [each.status for each in said] == [200, 200, 429, 429, 200]
    assert said[2].json() == {"message": "Too many requests", "error": {}}
    assert said[2].headers["x-ratelimit-remaining-requests"] == "0"
    assert said[2].headers["x-ratelimit-reset-requests"] == "58"


@pytest.mark.parametrize(
    "dialect, edition, path, window",
    [
        ("cerebras", "observed", "/v1/completions", "requests-minute"),
        ("friendli", "documented", "/v1/completions", "requests"),
        ("friendli", "observed", "/serverless/v1/completions", "requests"),
        ("upstash", "documented", "/llm/v1/chat/completions", "requests"),
    ],
)
def test_a_429_by_a_fault_leaves_no_requests_though_an_answer_or_another_error_does(
    dialect: str, edition: Edition, path: str, window: str
) -> None:
    question = {"role": "user", "content": "Hello"}
    body = {"model": "m", "messages": [question]} if dialect == "upstash" else {"model": "m", "prompt": "Hello"}
    left = []
    for fault in ("", "rate_limit", "server_error"):
        headers = {"x-mockserver-fault": f'{{ kind = "error", error = "{fault}" }}'} if fault else {}
        said = ask(dialect, body, path=path, edition=edition, headers=headers).headers
        left.append(said.get(f"x-ratelimit-remaining-{window}"))
    assert left[0] not in (None, "0")
    # Upstash states what is left only in answers and in refusals for a quota.
    assert left[1:] == ["0", None if dialect == "upstash" else left[0]]


def test_ovms_has_no_quotas_whatever_is_asked_for_all() -> None:
    client = Client("ovms", "requests=1/day")
    assert [client.ask(text(1, "llama")).reservation for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("dialect", ["cerebras", "upstash", "friendli", "yandex"])
def test_with_quotas_off_nothing_is_counted_and_headers_are_those_of_a_first_request(dialect: str) -> None:
    body = {"cerebras": text(), "upstash": chat(), "friendli": legacy(), "yandex": YANDEX}[dialect]
    client = Client(dialect, "off")
    first, second = client.ask(body), client.ask(body)
    assert (first.reservation, first.headers, first.status) == (None, second.headers, 200)
    assert client.limiter.describe(0.0) == {"limits": [], "running": []}


def test_cerebras_of_today_states_the_limits_of_its_free_tier_with_quotas_off() -> None:
    said = {edition: Client("cerebras", "off", edition).ask(text()).headers for edition in EDITIONS}
    remaining = {
        edition: {
            name.rpartition("remaining-")[2]: int(value) for name, value in headers.items() if "remaining" in name
        }
        for edition, headers in said.items()
    }
    assert remaining == {
        "documented": {"requests-day": 14_399, "tokens-minute": 60_000},
        "observed": {
            "requests-minute": 4,
            "requests-hour": 149,
            "requests-day": 2_399,
            "tokens-minute": 30_000,
            "tokens-day": 1_000_000,
        },
    }


def test_a_caller_without_a_model_learns_how_he_stands() -> None:
    client = Client("cerebras", "requests=9/min")
    client.ask(text())
    settings = Settings(latency="off", quota=read_quotas("requests=9/min"))
    route = Routes({"cerebras": client.dialect}, settings).find("GET", "/cerebras/v1/models")
    assert route is not None
    call = Call("GET", route.path, Headers([(b"authorization", b"Bearer me")]))
    [state] = limit_states_of(call, route, settings, client.limiter, 0.0)
    assert (state.remaining, state.limit.amount) == (8, 9)
    assert limit_states_of(call, route, replace(settings, quota=()), client.limiter, 0.0) == ()
