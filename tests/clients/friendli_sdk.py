"""FriendliAI's own SDK pointed at the server, with few retries: by default it repeats a failing call for an hour."""

from friendli.core.utils import BackoffStrategy, RetryConfig
from friendli.friendli import SyncFriendli

from .questions import TIMEOUT, Server

AT_ONCE = RetryConfig("backoff", BackoffStrategy(1, 2, 1.1, 100, jitter_ms=0), retry_connection_errors=False)


def connected(server: Server) -> SyncFriendli:
    return SyncFriendli(
        token="flp_mock",
        server_url=f"{server.url}/friendli",
        retry_config=AT_ONCE,
        timeout_ms=int(TIMEOUT * 1000),
        x_friendli_team="team",
    )
