"""How the two editions write JSON, and so the events of their streams."""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson

from mockserver.core.dialects import Edition
from mockserver.dialects.openai.events import JsonTexts, Template, json_texts

# A text that no request contains.
SLOT = "\0the text of a token\0"


class Wire(NamedTuple):
    """How values are encoded; `texts` caches the texts of tokens as JSON strings."""

    write: Callable[[object], bytes]
    texts: JsonTexts

    def event(self, value: object) -> bytes:
        """A server-sent event of one data line."""
        return b"data: " + self.write(value) + b"\n\n"

    def template(self, value: object) -> Template:
        """The template of the event of a value, in which SLOT marks the place of the text."""
        before, _, after = self.event(value).partition(self.write(SLOT))
        return Template(before, after)


def _spaced(value: object) -> bytes:
    return json.dumps(value).encode()


def _sorted(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


# As `json.dumps` does it: ", " and ": " between the parts as in the page's stream, and ASCII alone, since the client of
# that time cuts its lines at U+2028 and U+0085 too.
PAGE = Wire(_spaced, JsonTexts(_spaced))
# Compact, and with the keys in alphabetical order, as the engine was recorded to write them.
TODAY = Wire(_sorted, json_texts)
WIRES: Mapping[Edition, Wire] = {"documented": PAGE, "observed": TODAY}
