"""Recorded traces: formats of files, how latencies name them, and the errors for mistakes."""

import pytest

from mockserver.latency.parse_latency import NotationError, read_profile
from mockserver.latency.profiles import Empirical
from mockserver.latency.timing import draw_timing
from mockserver.latency.traces import NO_TRACES, TraceError, TraceFile, Traces, read_trace

CSV = b'\xef\xbb\xbfmodel, ttft_ms\r\n8b,180\r\n8b,\r\n"70\nb",1900.5\r\n'
JOURNAL = (
    b'{"number":1,"timing":{"ttft":0.25},"outcome":{"seconds":1e0}}\n'
    b'{"number":2,"timing":{}}\n\n'
    b'{"number":3,"timing":{"ttft":null}}\n'
    b'{"number":4,"timing":{"ttft":1.5e-2}}\n'
)


@pytest.mark.parametrize(
    "recording, data, times",
    [
        (TraceFile("ttft.txt"), b"# measured in May\n180ms\n\n  0.25\n 2 min \n.5\n0\n", (0.18, 0.25, 120.0, 0.5, 0.0)),
        (TraceFile("ttft", unit="ms"), "180\n1500us\n3µs\r\n".encode(), (0.18, 0.0015, 3e-6)),
        (TraceFile("a.csv", "ttft_ms", "ms"), CSV, (0.18, 1.9005)),
        (TraceFile("a.CSV"), b"itl\n10ms\n0.02\n", (0.01, 0.02)),
        (TraceFile("journal.jsonl", "timing.ttft"), JOURNAL, (0.25, 0.015)),
        (TraceFile("journal.jsonl", "outcome.seconds"), JOURNAL, (1.0,)),
        (TraceFile("bench.ndjson", "itls", "ms"), b'{"itls": [8, "9ms", null]}\n{"itls": []}', (0.008, 0.009)),
        (TraceFile("plain.jsonl"), b'0.5\n"20ms"\n', (0.5, 0.02)),
    ],
)
def test_a_file_is_read_as_its_name_says(recording: TraceFile, data: bytes, times: tuple[float, ...]) -> None:
    assert read_trace(recording, data) == pytest.approx(times)


@pytest.mark.parametrize(
    "recording, data, complaint",
    [
        (TraceFile("t.txt"), b"1\n\nsoon\n", "t.txt, line 3: 'soon' is not a duration such as '180ms' or 0.18"),
        (TraceFile("t.txt"), b"-1", "t.txt, line 1: '-1' is not a duration"),
        (TraceFile("t.txt"), b"nan", "t.txt, line 1: 'nan' is not a duration"),
        (TraceFile("t.txt"), b"1e999", "t.txt, line 1: '1e999' is not a duration"),
        (TraceFile("t.txt"), b"# nothing yet\n", "t.txt: contains no times"),
        (TraceFile("t.txt"), b"\xff", "t.txt: is not UTF-8 text"),
        (TraceFile("t.txt"), b"1\n" * 100_001, "t.txt, line 100001: has more than 100000 values"),
        (
            TraceFile("t.txt", "ttft"),
            b"1\n",
            "t.txt: column can only be used for files whose names end in .csv, .jsonl, .ndjson",
        ),
        (TraceFile("t.csv", "tft"), b"ttft\n1\n", "t.csv, line 1: unknown column 'tft'. Did you mean 'ttft'?"),
        (TraceFile("t.csv"), b"ttft,itl\n1,2\n", "t.csv, line 1: name the column to use, such as column=ttft"),
        (TraceFile("t.csv"), b"0.5\n0.6\n", "t.csv, line 1: a .csv file must begin with a line that names its columns"),
        (TraceFile("t.csv"), b"", "t.csv, line 1: a .csv file must begin with a line that names its columns"),
        (TraceFile("t.csv"), b"ttft\n1\nsoon\n", "t.csv, line 3: 'soon' is not a duration"),
        (TraceFile("t.csv"), b'ttft\n"1\n', "t.csv, line 2: unexpected end of data"),
        (TraceFile("t.jsonl", "ttft"), b'{"ttft": 1}\n{"ttft": \n', "t.jsonl, line 2: is not valid JSON"),
        (TraceFile("t.jsonl", "ttft"), b"[" * 100_000, "t.jsonl, line 1: is not valid JSON"),
        (TraceFile("t.jsonl", "ttft"), b'{"ttft": true}', "t.jsonl, line 1: 'true' is not a duration"),
        (TraceFile("t.jsonl", "ttft"), b'{"ttft": NaN}', "t.jsonl, line 1: 'NaN' is not a duration"),
        (TraceFile("t.jsonl"), b'{"ttft": 1}', "t.jsonl, line 1: name the key to use, such as column=timing.ttft"),
        (TraceFile("t.jsonl", "timing.tft"), JOURNAL, "t.jsonl, column=timing.tft: contains no times"),
    ],
)
def test_a_mistake_in_a_file_names_its_line(recording: TraceFile, data: bytes, complaint: str) -> None:
    with pytest.raises(TraceError) as raised:
        read_trace(recording, data)
    assert str(raised.value).startswith(complaint)


