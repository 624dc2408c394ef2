"""Which requests reach a graph, and the refusals of all that it or the server has no endpoint for (vendor note 1)."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.ovms.body import Admitted, admit
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.graphs import Kind, fields_fault, kind_of
from mockserver.dialects.ovms.headers import JSON
from mockserver.dialects.ovms.paths import RELOAD_PATH, Paths
from mockserver.dialects.ovms.rows import Fields

# "V3 route regex: A `/v3/.*?(/|$)`; B also `/v1/...`; POST only".
_ROOTS: dict[Edition, tuple[str, ...]] = {"documented": ("/v3/",), "observed": ("/v3/", "/v1/")}
# A path below a root that belongs to the server itself.
_CONFIG = "/v1/config"
_WRONG_ENDPOINT: dict[Edition, str] = {
    "documented": "Wrong endpoint. Allowed endpoints: /v3/chat/completions, /v3/completions",
    "observed": "Wrong endpoint. Allowed endpoints: "
    "/v[13]/chat/completions, /v[13]/completions, /v[13]/responses, /v[13]/tokenize",
}


def _asked_path(call: Call, site: Site) -> str:
    """The path as requested, with its variables filled in."""
    path = call.path
    for name, value in site.variables.items():
        path = path.replace(f"{{{name}}}", value)
    return path


def _reaches_graph(path: str, edition: Edition) -> bool:
    """Whether a POST to the path reaches a graph."""
    return path.startswith(_ROOTS[edition]) and path != _CONFIG


def _climbing(path: str) -> Rejection | None:
    """The refusal of a path with a `..`, which precedes all other checks."""
    if ".." not in path.split("/"):
        return None
    return Rejection(FailureKind.UNKNOWN_PATH, "The provided base path is invalid or doesn't exists")


def ask_graph(call: Call, site: Site) -> Reply | Rejection:
    """Any other path below a root, such as one with "a trailing slash", reaches the graph, which refuses it.

    The newer server's graph tokenizes if the path ends with that word.
    """
    admitted = _admitted(call, site)
    if isinstance(admitted, Rejection):
        return admitted
    tokenizes = site.edition == "observed" and _asked_path(call, site).endswith("tokenize")
    if tokenizes and kind_of(admitted.fields["model"]) != "scores":
        # Few servers are ever asked to.
        from mockserver.dialects.ovms.tokenize import tokenize

        return tokenize(admitted, site)
    return wrong_endpoint(admitted, site.edition)


def refuse_endpoint(call: Call, site: Site) -> Rejection:
    """The refusal of a path that the graph does not know; the server's own layers come first."""
    admitted = _admitted(call, site)
    return admitted if isinstance(admitted, Rejection) else wrong_endpoint(admitted, site.edition)


def _admitted(call: Call, site: Site) -> Admitted | Rejection:
    """A request on its way to a graph, or why it does not get there."""
    path = _asked_path(call, site)
    if not _reaches_graph(path, site.edition):
        return Rejection(FailureKind.UNKNOWN_PATH)
    return _climbing(path) or admit(call, site, path)


def enter_graph(call: Call, site: Site, paths: Paths, kind: Kind) -> Fields | Rejection:
    """The fields of a request to a graph that does not generate text, or why the server or a graph refuses it."""
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
    """The refusal of a graph at an endpoint that it does not serve."""
    fault = fields_fault(admitted.fields, kind_of(admitted.fields["model"]), edition)
    return fault or graph_fault(_WRONG_ENDPOINT[edition], stream=admitted.streamed)


def unrouted(call: Call, site: Site, allowed: tuple[str, ...]) -> Reply | Rejection:
    """The answer to a call that no operation serves: a graph's refusal, a wrong URL, or a wrong method.

    Only the newer server knows OPTIONS, and answers it with its CORS headers at any path.
    """
    path = _asked_path(call, site)
    climbs = _climbing(path)
    if climbs is not None:
        return climbs
    if call.method == "OPTIONS" and site.edition == "observed":
        return body_reply(b"", content_type=JSON)
    if call.method == "POST" and _reaches_graph(path, site.edition):
        return ask_graph(call, site)
    return Rejection(FailureKind.WRONG_METHOD if _is_known(call, allowed) else FailureKind.UNKNOWN_PATH)


def _is_known(call: Call, allowed: tuple[str, ...]) -> bool:
    """Whether the server blames the method of a call rather than its URL; it treats HEAD as GET."""
    if call.method == "POST":
        # "POST on a GET-only route"
        return bool(allowed)
    # "methods other than GET/POST(/OPTIONS) 406, GET on a POST-only /v3 path 400"
    return call.method not in ("GET", "HEAD") or call.path == RELOAD_PATH
