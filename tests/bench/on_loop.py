"""mockserver on a given event loop, which no option of its own sets: `python -m tests.bench.on_loop PORT LOOP`."""

import sys

from mockserver.server.app import create_app
from mockserver.server.listener import bind
from mockserver.server.server import Loop, UvicornServer
from mockserver.state.settings import Settings

if __name__ == "__main__":
    settings = Settings(port=int(sys.argv[1]), latency="off", log_level="warning")
    loop: Loop = "uvloop" if sys.argv[2] == "uvloop" else "asyncio"
    listener = bind(settings)
    UvicornServer(create_app(settings), loop).run(sockets=[listener])
