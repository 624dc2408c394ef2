"""An application of a user, which QStash would call: it records requests, and answers them as a test prescribes."""

import queue
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

PATIENCE = 10.0


class Taken(NamedTuple):
    """A request that the application has received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Said(NamedTuple):
    """An answer of the application. With status 0 it closes the connection instead."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Application:
    """An application at a URL. It gives the answers in the queue `answers` in turn, then status 200."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self.taken: queue.SimpleQueue[Taken] = queue.SimpleQueue()

    def will_answer(self, *said: Said | int) -> None:
        """Queue answers for the next requests."""
        for each in said:
            self.answers.put(each if isinstance(each, Said) else Said(each))

    def next(self) -> Taken:
        """The next request that it receives."""
        return self.taken.get(timeout=PATIENCE)


@contextmanager
def application(tls: ssl.SSLContext | None = None) -> Iterator[Application]:
    """An application on loopback that runs within the `with` statement."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            mine.taken.put(Taken(self.command, self.path, dict(self.headers.items()), body))
            said = Said() if mine.answers.empty() else mine.answers.get()
            if not said.status:
                self.close_connection = True
                return
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.body)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

        def log_message(self, format: str, *values: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    scheme = "http"
    if tls is not None:
        server.socket, scheme = tls.wrap_socket(server.socket, server_side=True), "https"
    mine = Application(f"{scheme}://127.0.0.1:{server.server_port}")
    running = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    running.start()
    try:
        yield mine
    finally:
        server.shutdown()
        server.server_close()
        running.join()
