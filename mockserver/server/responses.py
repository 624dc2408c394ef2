"""Responses that play a timeline."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mockserver.core.timeline import Record, Timeline
from mockserver.server.asgi import AsgiWriter, Transport, play
from mockserver.server.clock import ShiftedClock
from mockserver.server.player import Callback, Playback, ResponseWriter


class PlayedResponse(Response):
    """A response that is sent frame by frame, each when it is due on a clock; the request arrived there at `arrived`.

    On a connection of our own server it is written to the transport, past `send`, unless the application has middleware
    of the user's, which would not see it then.
    """

    def __init__(
        self,
        timeline: Timeline,
        clock: ShiftedClock,
        arrived: float,
        record: Record | None = None,
        ended: Callback = lambda: None,
        *,
        joined: bool = True,
    ) -> None:
        self.timeline = timeline
        self.status_code = timeline.status
        self.raw_headers = [*timeline.headers]
        self.background = None
        self._clock, self._arrived, self._ended, self._joined = clock, arrived, ended, joined
        self._record = Record() if record is None else record

    def playback(self, writer: ResponseWriter) -> Playback:
        """The playback of the answer to a writer."""
        return Playback(
            self.timeline, writer, self._clock, self._arrived, self._record, self._ended, joined=self._joined
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Play the answer to the end; on a transport of our own, begin to."""
        transport: Transport | None = scope.get("extensions", {}).get(Transport.EXTENSION)
        if transport is not None and (
            self.timeline.ending is not None or not getattr(scope.get("app"), "is_watched", False)
        ):
            transport.play(self.playback(transport))
            return
        writer = AsgiWriter()
        await play(self.playback(writer), writer, receive, send)
