"""The engines behind the one API, which differ on the wire (vendor note A3 and A4): a row each.

Facts about Alice AI, DeepSeek and thoughts date from August and September 2026: streams that a user recorded, and notes
of users who tried each model.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from mockserver.core.timeline import RawHeaders


class Backend(NamedTuple):
    """How one engine differs from the others.

    `id_prefix` precedes the UUID in the id of an answer. `names_folder`: answers state the model with the caller's
    folder. `traced`: answers have `x-request-id`, and echo the caller's `x-client-request-id`. `one_call`:
    `parallel_tool_calls: false` is obeyed. `named_calls`: a call's id is the name of its tool; `indexed_calls`: calls
    have their `index` in plain answers too; `compact_calls`: their JSON has no white space; `whole_calls`: a stream has
    all calls in one chunk. `unfinished_calls`: today's streams of calls lack their proper end.

    In a stream, `large_chunks` have several tokens each, and with `role_apart` the role has a chunk of its own.
    `context` is the context window, in tokens, of models that no table lists.
    """

    id_prefix: str
    names_folder: bool
    traced: bool
    one_call: bool
    named_calls: bool
    indexed_calls: bool
    compact_calls: bool
    whole_calls: bool
    unfinished_calls: bool
    large_chunks: bool
    role_apart: bool
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
    whole_calls=True,
    unfinished_calls=False,
    large_chunks=True,
    role_apart=False,
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
    whole_calls=False,
    unfinished_calls=False,
    large_chunks=False,
    role_apart=True,
    # "a usage chunk with `choices: []` without being asked"
    usage_in_stream=True,
    stream_headers=(*_STREAM, (b"access-control-allow-origin", b"*")),
    context=131_072,
)

# Alice AI: the calls of D1, with the chunks, the ids and the usage of vLLM.
ALICE = D1._replace(id_prefix="chatcmpl-", unfinished_calls=True, large_chunks=False, usage_in_stream=True)
# DeepSeek on vLLM: "arguments in one piece", while Qwen and gpt-oss send them token by token.
_DEEPSEEK = D2._replace(whole_calls=True)

# By the beginning of a model's name, the first that fits; models of any other name are served by vLLM.
_FAMILIES = {"yandexgpt": D1, "aliceai": ALICE, "llama": D1, "deepseek": _DEEPSEEK}
# Seen to send their thoughts: gpt-oss-120b and -20b, qwen3.6-35b-a3b, deepseek-v4-flash.
_THINKERS = re.compile(r"gpt-oss|qwen-?3\.[5-9]|deepseek-(?:v[4-9]|r)")


@lru_cache(maxsize=256)
def backend_of(name: str) -> Backend:
    """The engine that serves a model, by the model's name inside its URI."""
    return next((backend for family, backend in _FAMILIES.items() if name.startswith(family)), D2)


def thinks(name: str) -> bool:
    """Whether a model of that name reasons before it answers, unless a request switches that off."""
    return _THINKERS.match(name) is not None
