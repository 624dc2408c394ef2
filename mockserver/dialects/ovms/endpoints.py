"""What a graph is asked for that is not its own: all other POSTs below the server's roots, refused (vendor note 1)."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.ovms.body import Admitted, admit
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.graphs import Kind, fields_fault, kind_of
from mockserver.dialects.ovms.paths import Paths
from mockserver.dialects.ovms.rows import Fields

# "V3 route regex: A `/v3/.*?(/|$)`; B also `/v1/...`; POST only".
_ROOTS: dict[Edition, tuple[str, ...]] = {"documented": ("/v3/",), "observed": ("/v3/", "/v1/")}
# What stands below a root and is the server's own.
_CONFIG = "/v1/config"
# What an LLM graph serves beside texts, chats and responses; it is not simulated, and says so as an unknown URL.
_ABSENT: dict[Edition, frozenset[str]] = {
    "documented": frozenset(),
    "observed": frozenset(root + "tokenize" for root in ("/v3/", "/v3/v1/", "/v1/")),
}
_WRONG_ENDPOINT: dict[Edition, str] = {
    "documented": "Wrong endpoint. Allowed endpoints: /v3/chat/completions, /v3/completions",
    "observed": "Wrong endpoint. Allowed endpoints: "
    "/v[13]/chat/completions, /v[13]/completions, /v[13]/responses, /v[13]/tokenize",
}


def asked_path(call: Call, site: Site) -> str:
    """The path as it was asked for, its variables filled in."""
    path = call.path
    for name, value in site.variables.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def reaches_graph(path: str, edition: Edition) -> bool:
    """Whether a POST to the path gets as far as a graph."""
    return path.startswith(_ROOTS[edition]) and path != _CONFIG


def climbing(path: str) -> Rejection | None:
    """The refusal of a path that has a step upwards, which comes before all else."""
    if ".." not in path.split("/"):
        return None
    return Rejection(FailureKind.UNKNOWN_PATH, "The provided base path is invalid or doesn't exists")


def refuse_endpoint(call: Call, site: Site) -> Reply | Rejection:
    """Any other path below a root, "a trailing slash" among them, gets to the graph, which knows only its own."""
    path = asked_path(call, site)
    if path in _ABSENT[site.edition]:
        return Rejection(FailureKind.UNKNOWN_PATH)
    return climbing(path) or refuse_graph(call, site, path)


def refuse_graph(call: Call, site: Site, path: str) -> Rejection:
    """The refusal of a path that a graph does not know; the server's own layers come first."""
    admitted = admit(call, site, path)
    if isinstance(admitted, Rejection):
        return admitted
    return wrong_endpoint(admitted, site.edition)


def enter_graph(call: Call, site: Site, paths: Paths, kind: Kind) -> Fields | Rejection:
    """The fields of a request to a graph that makes no texts, or why the server or a graph refuses it."""
    if call.path not in paths[site.edition]:
        return Rejection(FailureKind.UNKNOWN_PATH)
    admitted = admit(call, site, call.path)
    if isinstance(admitted, Rejection):
        return admitted
    made = kind_of(admitted.fields["model"])
    fault = (
        wrong_endpoint(admitted, site.edition) if made != kind else fields_fault(admitted.fields, made, site.edition)
    )
    return fault or admitted.fields


def wrong_endpoint(admitted: Admitted, edition: Edition) -> Rejection:
    """What a graph says that is asked for something else than it makes."""
    fault = fields_fault(admitted.fields, kind_of(admitted.fields["model"]), edition)
    return fault or graph_fault(_WRONG_ENDPOINT[edition], stream=admitted.streamed)