def test_a_latency_names_a_recording_like_any_distribution() -> None:
    known = Traces(
        {
            TraceFile("traces/ttft.txt"): (0.3, 0.1, 0.2),
            TraceFile("itl.csv", "itl", "ms"): (0.01,),
            TraceFile("chunks.txt"): (2, 4),
        }
    )
    profile = read_profile(
        "realistic, ttft=empirical(file=traces/ttft.txt), itl=empirical(unit=ms, column = itl, file=itl.csv), "
        "tokens_per_chunk=empirical(file=chunks.txt)",
        "fast",
        known,
    )
    assert (profile.ttft, profile.gap, profile.chunk) == (
        Empirical((0.1, 0.2, 0.3)), Empirical((0.01,)), Empirical((2, 4)),
    )  # fmt: skip
    assert {draw_timing(profile, 1, 0, key).schedule[0] for key in range(60)} == {0.1, 0.2, 0.3}


def test_all_that_was_measured_is_equally_likely() -> None:
    measured = Empirical((3.0, 1.0, 2.0))
    assert [measured.quantile(share) for share in (0, 0.3, 0.34, 0.6, 0.7, 1)] == [1, 1, 2, 2, 3, 3]
    assert (measured, hash(measured)) == (Empirical((1.0, 2.0, 3.0)), hash(Empirical((2.0, 3.0, 1.0))))
    assert measured != Empirical((1.0, 2.0))


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("ttft=empirical(file=other.txt)", "column 21: the trace other.txt has not been loaded. Trace files are"),
        ("ttft=empirical(file=t.txt, column=a)", "column 21: the trace t.txt, column=a has not been loaded"),
        ("ttft=empirical(file=t.txt, 10ms)", "column 28: '10ms' is an unexpected argument"),
        ("ttft=empirical(file=t.txt, unit=sec)", "column 33: unknown unit 'sec'. Known: us, µs, ms, s, min"),
        ("ttft=empirical(10ms, column=a)", "column 29: 'a' is an unexpected argument"),
        ("ttft=empirical(file=a.txt, file=t.txt)", "column 28: file is set twice"),
        ("ttft=normal(file=t.txt)", "column 6: mean is missing in 'normal(file=t.txt)'"),
        ("tokens_per_chunk=empirical(file=t.txt)", "column 33: t.txt: a chunk must have from 1 to 4096 tokens"),
        ("ttft=empirical()", "column 16: '' is not a duration"),
    ],
)
def test_a_recording_that_cannot_be_meant_is_told_by_its_column(text: str, complaint: str) -> None:
    with pytest.raises(NotationError) as raised:
        read_profile(text, traces=Traces({TraceFile("t.txt"): (0.5,)}))
    assert str(raised.value).startswith(complaint)


def test_what_was_read_before_stays_readable_and_gives_way_to_what_is_read_anew() -> None:
    old, both = TraceFile("old.txt"), TraceFile("both.txt")
    older, newer = Traces({old: (1.0,), both: (2.0,)}), Traces({both: (3.0,)})
    assert newer.over(older).known == {old: (1.0,), both: (3.0,)}
    assert newer.over(NO_TRACES) is newer
    assert NO_TRACES.over(older) is older
    assert older.over(older) is older
