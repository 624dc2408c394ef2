"""The logbook: what a recorder does, in a journal that tells it as a simulator tells of its own answers."""

from dataclasses import replace
from time import time

from mockserver.core.calls import Call, Headers
from mockserver.core.timeline import Run, Timeline
from mockserver.pipeline import parse
from mockserver.server.recording.replays import Replay
from mockserver.server.recording.takes import Take, exchange_of
from mockserver.server.recording.targets import Target
from mockserver.state.context import make_context
from mockserver.state.journal.exchanges import Denial, Journal
from mockserver.state.plan import NOTHING_YET, Plan
from mockserver.state.settings import Settings
from mockserver.state.stubs.bodies import is_stream


class Logbook:
    """Notes in a journal what comes and what is answered; without a journal nothing."""

    def __init__(self, journal: Journal | None, settings: Settings) -> None:
        self._journal = journal
        # Whose key is accepted is for the vendor to say.
        self._settings = replace(settings, auth="off")

    def begin(self, take: Take) -> None:
        """A request is forwarded."""
        if self._journal is not None:
            target, plan = take.target, self._planned(take.target, take.call, NOTHING_YET)
            take.noted = self._journal.open(target.namespace, target.path, take.call, plan, arrived=take.began)

    def end(self, take: Take) -> None:
        """The vendor's answer has ended."""
        noted = take.noted
        if self._journal is not None and noted is not None and noted.plan is not None:
            told = exchange_of(take, noted.number, self._settings)
            assert told.plan is not None, "what was recorded has a plan"
            noted.plan.timeline, noted.record = told.plan.timeline, told.record
            self._journal.notify(noted)

    def give_up(self, take: Take, denial: Denial, instant: float) -> None:
        """The vendor has not answered; the client is given an answer of our own."""
        noted = take.noted
        if self._journal is not None and noted is not None:
            noted.plan, noted.denial = None, denial
            noted.record.closed_by, noted.record.seconds = "server", instant - take.began
            self._journal.notify(noted)

    def deny(self, method: str, path: str, headers: Headers, denial: Denial, instant: float) -> None:
        """A request is not forwarded."""
        if self._journal is not None:
            call = Call(method, path, headers, b"", "", time())
            noted = self._journal.open("", path, call, denial=denial, arrived=instant)
            noted.record.closed_by = "server"
            self._journal.notify(noted)

    def replay(self, target: Target, call: Call, replay: Replay, instant: float) -> None:
        """A request is answered from the recording, at once."""
        if self._journal is None:
            return
        count, kind = len(replay.pieces), dict(replay.headers).get(b"content-type", b"")
        run = Run(replay.pieces, (0.0,) * count, (0,) * count)
        timeline = Timeline(replay.status, replay.headers, (run,), is_stream(kind.decode("latin-1")))
        plan = self._planned(target, call, timeline)
        noted = self._journal.open(target.namespace, target.path, call, plan, arrived=instant)
        noted.record.wrote_each(run.tokens, 0.0)
        noted.record.closed_by = "server"
        self._journal.notify(noted)

    def _planned(self, target: Target, call: Call, timeline: Timeline) -> Plan:
        """The plan of an answer, with what the dialect understands of its request."""
        plan = parse(make_context(call, target.route, self._settings))
        return Plan(plan.context, plan.request, timeline=timeline)
