"""Reply and pace become a timeline: every frame gets the instant at which it is due."""

from collections.abc import Iterable, Iterator

from mockserver.core.timeline import Frames, Lazy, Pace, Reply, Run, Timeline


def assemble(reply: Reply, pace: Pace) -> Timeline:
    """The reply with absolute due times, in seconds after the request arrived, computed as lazily as its frames."""
    status, headers, frames, streamed, _ = reply
    if isinstance(frames, tuple) and len(frames) == 1:
        # Most answers are one body.
        data, step, tokens = frames[0]
        return Timeline(status, headers, (Run(data, pace.due(step), tokens),), streamed)
    runs = tuple(_due(frames, pace)) if isinstance(frames, tuple) else Lazy(lambda: _due(frames, pace))
    return Timeline(status, headers, runs, streamed)


def _due(frames: Iterable[Frames], pace: Pace) -> Iterator[Run]:
    for data, step, tokens in frames:
        yield Run(data, pace.due(step), tokens)
