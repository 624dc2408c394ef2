"""The prompt cache of an engine: the beginnings of recent prompts, which need no prefill when they come again.

A prompt is cut into blocks of tokens. A block is found if an earlier prompt of the same model had it after the same
beginning and its lifetime is not over; every use renews it. Only whole blocks count, and never the last token of a
prompt: it has to be computed in any case, since the answer begins with its result.
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from threading import Lock
from typing import NamedTuple

import orjson

from mockserver.core.dialects import PromptCaching
from mockserver.core.generation import GenerationRequest, Prompt, Tool
from mockserver.core.seeding import fingerprint
from mockserver.model import tokens

# An engine remembers about a hundred thousand tokens or more, depending on the size of its blocks.
_MOST_BLOCKS = 8192
# Answers may be planned in several threads at once.
_using = Lock()


class PromptCache:
    """The blocks that one engine has cached, each with the instant at which it expires."""

    def __init__(self) -> None:
        self._expiries: OrderedDict[str, float] = OrderedDict()

    def found(self, blocks: Sequence[str], now: float) -> int:
        """How many of the first blocks are cached at an instant."""
        with _using:
            return sum(1 for _ in takewhile(lambda block: self._expiries.get(block, now) > now, blocks))

    def keep(self, blocks: Sequence[str], until: float) -> None:
        """Cache blocks until an instant; those that were used least recently give way."""
        with _using:
            for block in blocks:
                self._expiries[block] = until
                self._expiries.move_to_end(block)
            while len(self._expiries) > _MOST_BLOCKS:
                self._expiries.popitem(last=False)


class Reuse(NamedTuple):
    """What a request finds in a prompt cache: `cached` tokens are read from it, `written` ones are new to it."""

    cache: PromptCache
    blocks: tuple[str, ...]
    until: float
    cached: int
    written: int

    def keep(self) -> None:
        """Cache the request's prompts, or renew them."""
        self.cache.keep(self.blocks, self.until)


class CachedPrompts(NamedTuple):
    """The prompt cache of an engine at the instant of a request, and how the engine caches."""

    cache: PromptCache
    caching: PromptCaching
    now: float

    def look_up(self, request: GenerationRequest) -> Reuse:
        """What the prompts of a request find here, before any of them is cached."""
        size, cached, written, blocks = self.caching.block, 0, 0, list[str]()
        for prompt in request.prompts:
            own = tuple(_blocks(_ids(prompt, request.tools), size))
            found = self.cache.found(own, self.now)
            # The prompt may be counted a little shorter than its text is here.
            most = max(prompt.token_count - 1, 0)
            cached += min(found * size, most)
            written += max(min(len(own) * size, most) - found * size, 0)
            blocks += own
        return Reuse(self.cache, tuple(blocks), self.now + self.caching.lifetime, cached, written)


def _ids(prompt: Prompt, tools: Sequence[Tool]) -> Sequence[int]:
    """The tokens that the model reads; chat templates put the definitions of tools first."""
    ids = prompt.ids or tokens.encode(prompt.text)
    if not tools:
        return ids
    definitions = orjson.dumps([[tool.name, tool.description, tool.parameters] for tool in tools], default=repr)
    return [*tokens.encode(definitions.decode()), *ids]


def _blocks(ids: Sequence[int], size: int) -> Iterator[str]:
    """A name for each whole block before the last token, which depends on all tokens up to the block's end."""
    packed, name = array("Q", ids), ""
    for end in range(size, len(ids), size):
        name = fingerprint(name.encode() + packed[end - size : end].tobytes())
        yield name
