"""Quotas: buckets that are refilled over time, limits of concurrency, and which rule applies to a request."""

import json
import re
from collections.abc import Sequence
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.dialects import Dialect, Model
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import GenerationRequest, Limits, Prompt
from mockserver.core.installed import load_dialects
from mockserver.core.quotas import Allowance, BucketKey, Cost, Limit, QuotaPolicy, Refused, Reservation
from mockserver.state.quotas import Quota, allowance_of, read_quotas
from mockserver.state.rate_limiter import RateLimiter, cost_of
from mockserver.state.settings import ConfigError, Settings
from mockserver.state.settings.checks import check_all
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import checked, from_environment, from_names, settle
from tests.support.buckets import Tanks

DIALECTS = load_dialects()
ME = BucketKey("cerebras", "me", "small")
HALF_PER_SECOND = Limit("requests", 60, 30)
TOKENS = Limit("tokens", 60, 600)
BOTH = Allowance((HALF_PER_SECOND, TOKENS))


def admit(
    limiter: RateLimiter, tokens: int = 0, now: float = 0.0, asker: BucketKey = ME, rule: Allowance = BOTH
) -> Reservation:
    verdict = limiter.reserve(asker, rule, Cost(tokens), now)
    assert isinstance(verdict, Reservation)
    return verdict


def refused(
    limiter: RateLimiter, tokens: int = 0, now: float = 0.0, asker: BucketKey = ME, rule: Allowance = BOTH
) -> Refused:
    verdict = limiter.reserve(asker, rule, Cost(tokens), now)
    assert isinstance(verdict, Refused)
    return verdict


def wait_of(verdict: Refused) -> float:
    assert verdict.worst is not None
    return verdict.worst.wait


# --- buckets -----------------------------------------------------------------------------------------------------

AMOUNTS = st.sampled_from([1, 2, 3, 7, 30, 60, 600, 14_400])
LIMITS = st.dictionaries(
    st.tuples(st.sampled_from(["requests", "tokens"]), st.sampled_from([1, 60, 3_600, 86_400])),
    st.tuples(AMOUNTS, st.booleans()),
    min_size=1,
).map(lambda table: tuple(Limit(*place, *amount) for place, amount in table.items()))  # type: ignore[arg-type]
# Instants are multiples of an eighth, which floats hold exactly.
STEPS = st.lists(st.tuples(st.integers(0, 800).map(lambda n: n / 8), st.integers(0, 40)), max_size=60)


@given(LIMITS, STEPS)
def test_requests_are_let_in_and_counted_as_by_an_exact_bucket(
    limits: tuple[Limit, ...], steps: Sequence[tuple[float, int]]
) -> None:
    limiter, tanks, now = RateLimiter(), Tanks(limits), 0.0
    for gap, tokens in steps:
        now += gap
        verdict = limiter.reserve(ME, Allowance(limits), Cost(tokens), now)
        assert isinstance(verdict, Reservation) == tanks.take(tokens, now)
        stated = {(each.limit.measure, each.limit.period): each for each in verdict.limit_states}
        assert {place: each.remaining for place, each in stated.items()} == tanks.remaining(now)
        assert {place: each.reset for place, each in stated.items()} == pytest.approx(tanks.resets(now), abs=1e-6)


@given(LIMITS, STEPS)
def test_whoever_waits_exactly_as_long_as_was_stated_is_let_in_and_a_moment_earlier_not(
    limits: tuple[Limit, ...], steps: Sequence[tuple[float, int]]
) -> None:
    limiter, now = RateLimiter(), 1_700_000_000.0
    for gap, tokens in steps:
        now += gap
        verdict = limiter.reserve(ME, Allowance(limits), Cost(tokens), now)
        if isinstance(verdict, Reservation):
            continue
        wait = wait_of(verdict)
        if wait == inf:
            assert tokens > min(limit.amount for limit in limits if limit.measure == "tokens")
            continue
        if wait > 1e-4:
            assert isinstance(limiter.reserve(ME, Allowance(limits), Cost(tokens), now + wait - 1e-4), Refused)
        assert max(state.reset for state in verdict.limit_states) >= wait - 1e-5
        now += wait
        admit(limiter, tokens, now, rule=Allowance(limits))


