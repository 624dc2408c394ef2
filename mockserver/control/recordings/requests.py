"""A recorded request as a dialect here hears it."""

from mockserver.control.journal.masking import is_secret
from mockserver.control.recordings.recorded import Recorded
from mockserver.control.routing import Landing, Router
from mockserver.core.calls import Call, Headers

# Headers that a server of ours would obey.
_WISHES = "x-mockserver-"
# Whoever was answered had a key, which hardly any recording keeps.
_KEY = (b"authorization", b"Bearer recorded")


def landing_of(recorded: Recorded, router: Router) -> Landing | None:
    """Where a request lands: at its dialect, where that is known, else by the longest served end of its path."""
    parts = recorded.path.split("/")[1:]
    ends = ["/" + "/".join(parts[start:]) for start in range(len(parts))]
    known = [f"/{recorded.dialect}{end}" for end in ends] if recorded.dialect is not None else []
    for path, host in ((recorded.path, recorded.host), *((path, "") for path in (*known, *ends))):
        landing = router.find(recorded.method, path, host)
        if landing is not None and landing.operation is not None:
            return landing
    return None


def call_of(recorded: Recorded, landing: Landing) -> Call:
    """The call under the dialect's own path, by somebody's key, and without headers that would be obeyed here."""
    plain = ((name, value) for name, value in recorded.headers.items() if not (is_secret(name) or _WISHES in name))
    sent = ((name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in plain)
    return Call(recorded.method, landing.path, Headers([_KEY, *sent]), recorded.body, recorded.query)
