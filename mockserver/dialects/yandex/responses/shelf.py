"""The stored responses of a namespace: what `GET /v1/responses/{id}` tells of, and what later responses continue."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from mockserver.core.dialect_state import Progress, ServedResponse
from mockserver.dialects.yandex.responses.answer import Answer, answer_of
from mockserver.dialects.yandex.responses.write import id_of, item_ids, response_of

Item = Mapping[str, Any]

# How many responses a namespace keeps, and how many bytes all of them together, each its share; the oldest are dropped.
_MOST, _MOST_BYTES, _LEAST_SHARE = 1_000, 64 * 1024 * 1024, 256 * 1024
# About how many bytes a token of an answer takes.
_TOKEN = 256
# How many responses a conversation may have, which all stay in memory as long as the last one.
_LONGEST = 1_000


@dataclass(slots=True, eq=False)
class Stored:
    """A response: complete at the Unix time `ready`, unless it was cancelled before. It continues the `earlier` one, if
    any, and is the end of a conversation of that `length`."""

    answer: Answer
    ready: float
    weight: int
    earlier: "Stored | None" = None
    length: int = 1
    cancelled: bool = False

    def view(self, now: float) -> Mapping[str, Any]:
        """The response as it is now."""
        if self.cancelled:
            return response_of(self.answer, "cancelled")
        return response_of(self.answer, "in_progress" if now < self.ready else None)

    @property
    def input(self) -> tuple[Item, ...]:
        """The items of its request, in the form of items."""
        given = self.answer.body.get("input", ())
        return (_message(given),) if isinstance(given, str) else tuple(given)

    @property
    def items(self) -> tuple[Item, ...]:
        """The whole conversation, for a response that continues it."""
        conversation: list[Stored] = []
        last: Stored | None = self
        while last is not None:
            conversation.append(last)
            last = last.earlier
        return tuple(
            item for each in reversed(conversation) for item in (*each.input, *response_of(each.answer)["output"])
        )


class Shelf:
    """The stored responses."""

    operations: Collection[str] = ("responses",)

    def __init__(self) -> None:
        self._stored: OrderedDict[str, Stored] = OrderedDict()
        # The ids of responses by those of their items.
        self._owners: dict[str, str] = {}
        self._weight = 0
        _shelves.add(self)

    def get(self, id: str) -> Stored | None:
        """The response with this id."""
        return self._stored.get(id)

    def item(self, id: str) -> Item | None:
        """The item with this id that a stored response has."""
        stored = self._stored.get(self._owners.get(id, ""))
        output: Collection[Item] = () if stored is None else response_of(stored.answer)["output"]
        return next((item for item in output if item["id"] == id), None)

    def remove(self, id: str) -> None:
        """Forget a response."""
        stored = self._stored.pop(id, None)
        if stored is not None:
            self._weight -= stored.weight
            for each in item_ids(stored.answer):
                self._owners.pop(each, None)

    def _add(self, id: str, stored: Stored) -> None:
        self.remove(id)
        self._stored[id] = stored
        self._owners |= dict.fromkeys(item_ids(stored.answer), id)
        self._weight += stored.weight
        share = max(_MOST_BYTES // len(_shelves), _LEAST_SHARE)
        while len(self._stored) > _MOST or (self._weight > share and len(self._stored) > 1):
            self.remove(next(iter(self._stored)))

    def begin(self, served: ServedResponse) -> Callable[[Progress], None] | None:
        """Store a response, unless its request forbids that, or it is refused."""
        generation, pace = served.generation, served.pace
        if generation is None or pace is None or served.status >= 400:
            return None
        # What is stored does not refer to where it is stored.
        answer = answer_of(generation, served.scope._replace(history=None))
        if answer.body.get("store", True):
            # A response in the background is due as if it had been waited for.
            waits = pace.schedule[-1] if pace.schedule and answer.body.get("background") else 0.0
            weight = len(served.call.body) + _TOKEN * generation.usage.completion_tokens
            stored = Stored(answer, served.call.received_at + waits, weight)
            earlier = self.get(str(answer.body.get("previous_response_id", "")))
            if earlier is not None and earlier.length < _LONGEST:
                stored.earlier, stored.length = earlier, earlier.length + 1
            self._add(id_of(answer), stored)
        return None


# Those in use, which share the memory.
_shelves: WeakSet[Shelf] = WeakSet()


def _message(text: str) -> Item:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
