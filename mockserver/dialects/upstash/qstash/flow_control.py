"""`/v2/flowControl`: the keys of flow control, which hold back messages."""

from urllib.parse import parse_qsl

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.flows import read_flow
from mockserver.dialects.upstash.qstash.replies import empty_reply, json_reply, mailbox_of
from mockserver.dialects.upstash.qstash.values import PinFlow, ResetFlow, SetFlow
from mockserver.dialects.upstash.qstash.views import flow_view

# What users of the plan without a fixed price are told.
_MOST_AT_ONCE = 100


def list_flows(call: Call, site: Site) -> Reply:
    """Every key, oldest first; with `search`, those that contain it."""
    wanted = dict(parse_qsl(call.query)).get("search", "")
    return json_reply([flow_view(each) for each in mailbox_of(site).flows() if wanted in each.flow.key])


def get_flow(call: Call, site: Site) -> Reply | Rejection:
    """A key."""
    found = mailbox_of(site).flow(_key(site))
    return refused(f"flow control key {_key(site)} not found", 404) if found is None else json_reply(flow_view(found))


def pause_flow(call: Call, site: Site) -> Reply:
    """Deliver no more messages of a key."""
    return empty_reply(SetFlow(_key(site), paused=True))


def resume_flow(call: Call, site: Site) -> Reply:
    """Deliver its messages again."""
    return empty_reply(SetFlow(_key(site), paused=False))


def pin_flow(call: Call, site: Site) -> Reply | Rejection:
    """Give a key limits that its messages do not change."""
    given = {name: value for name, value in parse_qsl(call.query) if name in ("parallelism", "rate", "period")}
    try:
        flow = read_flow(_key(site), ",".join(f"{name}={value}" for name, value in given.items()))
    except ValueError as error:
        return refused(f"invalid flow control configuration: {error}")
    return empty_reply(PinFlow(flow, frozenset(given) & {"parallelism", "rate"}))


def unpin_flow(call: Call, site: Site) -> Reply:
    """Let the messages of a key change its limits again."""
    named = {name for name, value in parse_qsl(call.query) if value == "true"}
    return empty_reply(SetFlow(_key(site), unpinned=frozenset(named)))


def reset_flow(call: Call, site: Site) -> Reply:
    """End the current period of a key, whose attempts then count from zero."""
    return empty_reply(ResetFlow(_key(site)))


def global_parallelism(call: Call, site: Site) -> Reply:
    """How many messages may be under way at once, and how many are; none waits for that here."""
    return json_reply({"parallelismMax": _MOST_AT_ONCE, "parallelismCount": mailbox_of(site).under_way})


def _key(site: Site) -> str:
    return site.variables.get("flowControlKey", "")