def test_a_refused_request_takes_nothing() -> None:
    limiter = RateLimiter()
    admit(limiter, 500)
    assert [state.remaining for state in refused(limiter, 200).limit_states] == [29, 100]
    assert [state.remaining for state in admit(limiter, 100).limit_states] == [28, 0]


def test_the_limit_that_has_to_be_waited_for_the_longest_is_the_one_to_blame() -> None:
    limiter = RateLimiter()
    rule = Allowance((Limit("requests", 1, 1), TOKENS))
    admit(limiter, 600, rule=rule)
    verdict = refused(limiter, 300, rule=rule)
    assert verdict.worst is not None
    assert (verdict.worst.limit, verdict.worst.wait) == (TOKENS, 30.0)


def test_a_request_bigger_than_the_bucket_never_fits_and_says_so() -> None:
    assert wait_of(refused(RateLimiter(), 601)) == inf


def test_each_dialect_key_and_model_has_buckets_of_its_own() -> None:
    limiter = RateLimiter()
    for asker in (ME, ME._replace(key="you"), ME._replace(model="large"), ME._replace(dialect="friendli")):
        admit(limiter, 600, asker=asker)
    assert wait_of(refused(limiter, 1)) == pytest.approx(0.1)


def test_who_asks_no_model_is_told_of_the_model_that_he_has_used_the_most() -> None:
    limiter = RateLimiter()
    admit(limiter, 10)
    admit(limiter, 400, asker=ME._replace(model="large"))
    nobody = ME._replace(model="")
    assert [state.remaining for state in limiter.limit_states(nobody, BOTH, 0.0)] == [29, 200]
    assert [state.remaining for state in limiter.limit_states(nobody._replace(key="you"), BOTH, 0.0)] == [30, 600]


def test_a_clock_that_goes_back_refills_nothing() -> None:
    limiter = RateLimiter()
    admit(limiter, 300, now=100.0)
    assert admit(limiter, 100, now=50.0).limit_states[1].remaining == 200
    assert limiter.limit_states(ME, BOTH, 110.0)[1].remaining == 300


def test_an_answer_is_charged_when_its_length_is_known_even_into_debt() -> None:
    limiter = RateLimiter()
    first = admit(limiter, 100)
    limiter.settle(first, 700, 0.0)
    assert [state.remaining for state in limiter.limit_states(ME, BOTH, 0.0)] == [29, 0]
    verdict = refused(limiter, 100)
    assert wait_of(verdict) == pytest.approx(20.0), "10 s to come out of debt, 10 s for the prompt"
    admit(limiter, 100, now=20.0)


def test_an_answer_shorter_than_its_charge_gives_nothing_back() -> None:
    limiter = RateLimiter()
    limiter.settle(admit(limiter, 300), 200, 0.0)
    assert [state.remaining for state in limiter.limit_states(ME, BOTH, 0.0)] == [29, 300]


def test_buckets_that_are_full_again_are_forgotten() -> None:
    limiter = RateLimiter()
    most = 0
    for number in range(20_000):
        # Each takes for two seconds of a bucket, so that some four hundred are not full at any time.
        admit(limiter, 1, now=number / 100, asker=BucketKey("cerebras", f"key-{number}", "any"))
        most = max(most, len(limiter))
    assert most < 2_000
    limiter.describe(now=1_000.0)
    assert len(limiter) == 0


