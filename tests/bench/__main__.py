"""Measure the product against bare servers and other mock servers: alternated rounds, medians, ratios of one run."""

import argparse
import compileall
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import machine
from tests.bench.effort import FULL, SHORT, Effort
from tests.bench.measures import MEASURES
from tests.bench.report import Report, as_text, from_json, targets_as_text, to_json, write_page
from tests.bench.section import Section
from tests.bench.servers import ROOT
from tests.bench.wire import BadAnswerError

PAGE = ROOT / "mockserver" / "docs" / "performance.md"
LATEST = ROOT / "tests" / "bench" / "latest.json"


def main(arguments: list[str] | None = None) -> int:
    """Take the requested measures and print them; the exit code is 1 if one could not be taken."""
    options = _options(arguments)
    machine.pin_client()
    # As an installation does, since Python may be configured not to write bytecode.
    compileall.compile_dir(ROOT / "mockserver", quiet=1)
    effort = SHORT if options.short else FULL
    report = from_json(LATEST.read_text()) if options.again else Report({}, "")
    failed = 0
    if not options.render:
        report.about, report.day = machine.about(), f"{datetime.now(UTC):%d %B %Y}"
        names = options.only or [name for name in MEASURES if not (options.short and name == "peers")]
        failed = sum(not _take(name, effort, report) for name in names)
        report.sections = {name: report.sections[name] for name in MEASURES if name in report.sections}
    if not options.short:
        print(targets_as_text(report.facts))
    _write(report, options)
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "--short", action="store_true", help="only check that everything runs; the figures are meaningless"
    )
    parser.add_argument("--only", nargs="+", choices=MEASURES, metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file, as JSON")
    parser.add_argument("--write", action="store_true", help="write the page in the docs, its charts and latest.json")
    parser.add_argument("--again", action="store_true", help="add the measurements to the report of the latest run")
    parser.add_argument(
        "--render", action="store_true", help="with --again and --write: write the page without measuring"
    )
    return parser


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.short and options.write:
        parser.error("--write needs a full run: the figures of a short one are meaningless")
    if options.again and not LATEST.exists():
        parser.error(f"--again: there is no latest run ({LATEST.relative_to(ROOT)}); make one with --write")
    if options.render and not options.again:
        parser.error("--render needs --again, since it does not measure")
    return options


def _take(name: str, effort: Effort, report: Report) -> bool:
    """Take one measure; False if it fails, which is printed, so that the others are still taken."""
    began = time.perf_counter()
    try:
        section: Section = MEASURES[name](effort)
    except (OSError, AssertionError, ValueError, BadAnswerError) as error:
        print(f"{name}: could not be measured: {error}", file=sys.stderr, flush=True)
        return False
    report.sections[name] = section
    print(as_text(section), f"[{name}: {time.perf_counter() - began:.1f} s]\n", sep="", flush=True)
    return True


def _write(report: Report, options: argparse.Namespace) -> None:
    if options.json:
        options.json.write_text(to_json(report), encoding="utf-8")
    if options.write:
        LATEST.write_text(to_json(report), encoding="utf-8")
        write_page(report, PAGE)


if __name__ == "__main__":
    sys.exit(main())
