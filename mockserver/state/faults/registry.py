"""The fault rules of a namespace, and which of them strike a request.

Each namespace counts what its rules have seen. If a rule strikes only a share of the requests, the draw is derived from
the request and how often it has come before, so that the same requests are struck in any order of arrival, retries can
succeed, and the share is also that of a load test which repeats one request.
"""

from collections.abc import Iterator
from typing import NamedTuple

from mockserver.core.criteria import decided
from mockserver.core.seeding import Draws, derive
from mockserver.faults.rules import Fault, holds, strikes
from mockserver.state.context import RequestContext
from mockserver.state.faults.overrides import fits
from mockserver.state.plan import Plan
from mockserver.state.strikes import Count, Origin, Strike

# Distinguishes the counters of armed rules from those of the settings and the routes.
_ARMED = "armed "


class FaultRule(NamedTuple):
    """A fault with the name of its counter and its origin; its window is counted from `armed_at`, in seconds.

    `scenario` is the common name of rules that were armed together.
    """

    name: str
    fault: Fault
    armed_at: float
    by: Origin
    scenario: str = ""


class FaultRules:
    """The fault rules of a namespace: those of the settings and the routes, and those armed at run time.

    Instants are in seconds on the namespace's clock, which only goes forward.
    """

    def __init__(self) -> None:
        self._armed: dict[str, FaultRule] = {}
        self._counts: dict[str, Count] = {}

    def arm(self, name: str, fault: Fault, now: float, scenario: str = "") -> None:
        """Add a rule, or replace the one of that name; its counts start at zero."""
        self._armed[name] = FaultRule(_ARMED + name, fault, now, "armed", scenario or name)
        self._counts.pop(_ARMED + name, None)

    def disarm(self, name: str) -> bool:
        """Remove a rule, or all rules of a scenario; False if there is none of that name."""
        taken = [own for own, rule in self._armed.items() if name in (own, rule.scenario)]
        for own in taken:
            del self._armed[own]
            self._counts.pop(_ARMED + own, None)
        return bool(taken)

    def reset(self) -> None:
        """Remove all armed rules, and all counts."""
        self._armed.clear()
        self._counts.clear()

    def recount(self) -> None:
        """Reset the counts of the rules of settings and routes, which have changed."""
        self._counts = {name: count for name, count in self._counts.items() if name.startswith(_ARMED)}

    def armed(self) -> list[tuple[str, Fault, Count]]:
        """The armed faults, each with its name and its counts."""
        return [(name, rule.fault, self._counts.get(rule.name, Count())) for name, rule in self._armed.items()]

    def pick(self, plan: Plan, now: float, since: float = 0.0) -> tuple[Strike, ...]:
        """The faults with which rules strike a request: those of its route, of the settings, and armed ones.

        They count as having struck; only the answer shows which of them have no effect (`take_back`). The windows of
        the settings' and the routes' rules are counted from `since`.
        """
        context = plan.context
        if not self._armed and not context.settings.fault and context.route.configured is None:
            return ()
        rules = (*_standing(context, since), *self._armed.values())
        if not rules:
            return ()
        facts = plan.facts
        assert facts is not None, "a request that meets rules has facts"
        decisions = [(rule, decided(rule.fault.match, facts)) for rule in rules if fits(rule.fault, plan)]
        for rule, decision in decisions:
            if decision is None:
                self._count(rule).undecided += 1
        meant = [rule for rule, met in decisions if met and self._count_and_draw(context, rule, now)]
        return tuple(Strike(rule.fault, rule.by, _own_name(rule), self._count(rule)) for rule in meant)

    def _count(self, rule: FaultRule) -> Count:
        return self._counts.setdefault(rule.name, Count())

    def _count_and_draw(self, context: RequestContext, rule: FaultRule, now: float) -> bool:
        """Count the request if the rule's window is open, and return whether it is struck."""
        chance, elapsed = rule.fault.chance, now - rule.armed_at
        if not holds(chance, elapsed):
            return False
        count = self._count(rule)
        count.matched += 1
        # A rule that strikes every request needs no draw.
        draw = 0.0 if chance.share == 1 and chance.share_end is None else _draw(context, rule.name, count)
        struck = strikes(chance, count.matched, count.struck, elapsed, draw)
        count.struck += struck
        return struck


def _standing(context: RequestContext, since: float) -> Iterator[FaultRule]:
    """The rules of the request's route and those of the settings."""
    route = context.route.configured
    if route is not None:
        for number, fault in enumerate(route.faults):
            yield FaultRule(f"{route.path} {number}", fault, since, "route")
    for number, fault in enumerate(context.settings.fault):
        yield FaultRule(f"settings {number}", fault, since, "settings")


def _own_name(rule: FaultRule) -> str:
    """The name under which a rule was armed; empty for all others."""
    return rule.name.removeprefix(_ARMED) if rule.by == "armed" else ""


def _draw(context: RequestContext, name: str, count: Count) -> float:
    """The draw of a rule for a request; it is another one each time that the same request is repeated."""
    request = (context.site.seed, "fault", name, context.call.path, context.call.fingerprint)
    time = count.times_seen(derive(*request))
    return Draws(derive(*request, *((time,) if time > 1 else ()))).unit()
