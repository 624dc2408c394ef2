"""Reply and pace make a timeline: every frame gets the instant at which it is due."""

from collections.abc import Iterator

from mockserver.core.timeline import Lazy, Pace, Reply, Run, Timeline


def assemble(reply: Reply, pace: Pace) -> Timeline:
    """The reply with absolute due times, in seconds after the request arrived."""

    def runs() -> Iterator[Run]:
        for data, step, tokens in reply.frames:
            yield Run(data, pace.due(step), tokens)

    return Timeline(reply.status, reply.headers, Lazy(runs), reply.streamed)
