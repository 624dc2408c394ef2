"""Instances of schemas as JSON texts: the same for the same schema and key on every machine.

A schema is compiled and cached together with a witness: an instance that was found when the schema first came. So a
schema that has once been accepted is never refused later, whatever the key.
"""

import json
from typing import Any

import orjson

from mockserver.core.caches import Cache
from mockserver.core.seeding import Draws, derive
from mockserver.model.json_texts import compact
from mockserver.model.schema.documents import Document
from mockserver.model.schema.errors import InvalidSchemaError, SchemaLimitError, UnsatisfiableSchemaError
from mockserver.model.schema.search import NOTHING
from mockserver.model.schema.solver import Cost, Solver, TooMuchError

# So many bytes of schemas are kept, with their validators and all that a search keeps of them.
_KEPT = 8 * 2**20
_LEAST_MEMORY = 4_000
# What a search may cost: a basic amount, and more for large schemas.
_STEPS, _STEPS_EACH = 1500, 4
_VALUES, _VALUES_EACH = 8000, 4
_NATURAL, _NATURAL_EACH = 250, 3
# What all searches for an instance may do together, in values that they look at; each may take half of what is left.
_WORK = 40_000_000
# The searches before a schema is given up; each is natural (True) or takes any value that fits.
_SEARCHES = (True, True, False, False)
# How long an instance may be, in characters.
_LONGEST = 1_000_000


class Compiled:
    """A schema with its document and its witness, or the reason why it has none. Raises nothing."""

    def __init__(self, schema: Any) -> None:
        self.fault: UnsatisfiableSchemaError | None = None
        self.witness: str | None = None
        # In bytes, roughly.
        self.memory = _LEAST_MEMORY
        # The highest cost of a search so far: the next one may cost as much.
        try:
            self._document = Document(schema)
            self.memory += self._document.memory
            self.witness = self.search(0, "en", "")
        except (InvalidSchemaError, SchemaLimitError) as error:
            # Without its frames, which would keep all of this.
            self.fault = error.with_traceback(None)
        except RecursionError:
            self.fault = InvalidSchemaError("The schema is nested too deeply")
        if self.witness is None and self.fault is None:
            self.fault = UnsatisfiableSchemaError("No value was found that keeps to the schema")

    @property
    def is_recursive(self) -> bool:
        """Whether it is recursive. Raises InvalidSchemaError if it is not a schema."""
        return self.document.is_recursive

    @property
    def document(self) -> Document:
        """The schema as a document. Raises InvalidSchemaError or SchemaLimitError if there is none."""
        if isinstance(self.fault, InvalidSchemaError | SchemaLimitError):
            raise type(self.fault)(str(self.fault))
        return self._document

    def search(self, key: int, language: str, subject: str, *, complete: bool = False) -> str | None:
        """An instance, as JSON; None if none is found. Raises InvalidSchemaError if a reference leads to no schema."""
        document, fallback, tired, work = self._document, None, False, _WORK
        for attempt, naturally in enumerate(_SEARCHES):
            if tired and naturally:
                continue
            draws = Draws(derive(key, "instance", attempt))
            solver = Solver(draws, language, subject, self._cost(work, naturally=naturally, complete=complete))
            try:
                value = solver.solve([document.root])
            except (TooMuchError, RecursionError):
                if not naturally:
                    break
                tired = True
                continue
            finally:
                work -= work // 2 - solver.work_left
            if value is NOTHING:
                continue
            # Mostly the formats are right too, which makes a second validation unnecessary.
            is_right = document.accepts_formats(value)
            if not is_right and not document.accepts(value):
                continue
            text = compact(value)
            if len(text) > _LONGEST:
                continue
            if is_right:
                return text
            fallback = fallback or text
        return fallback

    def _cost(self, work: int, *, naturally: bool, complete: bool) -> Cost:
        size = min(self._document.size, 20_000)
        natural = _NATURAL + _NATURAL_EACH * size if naturally else 0
        return Cost(
            _STEPS + _STEPS_EACH * size,
            _VALUES + _VALUES_EACH * size,
            natural,
            work // 2,
            complete=complete and naturally,
        )


_kept: Cache[bytes, Compiled] = Cache(_KEPT)


def check_schema(schema: object) -> None:
    """See the package."""
    fault = compiled(schema).fault
    if fault is not None:
        raise type(fault)(str(fault))


def is_recursive(schema: object) -> bool:
    """See the package."""
    return compiled(schema).is_recursive


def write_instance(schema: object, key: int, language: str, subject: str, *, complete: bool = False) -> str:
    """See the package."""
    known = compiled(schema)
    if known.witness is None:
        check_schema(schema)
        raise AssertionError("a schema without a witness has a fault")
    try:
        found = known.search(key, language, subject, complete=complete)
    except InvalidSchemaError:
        # This search has gone where the witness' had no need to.
        return known.witness
    return found or known.witness


def compiled(schema: object) -> Compiled:
    """A schema with its document, perhaps from an earlier request. Raises InvalidSchemaError for what is not JSON."""
    try:
        name = _name(schema)
    except (TypeError, ValueError, RecursionError):
        raise InvalidSchemaError("The schema is nothing that JSON can say") from None
    found = _kept.find(name)
    if found is None:
        found = Compiled(schema)
        _kept.keep(name, found, len(name) + found.memory)
    return found


def _name(schema: object) -> bytes:
    """The key of a schema in the cache. The order of its properties counts, since answers follow it."""
    try:
        return orjson.dumps(schema)
    except TypeError:
        # Integers of more than 64 bits.
        return json.dumps(schema).encode("utf-8", "surrogatepass")