def test_of_too_many_buckets_the_oldest_are_forgotten() -> None:
    limiter, latest = RateLimiter(), ME
    for number in range(24_000):
        latest = BucketKey("cerebras", f"key-{number % 9}", f"model-{number}")
        admit(limiter, 600, asker=latest)
    assert len(limiter) < 33_000
    limiter.describe(0.0)
    assert len(limiter) == 10_000
    assert refused(limiter, 600, asker=latest)


def test_a_reset_forgets_what_was_taken_and_what_runs() -> None:
    limiter, rule = RateLimiter(), Allowance(BOTH.limits, concurrent=1)
    old = admit(limiter, 600, rule=rule)
    limiter.reset()
    admit(limiter, 600, rule=rule)
    limiter.release(old)
    assert refused(limiter, rule=rule).concurrent == 1


# --- gauges ------------------------------------------------------------------------------------------------------


def test_no_more_generations_of_a_key_run_at_once_than_allowed_whatever_their_model() -> None:
    limiter, rule = RateLimiter(), Allowance(concurrent=2)
    first = admit(limiter, rule=rule)
    admit(limiter, rule=rule, asker=ME._replace(model="large"))
    assert refused(limiter, rule=rule) == Refused((), concurrent=2)
    admit(limiter, rule=rule, asker=ME._replace(key="you"))
    limiter.release(first)
    limiter.release(first)
    admit(limiter, rule=rule)
    assert refused(limiter, rule=rule).worst is None


def test_what_is_taken_and_what_runs_can_be_shown_without_the_whole_key() -> None:
    limiter = RateLimiter()
    admit(limiter, 60, now=5.0, asker=ME._replace(key="csk-0123456789abcdef0123456789"), rule=Allowance((TOKENS,), 3))
    shown = limiter.describe(now=8.0)
    key = "****6789"
    assert shown == {
        "limits": [
            {
                "dialect": "cerebras",
                "key": key,
                "model": "small",
                "limit": "tokens per minute",
                "amount": 600,
                "remaining": 570,
                "reset": 3.0,
            }
        ],
        "running": [{"dialect": "cerebras", "key": key, "running": 1}],
    }
    assert json.loads(json.dumps(shown)) == shown


# --- what a request costs ----------------------------------------------------------------------------------------


def policy(*, up_front: bool) -> QuotaPolicy:
    return QuotaPolicy({}, lambda refused, now: Refusal(FailureKind.RATE_LIMIT), up_front)


def asked(max_tokens: int | None, prompts: int = 1, n: int = 1, context: int = 1_000) -> GenerationRequest:
    limits = Limits(max_tokens, context=context)
    return GenerationRequest("small", tuple(Prompt("", "", 10) for _ in range(prompts)), limits=limits, n=n)


@pytest.mark.parametrize(
    "request_, model, charge",
    [
        (asked(40), Model("small"), Cost(50)),
        (asked(0), Model("small"), Cost(10)),
        (asked(40, prompts=2, n=3), Model("small"), Cost(20 + 240)),
        (asked(None), Model("small", max_output=500), Cost(10, 500)),
        (asked(None, n=2), Model("small", max_output=500), Cost(10, 1_000)),
        (asked(None), Model("small"), Cost(10, 990)),
        (asked(None), None, Cost(10, 990)),
    ],
)
def test_up_front_a_request_costs_its_prompts_and_the_longest_answers(
    request_: GenerationRequest, model: Model | None, charge: Cost
) -> None:
    assert cost_of(request_, model, policy(up_front=True), Allowance()) == charge
    assert cost_of(request_, model, policy(up_front=False), Allowance()) == Cost(request_.prompt_tokens)


@pytest.mark.parametrize(
    "request_, charge",
    [
        (asked(40), Cost(40)),
        (asked(29), Cost(39)),
        (asked(0), Cost(10)),
        (asked(None), Cost(10, assumed=30)),
        (asked(None, context=30), Cost(10, assumed=20)),
    ],
)
def test_an_allowance_may_charge_an_answer_up_to_a_length(request_: GenerationRequest, charge: Cost) -> None:
    assert cost_of(request_, None, policy(up_front=True), Allowance((TOKENS,), answer=30)) == charge


