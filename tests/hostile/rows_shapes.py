"""Bodies of an unusual shape: deep, wide, long."""

from tests.hostile.attack import Attack, refused

CHAT = "/cerebras/v1/chat/completions"


def chat(**more: object) -> dict[str, object]:
    return {"model": "llama3.1-8b", "messages": [{"role": "user", "content": "Hi"}], **more}


ROWS: list[Attack] = [
    refused("a body that is nested 100,000 times", CHAT, lambda: b"[" * 100_000 + b"]" * 100_000),
    refused("a million empty objects", CHAT, lambda: b"[" + b"{}," * 1_000_000 + b"{}]", status=(400, 413)),
    refused(
        "millions of values at the root, beside two models",
        "/v1/chat/completions",
        lambda: b'{"model": "a", "model": "b", "n": [' + b"[]," * 10_000_000 + b"0]}",
        status=(400, 413),
    ),
    refused("a number of 100,000 digits", CHAT, lambda: b'{"n": ' + b"1" * 100_000 + b"}"),
    refused("a thousand choices", CHAT, lambda: chat(n=1000), status=(400, 422)),
]
