"""Completions on the wire of their edition."""

from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Generation
from mockserver.core.timeline import Pace, Reply
from mockserver.dialects.friendli.current import write_current
from mockserver.dialects.friendli.forced import enforced
from mockserver.dialects.friendli.legacy import write_legacy
from mockserver.dialects.friendli.options import options_of


def write(generation: Generation, pace: Pace, site: Site) -> Reply | Rejection:
    """The generation as in the page, or as today's service sends it; or a refusal if it takes too long."""
    if is_late(generation, pace):
        return Rejection(FailureKind.TIMEOUT)
    generation = enforced(generation)
    return write_legacy(generation) if site.edition == "documented" else write_current(generation, site)


def is_late(generation: Generation, pace: Pace) -> bool:
    """Whether an answer begins later than the timeout of its request."""
    timeout = options_of(generation.request).timeout
    return timeout is not None and _answered_after(generation, pace) > timeout


def _answered_after(generation: Generation, pace: Pace) -> float:
    """When the answer begins, in seconds: a stream with its first token, a body with its last."""
    first = pace.queue + pace.prefill
    return first if generation.request.output.stream else first + pace.decode
