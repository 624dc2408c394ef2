"""Bodies of an unusual shape: deep, wide, long."""

import orjson

from tests.hostile.attack import Attack, refused, request

CHAT = "/cerebras/v1/chat/completions"
CONVERSATIONS = "/openai/v1/conversations"
MEGABYTE = {"role": "user", "content": "x" * 1_000_000}


def chat(**more: object) -> dict[str, object]:
    return {"model": "llama3.1-8b", "messages": [{"role": "user", "content": "Hi"}], **more}


def begun(port: int, **more: object) -> str:
    """The path of the items of a conversation that is begun."""
    status, answer = request(port, "POST", CONVERSATIONS, more)
    assert status == 200, (status, answer[:500])
    return f"{CONVERSATIONS}/{orjson.loads(answer)['id']}/items"


def conversation_without_end(port: int) -> None:
    """More is added to a conversation than all that is stored may weigh: the oldest of it is dropped."""
    items = begun(port)
    for _ in range(80):
        assert request(port, "POST", items, {"items": [MEGABYTE]})[0] == 200
    status, answer = request(port, "GET", f"{items}?limit=100")
    assert (status, len(answer) < 70_000_000) == (200, True), (status, len(answer))
    assert request(port, "DELETE", items.removesuffix("/items"))[0] == 200


def deepest_items(port: int) -> None:
    """Items that nest as deep as a request may are told in a list, where they nest deeper."""
    deep = orjson.loads(b"[" * 90 + b"]" * 90)
    items = begun(port, items=[{"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": deep}] * 20)
    status, answer = request(port, "GET", items)
    assert (status, b"mcpl_1" in answer) == (200, True), (status, answer[:500])


def ids_of_nothing(port: int) -> None:
    """Ids that nothing has, with all that a path may hold."""
    for id_ in ("a/b/c", "%00", "%2f..%2f", "%ff%fe", "%0d%0aX-Own:%20y", "x" * 30_000):
        for path in (f"conversations/{id_}", f"conversations/{id_}/items/{id_}", f"chat/completions/{id_}/messages"):
            for method in ("GET", "DELETE", "POST"):
                status, answer = request(port, method, f"/openai/v1/{path}", {"metadata": {}})
                assert status in (404, 405), (method, path[:100], status, answer[:500])


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
    refused("10,000 items", CONVERSATIONS, lambda: {"items": [{"role": "user", "content": "a"}] * 10_000}, says=b"20"),
    refused("100,000 metadata", CONVERSATIONS, lambda: {"metadata": {f"{n}": "" for n in range(100_000)}}, says=b"16"),
    Attack("a conversation without end", conversation_without_end),
    Attack("items that nest as deep as may be", deepest_items),
    Attack("ids that nothing has", ids_of_nothing),
]
