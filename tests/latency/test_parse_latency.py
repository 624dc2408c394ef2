"""The notation of latencies: what can be written, and the errors for mistakes."""

from collections.abc import Callable

import pytest

from mockserver.latency.parse_latency import (
    NotationError,
    preset_profile,
    read_latency,
    read_lengths,
    read_profile,
)
from mockserver.latency.profiles import Constant, Distribution, Empirical, Gamma, Lognormal, Normal, Profile, Uniform
from mockserver.latency.traces import TraceFile, Traces


@pytest.mark.parametrize(
    "text, distribution",
    [
        ("180ms", Constant(0.18)),
        ("1.5s", Constant(1.5)),
        ("0", Constant(0)),
        ("250us", Constant(0.00025)),
        (" 2 min ", Constant(120)),
        ("constant(1s)", Constant(1)),
        ("uniform(10ms, 20ms)", Uniform(0.01, 0.02)),
        ("uniform(max=20ms, min=10ms)", Uniform(0.01, 0.02)),
        ("normal(1s, 200ms)", Normal(1, 0.2)),
        ("normal(1s, sd=200ms, min=500ms, max=2s)", Normal(1, 0.2, 0.5, 2)),
        ("lognormal(180ms, 0.35)", Lognormal(0.18, 0.35)),
        ("lognormal(180ms, 0.35, max=2s)", Lognormal(0.18, 0.35, 2)),
        ("gamma(2, 50ms)", Gamma(2, 0.05)),
        ("empirical(10ms, 12ms, 300ms)", Empirical((0.01, 0.012, 0.3))),
    ],
)
def test_a_distribution_is_read_as_it_is_written(text: str, distribution: Distribution) -> None:
    assert read_profile(f"ttft={text}").ttft == distribution


def test_a_profile_is_settings_a_preset_or_a_preset_changed() -> None:
    assert read_profile("slow") == preset_profile("slow")
    assert read_profile("ttft=lognormal(180ms, 0.35), rate=50 tok/s") == Profile(
        ttft=Lognormal(0.18, 0.35), gap=Constant(0.02)
    )
    changed = read_profile("slow, itl=20ms, jitter=0.2")
    assert (changed.prefill, changed.gap, changed.jitter) == (preset_profile("slow").prefill, Constant(0.02), 0.2)
    everything = "network=1ms, queue=2ms, prefill=3ms, prefill_per_token=1us, itl=4ms, stall=1s, stall_share=0.1"
    assert read_profile(everything).stall_share == 0.1


def test_chunks_speed_and_load_are_settings_too() -> None:
    assert read_profile("fast, tokens_per_chunk=normal(6, 2, max=9), speed=2.5") == preset_profile("fast")._replace(
        chunk=Normal(6, 2, most=9), speed=2.5
    )
    assert read_profile("slots=4, waiting=2, slowdown=1.8, interference=0.5") == Profile(
        slots=4, waiting=2, slowdown=1.8, interference=0.5
    )
    assert read_profile("ovms-npu, slots=unlimited, waiting=unlimited").slots is None


def test_realistic_is_the_preset_that_the_reader_names() -> None:
    assert read_profile("realistic, speed=10", realistic="fast") == preset_profile("fast")._replace(speed=10)
    with pytest.raises(NotationError, match="unknown preset 'realistic'"):
        read_profile("realistic")
    with pytest.raises(NotationError, match=r"'fsat': column 1: unknown preset 'fsat'.* Known: .*, off, realistic"):
        read_latency("fsat")
    with pytest.raises(NotationError, match="column 1: off has no settings; use instant"):
        read_latency("off, speed=2")


@pytest.mark.parametrize("rate", ["50 tok/s", "50tok/s", "50 tokens / s", "50 t/s", "50/s", "50 tps", "50", "50.0"])
def test_a_rate_is_in_tokens_per_second_however_that_is_said(rate: str) -> None:
    assert read_profile(f"ttft=.5s, rate={rate}") == read_profile("ttft=500ms, itl=20ms")


