"""The verdict: how clients have behaved towards a server that failed, judged from the journal.

It sees what a server can see, and takes the rest from the test's declaration.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from mockserver.control.journal.lines import loss
from mockserver.control.journal.views import View
from mockserver.control.verify.attempts import Attempts, attempts_of, succeeded
from mockserver.control.verify.conduct import JUDGES, Case, Finding, Unjudged
from mockserver.control.verify.declarations import Declaration


@dataclass(frozen=True, slots=True)
class Verdict:
    """All faults of conduct that a journal shows, the calls that were judged, and what could not be.

    Where so many exchanges are `forgotten`, nothing that it says is certain.
    """

    findings: tuple[Finding, ...]
    calls: tuple[Attempts, ...]
    unjudged: tuple[Unjudged, ...] = ()
    forgotten: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def is_proven(self) -> bool:
        """Whether nothing was found, and all of it was looked at."""
        return self.is_clean and not self.forgotten

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {
            "clean": self.is_clean,
            "findings": [asdict(finding) for finding in self.findings],
            "calls": [_call(call) for call in self.calls],
            "unjudged": [asdict(each) for each in self.unjudged],
        }

    def as_text(self) -> str:
        """The verdict for people: one line for each finding, then what could not be judged."""
        found = [f"{finding.fault}: {finding.message}" for finding in self.findings]
        open_questions = [f"not judged: {each.fault}: {each.why}" for each in self.unjudged]
        count = f"{len(self.calls)} call{'s' if len(self.calls) != 1 else ''}"
        return "\n".join([*(found or [f"No fault of conduct in {count}."]), *open_questions])


def judge(
    views: Iterable[View],
    declared: Declaration | None = None,
    *,
    now: float | None = None,
    ahead: float = 0.0,
    forgotten: int = 0,
) -> Verdict:
    """The verdict on the clients of some exchanges, which may be of several namespaces; so many are forgotten."""
    seen = list(views)
    answered = max((view.arrived for view in seen if view.is_question and succeeded(view)), default=-inf)
    case = Case(seen, attempts_of(seen), declared or Declaration(), now, ahead, answered)
    judgements = [each for check in JUDGES.values() for each in check(case)]
    findings = tuple(each for each in judgements if isinstance(each, Finding))
    unjudged = [each for each in judgements if isinstance(each, Unjudged)]
    if forgotten:
        unjudged.insert(0, Unjudged("conduct", loss(forgotten)))
    return Verdict(findings, tuple(case.calls), tuple(unjudged), forgotten)


def _call(call: Attempts) -> dict[str, Any]:
    """The attempts of a call as plain JSON values."""
    return {
        "attempts": list(call.numbers),
        "statuses": [view.status for view in call.views],
        "faults": [list(view.faults) for view in call.views],
        "waits": list(call.waits),
        "succeeded": succeeded(call.last),
    }
