"""Instances of schemas as JSON texts: the same for the same schema and key on every machine.

A schema is compiled and cached together with a witness: an instance that was found when the schema first came. So a
schema that has once been accepted is never refused later, whatever the key.
"""

import json
from contextlib import suppress

import orjson

from mockserver.core.caches import Cache
from mockserver.core.seeding import Draws, derive
from mockserver.model.schema import InvalidSchemaError, SchemaLimitError, UnsatisfiableSchemaError, compact
from mockserver.model.schema.documents import Document
from mockserver.model.schema.solver import NOTHING, Search, TooMuchError

# So many bytes of schemas are kept, with their validators and all that a search keeps of them.
_KEPT = 8 * 2**20
_LEAST_MEMORY = 4_000
# What all searches for an instance may spend together, in units of some ten nanoseconds, each half of what is left; and
# how many values of one are natural. Large schemas, of up to so many objects and lists, may have more.
_BUDGET, _BUDGET_EACH, _NATURAL, _NATURAL_EACH, _LARGEST = 40_000_000, 30_000, 250, 3, 20_000
# The searches before a schema is given up; each is natural (True) or takes any value that fits.
_SEARCHES = (True, False, True, False)
# How long an instance may be, in characters.
_LONGEST = 1_000_000


class Compiled:
    """A schema, given as JSON, with its document and its witness, or the reason why it has none (`fault`)."""

    document: Document

    def __init__(self, schema: bytes) -> None:
        self.fault: UnsatisfiableSchemaError | None = None
        self._witness: str | None = None
        # In bytes, roughly.
        self.memory = _LEAST_MEMORY
        try:
            # A schema of its own: that of a request may be changed.
            self.document = Document(json.loads(schema))
            self.memory += self.document.memory
            self._witness = self._found(0, "en", "", complete=False)
            if self._witness is None:
                self.fault = UnsatisfiableSchemaError("No value was found that keeps to the schema")
        except (InvalidSchemaError, SchemaLimitError) as error:
            # Not the error itself, whose frames, and those of what has led to it, would keep all of this.
            self.fault = type(error)(str(error))
            self.memory += len(str(error))
        except RecursionError:
            self.fault = InvalidSchemaError("The schema is nested too deeply")

    def check(self) -> None:
        """Raise the fault, if there is one."""
        if self.fault is not None:
            raise type(self.fault)(str(self.fault))

    def write(self, key: int, language: str, subject: str, *, complete: bool) -> str:
        """An instance, as JSON: another one for each key, or the witness. Raises UnsatisfiableSchemaError."""
        self.check()
        return self._found(key, language, subject, complete=complete) or self._witness or ""

    def _found(self, key: int, language: str, subject: str, *, complete: bool) -> str | None:
        """An instance, None if none is found."""
        document, fallback = self.document, None
        size = min(document.size, _LARGEST)
        budget = _BUDGET + _BUDGET_EACH * size
        for attempt, naturally in enumerate(_SEARCHES):
            search = Search(
                document,
                Draws(derive(key, "instance", attempt)),
                language,
                subject,
                budget=budget // 2,
                natural=_NATURAL + _NATURAL_EACH * size if naturally else 0,
                complete=complete and naturally,
            )
            value = NOTHING
            with suppress(TooMuchError, RecursionError):
                value = search.solve((document.root,))
            budget -= budget // 2 - max(search.budget, 0)
            if value is NOTHING:
                continue
            # Mostly the formats are right too, which makes a second validation unnecessary.
            is_right = document.accepts_formats(value)
            text = compact(value) if is_right or document.accepts(value) else None
            if text is not None and len(text) <= _LONGEST:
                if is_right:
                    return text
                fallback = fallback or text
        return fallback


_kept: Cache[bytes, Compiled] = Cache(_KEPT)


def compiled(schema: object) -> Compiled:
    """A schema with its document, perhaps from an earlier request. Raises InvalidSchemaError for what is not JSON."""
    try:
        # The order of its properties counts, since answers follow it.
        name = orjson.dumps(schema)
    except TypeError:
        # Integers of more than 64 bits, or nothing that JSON can say.
        try:
            name = json.dumps(schema).encode()
        except (TypeError, ValueError, RecursionError):
            raise InvalidSchemaError("The schema is nothing that JSON can say") from None
    found = _kept.find(name)
    if found is None:
        found = Compiled(name)
        _kept.keep(name, found, len(name) + found.memory)
    return found
