"""The report: all sections of a run, written as text, as a page and as JSON, and read from JSON."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.section import Chart, Point, Section
from tests.bench.svg import draw
from tests.bench.targets import TARGETS, Target

_BEGIN, _END = "<!-- written by the harness from here -->", "<!-- to here -->"
_VERDICTS = {True: "reached", False: "**missed**", None: "not measured"}


@dataclass(slots=True)
class Report:
    """The sections by name, with a description of the machine and the day of the run."""

    about: Mapping[str, str]
    day: str
    sections: dict[str, Section] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, float]:
        """All facts of all sections."""
        return {name: value for section in self.sections.values() for name, value in section.facts.items()}

    @property
    def charts(self) -> list[Chart]:
        """All charts of all sections."""
        return [chart for section in self.sections.values() for chart in section.charts]


def as_text(section: Section) -> str:
    """A section as a table for a terminal."""
    table = [section.columns, *section.rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(section.columns))]
    lines = ("  ".join(_justified(row, widths)).rstrip() for row in table)
    return "\n".join((section.title, *lines, ""))


def _justified(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    for column, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.rjust(width) if column else cell.ljust(width)


def as_page(report: Report, pictures: str) -> str:
    """The report as Markdown; `pictures` is the folder of its charts, as seen from the page."""
    parts = [_heading(report), _targets(report.facts)]
    for section in report.sections.values():
        parts.append(f"### {section.title}\n\n{section.about}\n\n{_table(section.columns, section.rows)}")
        parts += [f"![{chart.title}]({pictures}/{chart.name}.svg)" for chart in section.charts]
    return "\n\n".join(parts)


def _heading(report: Report) -> str:
    return "\n".join((f"Run of {report.day}.", "", *(f"- {name}: {value}" for name, value in report.about.items())))


def _targets(facts: Mapping[str, float]) -> str:
    rows = [_verdict(target, facts) for target in TARGETS]
    return "### Targets\n\n" + _table(("what", "target", "measured", ""), rows)


def _verdict(target: Target, facts: Mapping[str, float]) -> tuple[str, ...]:
    reached = target.reached(facts)
    measured = target.said(facts[target.fact]) if reached is not None else "-"
    return target.what, f"{target.side} {target.said(target.bound)}", measured, _VERDICTS[reached]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = [columns, ["---", *["---:"] * (len(columns) - 1)]]
    return "\n".join("| " + " | ".join(row) + " |" for row in (*head, *rows))


def targets_as_text(facts: Mapping[str, float]) -> str:
    """The table of targets for a terminal."""
    rows = tuple(_verdict(target, facts) for target in TARGETS)
    return as_text(Section("Targets", "", ("", "target", "measured", ""), rows)).replace("**", "  ")


def write_page(report: Report, page: Path) -> None:
    """Write the report between the page's two marks, and its charts to the folder named like the page."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{page}: the marks {_BEGIN!r} and {_END!r} are not there")
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for chart in report.charts:
        (folder / f"{chart.name}.svg").write_text(draw(chart), encoding="utf-8")
    body = as_page(report, folder.name)
    page.write_text(f"{before}{_BEGIN}\n\n{body}\n\n{_END}{after}", encoding="utf-8")


def to_json(report: Report) -> str:
    """The report as JSON, with null for NaN."""
    return json.dumps(_finite(asdict(report)), indent=1) + "\n"


def from_json(text: str) -> Report:
    """Read a report that was written as JSON. ValueError or KeyError if the text is not one."""
    read = json.loads(text)
    return Report(read["about"], read["day"], {name: _section(value) for name, value in read["sections"].items()})


def _section(read: dict[str, Any]) -> Section:
    return Section(
        title=read["title"],
        about=read["about"],
        columns=tuple(read["columns"]),
        rows=tuple(map(tuple, read["rows"])),
        facts={name: math.nan if value is None else value for name, value in read["facts"].items()},
        charts=tuple(_chart(chart) for chart in read["charts"]),
        rounds=read["rounds"],
    )


def _chart(read: dict[str, Any]) -> Chart:
    series = {name: tuple(map(_point, points)) for name, points in read["series"].items()}
    return Chart(read["name"], read["title"], read["x"], read["y"], series, read["log"])


def _point(read: Sequence[float | None]) -> Point:
    x, y = read
    return (math.nan if x is None else x, math.nan if y is None else y)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
