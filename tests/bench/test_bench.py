"""The benchmark's own parts: its statistics, its reader of answers, its pictures and its page; and one short run."""

import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from tests.bench.__main__ import main
from tests.bench.measures import MEASURES
from tests.bench.pacing import Heard, Pace, precision
from tests.bench.questions import conversation, long_text
from tests.bench.report import Report, as_page, as_text, from_json, to_json, write_page
from tests.bench.rounds import alternate, excess, percentile, ratio
from tests.bench.section import Chart, Section
from tests.bench.servers import events_of
from tests.bench.svg import draw, number
from tests.bench.targets import TARGETS, Target
from tests.bench.wire import NUMBER, BadAnswerError, Reader, growing, numbered, request

ROOT = Path(__file__).parents[2]
HEAD = b"HTTP/1.1 200 OK\r\n"
PLAIN = HEAD + b"content-length: 5\r\n\r\nhello"
STREAM = HEAD + b"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n9\r\ndata: b\n\n\r\n0\r\n\r\n"
SECTION = Section(
    title="A title",
    about="How to read it.",
    columns=("", "answers/s"),
    rows=(("mockserver", "12,345"), ("bare", "9")),
    facts={"plain new": 0.9, "start": math.nan},
    charts=(Chart("some", "Some <curve>", "x", "y", {"one": ((1.0, 2.0), (10.0, math.nan))}, "x"),),
    rounds={"mockserver": [1.0, 2.0]},
)


def report() -> Report:
    return Report({"Python": "3.11"}, "21 November 2026", {"throughput": SECTION})


def test_rounds_take_turns_and_turn_the_order() -> None:
    order: list[str] = []

    def measured(name: str) -> Callable[[], int]:
        def measure() -> int:
            order.append(name)
            return len(order)

        return measure

    taken = alternate({name: measured(name) for name in "abc"}, 2)
    assert order == ["a", "b", "c", "c", "b", "a"]
    assert taken == {"a": [1, 6], "b": [2, 5], "c": [3, 4]}


def test_ratios_and_differences_are_formed_within_each_round() -> None:
    assert ratio([10.0, 40.0, 90.0], [10.0, 20.0, 30.0]) == 2.0
    assert excess([10.0, 40.0, 90.0], [10.0, 20.0, 30.0]) == 20.0
    assert math.isnan(ratio([1.0], [0.0]))


@pytest.mark.parametrize("percent, value", [(1, 1), (50, 5), (90, 9), (99, 10), (100, 10)])
def test_a_percentile_is_the_value_of_the_nearest_rank(percent: float, value: float) -> None:
    assert percentile([3, 1, 2, 10, 9, 8, 7, 6, 5, 4], percent) == value


def test_there_is_no_percentile_of_nothing() -> None:
    assert math.isnan(percentile([], 50))


@pytest.mark.parametrize("answer", [PLAIN, STREAM], ids=["length", "chunks"])
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_an_answer_is_whole_at_its_last_byte_however_it_is_cut(answer: bytes, size: int) -> None:
    reader = Reader(keeps=True)
    pieces = [answer[start : start + size] for start in range(0, len(answer), size)]
    for _ in range(2):
        assert [reader.feed(piece) for piece in pieces] == [False] * (len(pieces) - 1) + [True]
        assert reader.body == answer.partition(b"\r\n\r\n")[2]


def test_events_are_counted_once_and_then_reckoned_by_size() -> None:
    reader = Reader()
    longer = STREAM.replace(b"0\r\n\r\n", b"9\r\ndata: c\n\n\r\n9\r\ndata: d\n\n\r\n0\r\n\r\n")
    assert [reader.feed(STREAM), reader.events] == [True, 2]
    assert [reader.feed(STREAM), reader.events] == [True, 4]
    assert reader.feed(longer)
    assert reader.events == pytest.approx(8, abs=0.5)


@pytest.mark.parametrize(
    "answer", [PLAIN.replace(b"200 OK", b"429 Too Many Requests"), HEAD + b"\r\n"], ids=["refused", "without length"]
)
def test_an_answer_that_no_figure_may_be_made_of_is_an_error(answer: bytes) -> None:
    with pytest.raises(BadAnswerError):
        Reader().feed(answer)


def test_chunks_are_joined_to_what_they_hold() -> None:
    assert events_of(STREAM.partition(b"\r\n\r\n")[2]) == b"data: a\n\ndata: b\n\n"


def test_conversations_grow_by_a_turn_each_time_and_differ() -> None:
    turns = conversation(8)
    requests = [*islice(growing(turns, 3), 3 * len(turns) + 1)]
    messages = [[each["content"] for each in json.loads(it.partition(b"\r\n\r\n")[2])["messages"]] for it in requests]
    assert len({texts[0] for texts in messages}) == 4
    assert [len(texts) for texts in messages] == [*(2 * turn + 1 for turn in range(len(turns)) for _ in range(3)), 1]
    assert all(later[: len(texts)] == texts for texts, later in zip(messages, messages[3:-1], strict=False))


def test_numbered_requests_differ_and_are_equally_long() -> None:
    pattern = request("/p", {"prompt": f"{NUMBER} Hello"})
    first, second = (next(it) for it in [numbered(pattern)] * 2)
    assert (first, second) == (pattern.replace(b"#" * 9, b"000000000"), pattern.replace(b"#" * 9, b"000000001"))
    assert b"content-length: 29\r\n" in first