@pytest.mark.parametrize(
    "text, complaint",
    [
        (
            "ttft=lognorml(1s, 2)",
            "column 6: unknown distribution 'lognorml'. Did you mean 'lognormal'? Known: constant, ",
        ),
        ("ttft=normal(1s)", "column 6: sd is missing in 'normal(1s)'"),
        ("ttft=normal(1s, fast)", "column 17: 'fast' is not a duration such as '180ms', '1.5s' or '0'"),
        ("ttft=normal(1s, 1s, 1s, 1s, 1s)", "column 29: '1s' is an unexpected argument"),
        ("ttft=lognormal(1s, 0.3, most=2s)", "column 30: '2s' is an unexpected argument"),
        ("ttft=uniform(1s, 2s", "column 1: a bracket is not closed"),
        ("ttft=gamma(0, 1s)", "column 12: 0 must be greater than 0"),
        ("ttft=180", "column 6: '180' is not a duration"),
        ("ttft=lognormal(1s, 99)", "column 20: 99 is not a spread from 0 to 10"),
        ("ttft=", "column 6: '' is not a duration"),
        ("ttft=-5ms", "column 6: '-5ms' is not a duration"),
        ("ttft=1s, rat=5 tok/s", "column 10: unknown setting 'rat'. Did you mean 'rate'?"),
        ("ttft=1s, rate=fast", "column 15: 'fast' is not a rate such as '1800 tok/s'"),
        ("ttft=1s, slow", "column 10: a preset must come before the settings that change it; move 'slow' to the front"),
        ("ttft=1s, ttft=2s", "column 10: ttft is set twice"),
        ("slow, itl=10ms, rate=5 tok/s", "column 17: itl and rate set the same thing"),
        ("slow, stall=1s", "column 1: stall and stall_share must be set together"),
        ("itl=uniform(30ms, 10ms)", "column 5: the minimum is greater than the maximum in 'uniform(30ms, 10ms)'"),
        ("slow, stall_share=2", "column 19: 2 is not a share from 0 to 1"),
        ("slow, tokens_per_chunk=0", "column 24: 0 is not a number of tokens from 1 to 4096"),
        ("tokens_per_chunk=uniform(1ms, 2)", "column 26: '1ms' is not a number"),
        ("slow, speed=0", "column 13: 0 must be greater than 0"),
        ("slow, speed=9999999", "column 13: 9999999 is not a speed from 0.000001 to 1000000"),
        ("slots=0", "column 7: must be at least 1, since an engine without slots cannot serve any request"),
        ("slots=2, waiting=-1", "column 18: '-1' is neither a whole number nor 'unlimited'"),
        ("slots=2, slowdown=0.5", "column 19: 0.5 is not a factor from 1 to 1000"),
        ("interference=1.5", "column 14: 1.5 is not a share from 0 to 1"),
        ("sloow", "column 1: unknown preset 'sloow'. Did you mean 'slow'?"),
        ("180ms", "column 1: '180ms' does not say of what: name it, as in 'ttft=180ms' or 'rate=50 tok/s'"),
        ("slow, 50 tok/s", "column 7: '50 tok/s' does not say of what: name it, as in"),
    ],
)
def test_a_mistake_in_a_profile_names_its_column(text: str, complaint: str) -> None:
    with pytest.raises(NotationError) as raised:
        read_profile(text)
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    "text, lengths",
    [
        ("off", None),
        ("128", Constant(128)),
        ("128 tok", Constant(128)),
        ("131072 tokens", Constant(131_072)),
        ("normal(128, 20)", Normal(128, 20)),
        ("normal(128.5 tok, 0.5, min=64, max=256)", Normal(128.5, 0.5, 64, 256)),
        ("uniform(0, 10)", Uniform(0, 10)),
        ("lognormal(180, 0.35, max=2000)", Lognormal(180, 0.35, 2000)),
        ("gamma(2, 50)", Gamma(2, 50)),
        ("empirical(16, 64, 64, 512)", Empirical((16, 64, 64, 512))),
        ("empirical(file=lengths.csv, column=output)", Empirical((12, 300))),
    ],
)
def test_lengths_are_distributions_of_tokens(text: str, lengths: Distribution | None) -> None:
    assert read_lengths(text, Traces({TraceFile("lengths.csv", "output"): (12.0, 300.0)})) == lengths


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("few", "'few': column 1: 'few' is not a number of tokens up to 131072. Write '128', 'normal(128, 20)' or"),
        ("180ms", "column 1: '180ms' is not a number of tokens"),
        ("normal(128, 20ms)", "column 13: '20ms' is not a number of tokens"),
        ("131073", "column 1: '131073' is not a number of tokens up to 131072"),
        ("9" * 400, "is not a number of tokens up to 131072"),
        ("uniform(0, 0.5)", "column 1: an answer has at least one token"),
        ("normal(128)", "column 1: sd is missing in 'normal(128)'"),
        ("normal(128, 20", "column 15: the bracket is not closed"),
        ("poisson(128)", "unknown distribution 'poisson'. Known: constant, uniform, normal"),
        ("ttft=128", "'ttft=128' is not a number of tokens"),
        ("", "'': column 1: '' is not a number of tokens"),
        ("empirical(file=a.txt)", "column 16: a.txt: an answer must have from 1 to 131072 tokens"),
        ("empirical(file=b.txt)", "column 16: the trace b.txt has not been loaded"),
    ],
)
def test_a_mistake_in_lengths_names_its_column_and_what_would_be_valid(text: str, complaint: str) -> None:
    with pytest.raises(NotationError) as raised:
        read_lengths(text, Traces({TraceFile("a.txt"): (0.18, 128.0)}))
    assert complaint in str(raised.value)
    assert str(raised.value).endswith(", or off")


@pytest.mark.parametrize("read", [read_profile, read_lengths, read_latency])
def test_a_text_of_a_megabyte_is_refused_at_once(read: Callable[[str], object]) -> None:
    with pytest.raises(NotationError, match="it has 1,000,000 characters; at most 10,000 are read"):
        read("a" * 1_000_000)
