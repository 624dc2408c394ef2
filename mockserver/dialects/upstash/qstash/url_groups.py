"""`/v2/topics`: URL groups."""

from typing import Any

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.openai_style.fields import json_object
from mockserver.dialects.upstash.errors import refused
from mockserver.dialects.upstash.qstash.groups import (
    MOST_ENDPOINTS,
    MOST_GROUPS,
    AddEndpoints,
    Endpoint,
    RemoveEndpoints,
    RemoveGroup,
    merged,
)
from mockserver.dialects.upstash.qstash.options import checked_url
from mockserver.dialects.upstash.qstash.replies import empty_reply, json_reply, mailbox_of
from mockserver.dialects.upstash.qstash.values import is_name
from mockserver.dialects.upstash.qstash.views import group_view


def list_groups(call: Call, site: Site) -> Reply:
    """Every group."""
    return json_reply([group_view(each) for each in mailbox_of(site).groups.all()])


def get_group(call: Call, site: Site) -> Reply | Rejection:
    """A group."""
    found = mailbox_of(site).groups.get(_name(site))
    return refused(f"topic {_name(site)} not found", 404) if found is None else json_reply(group_view(found))


def add_endpoints(call: Call, site: Site) -> Reply | Rejection:
    """Add endpoints to a group: "If the URL Group does not exist, it will be created."."""
    name, groups = _name(site), mailbox_of(site).groups
    if not is_name(name):
        return refused(
            "invalid topic name: it can only contain alphanumeric characters, hyphens, periods, and underscores"
        )
    tables = _tables(call)
    if isinstance(tables, Rejection):
        return tables
    endpoints: list[Endpoint] = []
    for table in tables:
        try:
            endpoints.append(Endpoint(checked_url(str(table.get("url", ""))), table.get("name") or None))
        except ValueError as error:
            return refused(f"invalid endpoint url: {error}")
    known = groups.get(name)
    if known is None and len(groups.all()) >= MOST_GROUPS:
        return refused(f"quota exceeded: at most {MOST_GROUPS} topics", 412)
    if len(merged(known, tuple(endpoints))) > MOST_ENDPOINTS:
        return refused(f"quota exceeded: at most {MOST_ENDPOINTS} endpoints in a topic", 412)
    return empty_reply(AddEndpoints(name, tuple(endpoints)))


def remove_endpoints(call: Call, site: Site) -> Reply | Rejection:
    """Remove endpoints from a group: "Either name or url must be provided."."""
    tables = _tables(call)
    if isinstance(tables, Rejection):
        return tables
    if not all(table.get("url") or table.get("name") for table in tables):
        return refused("invalid endpoint: either name or url must be provided")
    urls = frozenset(table["url"] for table in tables if table.get("url"))
    names = frozenset(table["name"] for table in tables if table.get("name"))
    return empty_reply(RemoveEndpoints(_name(site), urls, names))


def remove_group(call: Call, site: Site) -> Reply:
    """Remove a group."""
    return empty_reply(RemoveGroup(_name(site)))


def _tables(call: Call) -> list[dict[str, Any]] | Rejection:
    """The endpoints in a body, with texts for their URLs and names."""
    body = json_object(call.body)
    if isinstance(body, Rejection):
        return body
    tables = body.get("endpoints")
    if not isinstance(tables, list) or not tables or not all(map(_is_endpoint, tables)):
        return refused("invalid endpoints: it is not an array of endpoints")
    return tables


def _is_endpoint(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key) or "", str) for key in ("url", "name"))


def _name(site: Site) -> str:
    return site.variables.get("urlGroupName", "")
