"""Generations as answers, on the wire of their edition."""

from mockserver.core.dialects import Site
from mockserver.core.generation import Generation
from mockserver.core.timeline import Pace, Reply
from mockserver.dialects.friendli.current import write_current
from mockserver.dialects.friendli.forced import enforced
from mockserver.dialects.friendli.legacy import write_legacy


def write(generation: Generation, pace: Pace, site: Site) -> Reply:
    """The generation as the page has it, or as the service of today sends it."""
    said = enforced(generation)
    return write_legacy(said) if site.edition == "documented" else write_current(said, site)