def test_a_length_that_nobody_asked_for_makes_no_request_too_big_but_empties_the_bucket() -> None:
    limiter = RateLimiter()
    verdict = limiter.reserve(ME, BOTH, Cost(10, assumed=5_000), 0.0)
    assert [state.remaining for state in verdict.limit_states] == [29, 0]
    verdict = limiter.reserve(ME, BOTH, Cost(10, assumed=5_000), 30.0)
    assert isinstance(verdict, Refused)
    assert wait_of(verdict) == pytest.approx(30)


# --- rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said, rules",
    [
        ("off", ()),
        ("vendor", (Quota("vendor"),)),
        ("requests=30/min", (Quota(limits=(Limit("requests", 60, 30),)),)),
        (
            "free, requests = 1.5k/hour, requests=1/s, tokens=60k/minute, concurrent=10, dialect=cerebras, key=a",
            (
                Quota(
                    "free",
                    (Limit("requests", 3_600, 1_500), Limit("requests", 1, 1), Limit("tokens", 60, 60_000)),
                    concurrent=10,
                    dialect="cerebras",
                    key="a",
                ),
            ),
        ),
        (
            '{ tokens = ["14_400/day", "2M/h"], model = "gpt-oss-120b" }',
            (Quota(limits=(Limit("tokens", 86_400, 14_400), Limit("tokens", 3_600, 2_000_000)), model="gpt-oss-120b"),),
        ),
        ('[{ tier = "off", key = "mine" }, { concurrent = 1 }]', (Quota("off", key="mine"), Quota(concurrent=1))),
        (
            ["vendor, key=a", "requests=1/day"],
            (Quota("vendor", key="a"), Quota(limits=(Limit("requests", 86_400, 1),))),
        ),
        ({"requests": "3/min"}, (Quota(limits=(Limit("requests", 60, 3),)),)),
        ([{"tier": "free"}, {"tier": "off"}], (Quota("free"), Quota("off"))),
        ((Quota("free"),), (Quota("free"),)),
    ],
)
def test_a_quota_is_said_in_words_or_in_tables(said: object, rules: tuple[Quota, ...]) -> None:
    assert read_quotas(said) == rules


