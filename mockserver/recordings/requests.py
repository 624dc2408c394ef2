"""Recorded requests as calls to a dialect of ours."""

from mockserver.core.calls import Call, Headers
from mockserver.core.secrets import is_secret
from mockserver.recordings.recorded import Recorded
from mockserver.routes import Routes
from mockserver.state.routing import RouteMatch

# Fields of a body that identify the caller rather than the request, and may differ each time.
PASSING = ("user", "safety_identifier", "prompt_cache_key", "metadata")
# Headers that our server would obey.
_WISHES = "x-mockserver-"
# An answered request had a key, which hardly any recording keeps.
_KEY = (b"authorization", b"Bearer recorded")


def route_of(recorded: Recorded, router: Routes) -> RouteMatch | None:
    """Where a request lands: at its dialect if that is known, else by the longest end of its path that is served. A
    route of the user's own takes precedence."""
    parts = recorded.path.split("/")[1:]
    ends = ["/" + "/".join(parts[start:]) for start in range(len(parts))]
    known = [f"/{recorded.dialect}{end}" for end in ends] if recorded.dialect is not None else []
    for path, host in ((recorded.path, recorded.host), *((path, "") for path in (*known, *ends))):
        route = router.find(recorded.method, path, host)
        if route is None or route.operation is None:
            continue
        if route.configured is not None or recorded.dialect in (None, route.dialect.name):
            return route
    return None


def call_of(recorded: Recorded, route: RouteMatch) -> Call:
    """The call at the dialect's own path with a made-up key, without secrets and headers that would be obeyed here."""
    plain = ((name, value) for name, value in recorded.headers.items() if not (is_secret(name) or _WISHES in name))
    sent = ((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in plain)
    return Call(recorded.method, route.path, Headers([_KEY, *sent]), recorded.body, recorded.query)
