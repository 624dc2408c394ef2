"""The verdict: how clients have behaved when a server failed, judged from the journal.

It uses what a server can see, and the test's declaration for the rest.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mockserver.core.naming import counted
from mockserver.state.journal.lines import loss
from mockserver.state.journal.views import View
from mockserver.state.verify.attempts import Attempts, attempts_of, conversation_key, request_key, succeeded
from mockserver.state.verify.conduct import JUDGES, Case, Finding, Unjudged
from mockserver.state.verify.declarations import Declaration


@dataclass(frozen=True, slots=True)
class Verdict:
    """All faults of conduct that a journal shows, the calls that were judged, and what could not be judged.

    If exchanges are `forgotten`, nothing in it is certain.
    """

    findings: tuple[Finding, ...]
    calls: tuple[Attempts, ...]
    unjudged: tuple[Unjudged, ...] = ()
    forgotten: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether there are no findings."""
        return not self.findings

    @property
    def is_proven(self) -> bool:
        """Whether there are no findings, and no exchange was forgotten."""
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
        """The verdict as text: one line for each finding, then what could not be judged."""
        found = [f"{finding.fault}: {finding.message}" for finding in self.findings]
        open_questions = [f"not judged: {each.fault}: {each.why}" for each in self.unjudged]
        calls = counted(len(self.calls), "call")
        return "\n".join([*(found or [f"No faults of conduct in {calls}."]), *open_questions])


def judge(
    views: Iterable[View],
    declared: Declaration | None = None,
    *,
    now: float | None = None,
    ahead: float = 0.0,
    forgotten: int = 0,
) -> Verdict:
    """The verdict on the clients of some exchanges, possibly of several namespaces; `forgotten` ones are missing."""
    seen = list(views)
    case = Case(seen, attempts_of(seen), declared or Declaration(), now, ahead, _answered(seen))
    judgements = [each for check in JUDGES.values() for each in check(case)]
    findings = tuple(each for each in judgements if isinstance(each, Finding))
    unjudged = [each for each in judgements if isinstance(each, Unjudged)]
    if forgotten:
        unjudged.insert(0, Unjudged("conduct", loss(forgotten)))
    return Verdict(findings, tuple(case.calls), tuple(unjudged), forgotten)


def _answered(views: Iterable[View]) -> dict[bytes, View]:
    """The latest successful request of each key, and under b"" that of all."""
    latest: dict[bytes, View] = {}
    for view in sorted(views, key=lambda each: each.arrived):
        if view.is_question and succeeded(view):
            latest |= dict.fromkeys((b"", request_key(view), conversation_key(view)), view)
    return latest


def _call(call: Attempts) -> dict[str, Any]:
    """The attempts of a call as plain JSON values."""
    return {
        "attempts": list(call.numbers),
        "statuses": [view.status for view in call.views],
        "faults": [list(view.faults) for view in call.views],
        "waits": list(call.waits),
        "succeeded": succeeded(call.last),
    }