@pytest.mark.parametrize(
    "said, complaint",
    [
        ("requests=30", "requests: '30' is not a limit such as '30/min', '60k/min' or '1M/day'"),
        ("requests=30/week", "requests: unknown period 'week'. Known: second, minute, hour, day"),
        ("requests=0/min", "requests: '0/min' is not a whole number of at least 1"),
        ("tokens=0.5/min", "tokens: '0.5/min' is not a whole number of at least 1"),
        ("tokens=-1/min", "tokens: '-1/min' is not a limit"),
        ("requests=1/min, requests=2/minute", "requests: is limited twice per minute"),
        ("requets=1/min", "unknown key 'requets'. Did you mean 'requests'? Known: tier, requests, tokens, concurrent"),
        ("free, vendor", "tier: is set twice"),
        ("concurrent=x", "concurrent: 'x' is not a whole number of at least 1"),
        ("concurrent=0", "concurrent: 0 is not a whole number of at least 1"),
        ("dialect=cerebras", "sets no limit; add one of tier, requests, tokens, concurrent"),
        ("off, requests=1/min", "tier: off cannot be combined with limits"),
        ("", "tier: '' is not a string"),
        ("{ requests = 1", "is not a valid TOML table"),
        ({"requests": 30}, "requests: 30 is not a limit such as '30/min'"),
        ({"concurrent": True}, "concurrent: True is not a whole number of at least 1"),
        ({"tier": 3}, "tier: 3 is not a string"),
        ([3], "3 is not a quota such as 'free' or 'requests=30/min, tokens=60k/min'"),
        (3, "3 is not a quota"),
    ],
)
def test_a_mistake_names_its_key_and_what_would_be_valid(said: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        read_quotas(said)


def test_thousands_of_rules_are_refused() -> None:
    with pytest.raises(ConfigError, match="setting quota: 1,001 values are too many; at most 1,000 are possible"):
        from_names({"quota": ["requests=3/min"] * 1_001}, "setting")


def test_quotas_come_from_options_environment_files_and_python() -> None:
    rules = (Quota("free", dialect="cerebras"), Quota(limits=(Limit("requests", 60, 3),)))
    file = '[[quota]]\ntier = "free"\ndialect = "cerebras"\n\n[[quota]]\nrequests = "3/min"\n'
    said = ["free, dialect=cerebras", "requests=3/min"]
    assert settle(from_toml(file, "mock.toml")).quota == rules
    assert settle(from_names({"quota": said}, "option")).quota == rules
    assert checked(Settings(quota=said)).quota == rules  # type: ignore[arg-type]
    environment = from_environment({"MOCKSERVER_QUOTA": '[{tier="free", dialect="cerebras"}, {requests="3/min"}]'})
    assert settle(environment).quota == rules
    assert settle(from_toml("[quota]\nconcurrent = 3\n", "mock.toml")).quota == (Quota(concurrent=3),)
    assert settle(from_toml(file, "mock.toml"), from_environment({"MOCKSERVER_QUOTA": "off"})).quota == ()


def test_a_mistake_in_a_file_names_its_line() -> None:
    with pytest.raises(ConfigError, match=r"mock.toml, line 2: quota: requests: '3' is not a limit such as '30/min'"):
        from_toml("\n[quota]\nrequests = '3'\n", "mock.toml")


@pytest.mark.parametrize(
    "said, complaint",
    [
        ("fre", "quota: tier: unknown tier 'fre'. Did you mean 'free'? Known: off, vendor, "),
        ("tier1, dialect=cerebras", "quota: tier: unknown tier 'tier1'. "),
        ("requests=1/s, dialect=ovms", "quota: dialect: ovms has no quotas. Dialects with quotas: anthropic, cerebras"),
        ("vendor, dialect=cerebra", "quota: dialect: unknown dialect 'cerebra'. Did you mean 'cerebras'?"),
    ],
)
def test_a_dialect_or_tier_that_does_not_exist_is_named(said: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_all(Settings(quota=read_quotas(said)), DIALECTS)
    assert complaint in str(raised.value)


def test_the_first_rule_that_is_for_a_request_counts() -> None:
    quotas = read_quotas(
        ["off, key=boss", "free, tokens=30k/min, model=big, dialect=cerebras", "tier2", "concurrent=4"]
    )
    check_all(Settings(quota=quotas), DIALECTS)

    def allowance(dialect: str, model: str = "small", key: str = "me") -> Allowance | None:
        return allowance_of(quotas, DIALECTS[dialect], model, key)

    free = DIALECTS["cerebras"].quotas.tiers["free"].limits if DIALECTS["cerebras"].quotas else ()
    changed = tuple(
        Limit("tokens", 60, 30_000) if (each.measure, each.window) == ("tokens", 60) else each for each in free
    )
    assert allowance("cerebras", key="boss") is None
    assert allowance("cerebras", model="big") == Allowance(changed)
    assert allowance("cerebras") == allowance("yandex") == Allowance(concurrent=4)
    assert allowance("friendli") == Allowance((Limit("requests", 60, 1_000, fixed=True),))
    assert allowance("ovms") is None
    assert allowance_of((), DIALECTS["cerebras"], "small", "me") is None


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS.values() if dialect.quotas], ids=lambda d: d.name)
def test_the_vendors_own_quota_is_the_first_tier(dialect: Dialect) -> None:
    assert dialect.quotas is not None
    first = next(iter(dialect.quotas.tiers.values()))
    assert allowance_of(read_quotas("vendor"), dialect, "any", "me") == first
