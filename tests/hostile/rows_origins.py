"""Values of `Host` and `Origin` that no browser sends: malformed, long, or meant to pass for others."""

from tests.hostile.attack import Attack, refused

MODELS, JOURNAL = "/cerebras/v1/models", "/_mockserver/journal"
HOSTS = {
    "of another name": "evil.example",
    "that begins like loopback": "localhost.evil.example",
    "that ends like loopback": "evil-localhost",
    "that is a number": "2130706433",
    "in hexadecimal": "0x7f000001:80",
    "of IPv6 without an end": "[::1",
    "of IPv6 with a zone": "[::1%25lo]:80",
    "with a user": "user@localhost",
    "with two ports": "localhost:80:80",
    "with a list": "localhost, evil.example",
    "that is empty but for a port": ":80",
    "of 60,000 characters": "a." * 30_000 + "localhost",
    "of 60,000 colons": "[" + ":" * 60_000 + "]",
    "in Latin-1": "\xff\xfe.localhost",
}
ORIGINS = {
    "of another name": "https://evil.example",
    "of a sandbox": "null",
    "that is empty": "",
    "with a user": "http://localhost@evil.example",
    "with a path": "http://localhost/",
    "with a list": "http://localhost, https://evil.example",
    "of another scheme": "file://localhost",
    "of a port that is none": "http://localhost:123456",
    "without a host": "http://",
    "of 60,000 characters": "http://" + "a." * 30_000 + "localhost",
    "of 60,000 slashes": "http:" + "/" * 60_000,
    "in Latin-1": "http://\xff.localhost",
}


def _host(name: str, host: str, path: str) -> Attack:
    return refused(
        f"a host {name} at {path}", path, lambda: None, method="GET", status=(400, 421),
        headers=lambda: {"host": host},
    )  # fmt: skip


def _origin(name: str, origin: str, path: str) -> Attack:
    return refused(
        f"an origin {name} at {path}", path, lambda: b"x", status=403, says=b"--cors",
        headers=lambda: {"origin": origin, "content-type": "text/plain"},
    )  # fmt: skip


ROWS: list[Attack] = [
    *(_host(name, host, path) for name, host in HOSTS.items() for path in (MODELS, JOURNAL)),
    *(_origin(name, origin, path) for name, origin in ORIGINS.items() for path in (MODELS, JOURNAL)),
]
