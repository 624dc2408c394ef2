"""`/v2/schedules`: messages that are published at the times of a cron expression."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.headers import by_name
from mockserver.core.timeline import Reply
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.cron import Cron, read_cron
from mockserver.dialects.upstash.qstash.publishing import draft_of
from mockserver.dialects.upstash.qstash.replies import empty_reply, json_reply, mailbox_of
from mockserver.dialects.upstash.qstash.schedules import (
    MOST_SCHEDULES,
    PauseSchedule,
    RemoveSchedule,
    Schedule,
    SetSchedule,
)
from mockserver.dialects.upstash.qstash.signing import digits
from mockserver.dialects.upstash.qstash.values import is_name
from mockserver.dialects.upstash.qstash.views import schedule_view

_BAD_ID = "invalid schedule id: it can only contain alphanumeric characters, hyphens, periods, and underscores"


def create_schedule(call: Call, site: Site) -> Reply | Rejection:
    """Make a schedule: "If a schedule with the provided ID exists, the settings of the existing schedule will be
    updated with the new settings."."""
    fields, now, mailbox = by_name(call.headers.raw), call.received_at, mailbox_of(site)
    text = fields.get("upstash-cron", "").strip()
    cron = _cron(text, now)
    if isinstance(cron, Rejection):
        return cron
    id = fields.get("upstash-schedule-id", "").strip() or f"scd_{digits(28, site.identity, mailbox.schedules.made)}"
    if not is_name(id):
        return refused(_BAD_ID)
    if mailbox.schedules.get(id) is None and len(mailbox.schedules.all()) >= MOST_SCHEDULES:
        return refused(f"quota exceeded: at most {MOST_SCHEDULES} schedules", 412)
    queue = fields.get("upstash-queue-name", "").strip() or None
    # The vendor's documents call this part of the path a destination; it is the place of an id in other requests.
    draft = draft_of(call, site, _id(site), queue)
    if isinstance(draft, Rejection):
        return draft
    order = SetSchedule(Schedule(id, text, cron, draft, now))
    return json_reply({"scheduleId": id}, orders=(order,))


def list_schedules(call: Call, site: Site) -> Reply:
    """Every schedule."""
    mailbox = mailbox_of(site)
    return json_reply([schedule_view(each, mailbox.state) for each in mailbox.schedules.all()])


def get_schedule(call: Call, site: Site) -> Reply | Rejection:
    """A schedule."""
    mailbox = mailbox_of(site)
    found = mailbox.schedules.get(_id(site))
    return _unknown(site) if found is None else json_reply(schedule_view(found, mailbox.state))


def remove_schedule(call: Call, site: Site) -> Reply | Rejection:
    """Remove a schedule."""
    return _unknown(site) if _is_unknown(site) else empty_reply(RemoveSchedule(_id(site)))


def pause_schedule(call: Call, site: Site) -> Reply | Rejection:
    """Publish nothing of a schedule: "the cron trigger will simply be ignored"."""
    return _unknown(site) if _is_unknown(site) else empty_reply(PauseSchedule(_id(site), paused=True))


def resume_schedule(call: Call, site: Site) -> Reply | Rejection:
    """Publish it again."""
    return _unknown(site) if _is_unknown(site) else empty_reply(PauseSchedule(_id(site), paused=False))


# The vendor's SDKs send PATCH, its documents say POST.
patch_pause_schedule, patch_resume_schedule = pause_schedule, resume_schedule


def _cron(text: str, now: float) -> Cron | Rejection:
    if not text:
        return refused("Upstash-Cron header is required")
    try:
        cron = read_cron(text)
    except ValueError as error:
        return refused(f"invalid Upstash-Cron header: {error}")
    if cron.next_after(now) is None:
        return refused("invalid Upstash-Cron header: it never comes to pass")
    return cron


def _id(site: Site) -> str:
    return site.variables.get("scheduleId", "")


def _is_unknown(site: Site) -> bool:
    return mailbox_of(site).schedules.get(_id(site)) is None


def _unknown(site: Site) -> Rejection:
    return refused(f"schedule {_id(site)} not found", 404)
