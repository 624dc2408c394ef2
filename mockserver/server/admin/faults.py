"""The admin API of the faults: list, arm, disarm."""

from collections.abc import Mapping, Sequence
from itertools import chain, count

from mockserver.core.matching.requests import in_words
from mockserver.core.messages import short_repr
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import FaultError, read_table
from mockserver.faults.rules import Fault
from mockserver.server.admin.endpoints import AdminError, AdminRequest, endpoint, per_namespace
from mockserver.server.admin.schemas import (
    ANY,
    NUMBER,
    PLACES,
    TEXT,
    WHOLE,
    Schema,
    api_fault,
    by_name,
    described,
    maybe,
    one_of,
    reference,
    rows,
    table,
)
from mockserver.state.fault_rules import FaultRules
from mockserver.state.settings.checks import check_matches
from mockserver.state.stub_support import complaint_of

_ARMED = table(
    {
        "name": TEXT,
        "kind": one_of(FAULTS),
        "settings": by_name(ANY),
        "place": table({name: maybe(place) for name, place in PLACES.items()}),
        "chance": table(
            {name: maybe(NUMBER) for name in ("times", "every", "skip", "share", "share_end", "start", "seconds")}
        ),
        "match": described(TEXT, "in words"),
        "matched": described(WHOLE, "how many requests it could be applied to"),
        "applied": described(WHOLE, "to how many of them it was applied"),
        "undecided": described(
            WHOLE, "requests for which its match could not be decided, because a regular expression took too long"
        ),
    }
)
SCHEMAS: Mapping[str, Schema] = {
    "Fault": api_fault(),
    "ArmedFault": _ARMED,
}


_EXAMPLE = '{"kind": "cut", "after_event": 5}'


@endpoint("GET", per_namespace("/faults"), {200: table({"faults": rows(reference("ArmedFault"))})})
async def faults(request: AdminRequest) -> object:
    """The armed faults, and how often each was applied."""
    return {
        "faults": [
            {
                "name": rule.name,
                "kind": rule.fault.kind,
                "settings": rule.fault.settings,
                "place": rule.fault.place,
                "chance": rule.fault.chance,
                "match": in_words(rule.fault.match),
                "matched": rule.seen.matched,
                "applied": rule.seen.applied,
                "undecided": rule.seen.undecided,
            }
            for rule in request.namespace.faults.armed.values()
        ]
    }


@endpoint("POST", per_namespace("/faults"), {201: table({"armed": TEXT})}, takes=reference("Fault"))
async def arm(request: AdminRequest) -> object:
    """Arm a fault or a scenario, which replaces the one of its name. Without a name it has that of its kind, with a
    number if there is another."""
    table = await request.json("A fault", _EXAMPLE)
    try:
        faults = read_table({key: value for key, value in table.items() if key != "name"})
    except FaultError as error:
        raise AdminError(f"{error}. An example: {_EXAMPLE}") from None
    app_state = request.app_state
    check_matches(faults, app_state.dialects)
    for fault in faults:
        complaint = complaint_of(fault.match, (fault,), app_state.dialects, app_state.setup.settings)
        if complaint is not None:
            raise AdminError(f"{complaint}. An example: {_EXAMPLE}")
    if any(FAULTS[fault.kind].listens for fault in faults):
        return _fail(request, faults)
    rules, now, name = request.namespace.faults, request.now, table.get("name", "")
    if not isinstance(name, str):
        raise AdminError(f"name: {short_repr(name)} is not a string")
    name = name or _unused(rules, table.get("scenario") or table["kind"], faults)
    rules.disarm(name)
    # A scenario has several faults.
    for number, fault in enumerate(faults):
        own = name if len(faults) == 1 else f"{name} {number + 1}"
        rules.arm(own, fault, now, scenario=name)
    return {"armed": name}


def _fail(request: AdminRequest, faults: Sequence[Fault]) -> Mapping[str, str]:
    """Let the listener fail, which takes one fault."""
    if request.namespace_name:
        raise AdminError("A fault of the listener affects all namespaces; arm it without a namespace")
    if request.listener is None:
        raise AdminError("A fault of the listener needs mockserver's own server (`mockserver serve`, MockServer)")
    [fault] = faults
    request.listener.apply(fault)
    return {"armed": fault.kind}


def _unused(rules: FaultRules, usual: str, faults: Sequence[Fault]) -> str:
    """The usual name, with a number if other faults have it: whoever arms a second fault wants both."""
    armed: dict[str, list[Fault]] = {}
    for rule in rules.armed.values():
        armed.setdefault(rule.scenario, []).append(rule.fault)
    names = chain([usual], (f"{usual}-{number}" for number in count(2)))
    return next(name for name in names if armed.get(name) in (None, [*faults]))


@endpoint("DELETE", per_namespace("/faults"), {200: table({"faults": rows({})})})
async def disarm_all(request: AdminRequest) -> object:
    """Remove all armed faults, and make the listener work again."""
    request.namespace.faults.reset()
    await request.recover_listener()
    return {"faults": []}


@endpoint("DELETE", per_namespace("/faults/{rule:any}"), {200: table({"disarmed": TEXT})}, refuses=(404,))
async def disarm(request: AdminRequest) -> object:
    """Remove one fault or scenario."""
    rules, name = request.namespace.faults, request.variable("rule")
    if rules.disarm(name):
        return {"disarmed": name}
    known = ", ".join(rules.armed) or "none"
    raise AdminError(f"No fault {short_repr(name)} is armed here. Armed: {known}", 404)


ENDPOINTS = (faults, arm, disarm_all, disarm)
