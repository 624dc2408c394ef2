"""URL groups: names for several URLs, to all of which a message is delivered. QStash's API calls them topics."""

from typing import NamedTuple

# "A URL Group can have at most 100 endpoints"; how many groups there may be is this project's bound.
MOST_ENDPOINTS = 100
MOST_GROUPS = 1_000


class Endpoint(NamedTuple):
    """A URL of a group, with or without a name."""

    url: str
    name: str | None = None


class Group(NamedTuple):
    """A group. Times are Unix seconds."""

    name: str
    created: float
    updated: float
    endpoints: tuple[Endpoint, ...]


class AddEndpoints(NamedTuple):
    """Add endpoints to a group, which is made if there is none; one with the URL of another takes its place."""

    name: str
    endpoints: tuple[Endpoint, ...]


class RemoveEndpoints(NamedTuple):
    """Remove the endpoints with these URLs or names; a group without any is removed."""

    name: str
    urls: frozenset[str]
    names: frozenset[str]


class RemoveGroup(NamedTuple):
    """Remove a group. Its messages that are under way are delivered."""

    name: str


class Groups:
    """The groups of a namespace, oldest first."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}

    def all(self) -> list[Group]:
        """Every group."""
        return list(self._groups.values())

    def get(self, name: str) -> Group | None:
        """The group of that name."""
        return self._groups.get(name)

    def add(self, order: AddEndpoints, now: float) -> None:
        """Add endpoints."""
        known = self._groups.get(order.name) or Group(order.name, now, now, ())
        self._groups[order.name] = known._replace(updated=now, endpoints=merged(known, order.endpoints))

    def remove_endpoints(self, order: RemoveEndpoints, now: float) -> None:
        """Remove endpoints."""
        known = self._groups.get(order.name)
        if known is None:
            return
        left = tuple(each for each in known.endpoints if each.url not in order.urls and each.name not in order.names)
        if left:
            self._groups[order.name] = known._replace(updated=now, endpoints=left)
        else:
            del self._groups[order.name]

    def remove(self, order: RemoveGroup, now: float) -> None:
        """Remove a group."""
        self._groups.pop(order.name, None)


def merged(group: Group | None, endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """The endpoints of a group with others added: of equal URLs the last one counts, in the place of the first."""
    before = () if group is None else group.endpoints
    return tuple({each.url: each for each in (*before, *endpoints)}.values())