@pytest.mark.parametrize("size", [9, 60, 1_000, 100_000])
def test_a_long_text_is_as_long_as_it_shall_be(size: int) -> None:
    assert len(long_text(size)) == size
    assert long_text(size).startswith(NUMBER)


def test_errors_are_those_of_gaps_and_of_each_tokens_own_instant() -> None:
    on_time = Heard(100.0, [100.0, 100.1, 100.2, 100.3], whole=True)
    late = Heard(200.0, [200.0, 200.15, 200.25, 200.35], whole=True)
    found = precision([on_time, late], Pace(ttft=0.1, itl=0.1, tokens=3, before=1))
    assert found.tokens == 6
    errors = [found.gap_p50, found.gap_p99, found.schedule_p50, found.schedule_p99]
    assert errors == pytest.approx([0, 0, 0, 0.05], abs=1e-9)
    assert found.drift == pytest.approx(0, abs=1e-9)


def test_a_stream_that_grows_longer_drifts() -> None:
    slow = Heard(0.0, [0.1, 0.21, 0.32, 0.43], whole=True)
    assert precision([slow], Pace(0.1, 0.1, 4)).drift == pytest.approx(0.1)
    assert precision([slow], Pace(0.1, 0.1, 4)).longest == pytest.approx(0.11)


def test_a_chart_is_an_svg_with_every_known_point() -> None:
    chart = Chart("c", "A <title>", "streams", "ms", {"one": ((1, 0.1), (10, 3), (100, 0)), "two": ((1, 5),)}, "xy")
    drawn = ElementTree.fromstring(draw(chart))
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in drawn.iter(f"{space}text")]
    assert {"A <title>", "streams", "ms", "one", "two", "100", "0.1"} <= set(texts)
    # A logarithmic axis has no place for zero.
    assert len(list(drawn.iter(f"{space}circle"))) == 3
    xs = [float(circle.attrib["cx"]) for circle in drawn.iter(f"{space}circle")]
    assert all(0 <= x <= 640 for x in xs)
    assert xs[0] < xs[1]


@pytest.mark.parametrize("points", [(), ((1.0, math.nan),), ((5.0, 5.0),), ((0.0, 0.0), (1.0, 0.0)), ((7.0, -1.0),)])
@pytest.mark.parametrize("log", ["", "x", "y", "xy"])
def test_whatever_was_measured_can_be_drawn(points: tuple[tuple[float, float], ...], log: str) -> None:
    drawn = draw(Chart("c", "t", "x", "y", {"one": points}, log))
    ElementTree.fromstring(drawn)
    assert "nan" not in drawn


@pytest.mark.parametrize("value, label", [(0.05, "0.05"), (0, "0"), (500, "500"), (20_000, "20k"), (3e6, "3M")])
def test_labels_are_short(value: float, label: str) -> None:
    assert number(value) == label


def test_a_section_is_a_table_with_figures_at_the_right() -> None:
    assert as_text(SECTION) == "A title\n            answers/s\nmockserver     12,345\nbare                9\n"


def test_a_report_comes_back_from_json() -> None:
    read = from_json(to_json(report()))
    assert (read.about, read.day) == ({"Python": "3.11"}, "21 November 2026")
    assert to_json(read) == to_json(report())
    assert as_page(read, "x") == as_page(report(), "x")


def test_targets_are_reached_missed_or_not_measured() -> None:
    least, most = Target("a", "x", "at least", 0.8), Target("b", "x", "at most", 0.8)
    assert [least.reached({"x": value}) for value in (0.8, 0.7, math.nan)] == [True, False, None]
    assert [most.reached({"x": value}) for value in (0.8, 0.9)] == [True, False]
    assert least.reached({}) is None


def test_the_page_keeps_its_words_and_gets_its_charts(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text((ROOT / "mockserver/docs/performance.md").read_text())
    before = page.read_text().partition("<!-- written")[0]
    for _ in range(2):
        write_page(report(), page)
    written = page.read_text()
    assert written.startswith(before)
    assert written.count("| mockserver | 12,345 |") == 1
    assert f"| {TARGETS[0].what} | at least 0.3 | 0.9 | reached |" in written
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", written):
        ElementTree.fromstring((tmp_path / picture).read_text())


def test_a_page_without_a_place_for_the_report_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Nothing\n")
    with pytest.raises(ValueError, match="marks"):
        write_page(report(), page)


def test_the_page_names_every_part() -> None:
    page = (ROOT / "mockserver/docs/performance.md").read_text()
    assert [name for name in MEASURES if f"`{name}`" not in page] == []


@pytest.mark.parametrize("arguments", ["--short --write", "--render", "--only nothing"])
def test_what_cannot_be_meant_is_refused(arguments: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments.split())
    assert ended.value.code == 2
    assert "error" in capsys.readouterr().err


def test_the_short_run_measures_every_part(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "tests.bench", "--short", "--json", str(figures)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    read = from_json(figures.read_text())
    assert set(read.sections) == set(MEASURES) - {"peers"}
    known = {target.fact for target in TARGETS if not target.fact.startswith(("peers", "pacing 1000"))}
    assert known <= set(read.facts)
    assert read.facts["count error"] == 0
    assert read.facts["workers differing"] == 0
