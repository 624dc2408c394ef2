"""Inputs that are long to mask: they are sent, and then looked at in the journal."""

from collections.abc import Callable, Mapping

from tests.hostile.attack import Attack, request

CHAT = "/cerebras/v1/chat/completions"


def shown(
    name: str,
    path: Callable[[], str] = lambda: CHAT,
    body: Callable[[], bytes] = lambda: b"{}",
    headers: Callable[[], Mapping[str, str]] = dict,
) -> Attack:
    """A request whose exchange is looked at in all its forms."""

    def act(port: int) -> None:
        status, _ = request(port, "POST", path(), body(), headers())
        assert status < 500, status
        for view in ("journal?full=1&limit=1", "journal?limit=1", "journal.jsonl?limit=1", "journal.har?limit=1"):
            status, _ = request(port, "GET", f"/_mockserver/{view}")
            assert status == 200, view

    return Attack(name, act)


ROWS: list[Attack] = [
    shown("a path with 20,000 signs of a user", lambda: "/upstash/v2/publish/https://" + "a@" * 20_000 + "host"),
    shown("a query of 10,000 secrets", lambda: f"{CHAT}?" + "&".join(["sig=1"] * 10_000)),
    shown("a query of encoded schemes", lambda: f"{CHAT}?u=" + "%3A%2F%2F" * 6_000),
    shown("a header of 50,000 signs of a user", headers=lambda: {"x-url": "https://" + "a@" * 25_000}),
    shown("a header of tokens", headers=lambda: {"x-url": "eyJaaaaaaaa" + ".a" * 25_000}),
    shown("a header of schemes", headers=lambda: {"x-url": "bearer " * 7_000}),
    shown("a header name of 10,000 words", headers=lambda: {"x-" + "a-" * 10_000 + "key": "1"}),
    shown("a body of 1 MB that is almost JSON", body=lambda: b'{"headers": "' + b"&key=1" * 180_000),
    shown("a body of 1 MB of URLs", body=lambda: b'["' + b"https://a@b " * 80_000 + b'"]'),
    shown("a body of 2 MB that may have secrets", body=lambda: b'["header", ' + b"1," * 1_000_000 + b"1]"),
]
