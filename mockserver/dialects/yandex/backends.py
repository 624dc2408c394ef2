"""The two engines behind the one API, which differ on the wire (vendor note A3 and A4): a row each."""

from typing import NamedTuple

from mockserver.core.timeline import RawHeaders


class Backend(NamedTuple):
    """What sets one engine apart.

    `id_prefix` stands before the UUID of an answer. `names_folder`: the model is stated with the caller's folder.
    `traced`: answers carry `x-request-id`, and the caller's own `x-client-request-id` again. `one_call` means that
    `parallel_tool_calls: false` is obeyed. `named_calls`: a call's id is the name of its tool; `indexed_calls`: its
    number stands in plain answers too; `compact_calls`: its JSON has no blanks. `context` is the window, in tokens, of
    a model that no table knows.
    """

    id_prefix: str
    names_folder: bool
    traced: bool
    one_call: bool
    named_calls: bool
    indexed_calls: bool
    compact_calls: bool
    usage_in_stream: bool
    stream_headers: RawHeaders
    context: int


_STREAM: RawHeaders = ((b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache"))

D1 = Backend(
    id_prefix="",
    names_folder=True,
    traced=True,
    # "D1 ignores `parallel_tool_calls:false`"
    one_call=False,
    # "the D1 tool id equals the function name; D1 tool_calls items carry `index` even non-streaming"
    named_calls=True,
    indexed_calls=True,
    # Recorded: {"numbers":[5,4,1]} here, {"expression": " there.
    compact_calls=True,
    # "no usage at all in the stream"
    usage_in_stream=False,
    stream_headers=_STREAM,
    context=32_768,
)
D2 = Backend(
    id_prefix="chatcmpl-",
    names_folder=False,
    traced=False,
    one_call=True,
    named_calls=False,
    indexed_calls=False,
    compact_calls=False,
    # "a usage chunk with `choices: []` without being asked"
    usage_in_stream=True,
    stream_headers=(*_STREAM, (b"access-control-allow-origin", b"*")),
    context=131_072,
)

# Yandex' own models and its llamas; every other name is served by vLLM.
_FIRST_FAMILIES = ("yandexgpt", "aliceai", "llama")


def backend_of(name: str) -> Backend:
    """The engine that serves a model, by the model's name inside its URI."""
    return D1 if name.startswith(_FIRST_FAMILIES) else D2
