"""An index of stubs by values that they require a field to equal, so that few of many are tried for a request.

Each stub is filed under the one of its required values that the fewest others require. It is only looked at if the
request has that value. A stub without such a requirement is always looked at.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from mockserver.core.criteria import Criteria, Facts
from mockserver.core.json_paths import Path
from mockserver.core.json_values import identity

# Fewer stubs are tried sooner than looked up.
_FEW = 16
_SCALARS = (str, int, float)

Place = tuple[str, Path]


class Filed(Protocol):
    """Anything that is filed by its criteria."""

    @property
    def criteria(self) -> Criteria: ...


Item = TypeVar("Item", bound=Filed)


class Index:
    """The index of some stubs, which keeps their order."""

    __slots__ = ("_rest", "_tables")

    def __init__(self, stubs: Sequence[Filed]) -> None:
        self._rest: list[int] = []
        self._tables: dict[Place, dict[Hashable, list[int]]] = {}
        if len(stubs) < _FEW:
            self._rest = [*range(len(stubs))]
            return
        required = [_required(stub.criteria) for stub in stubs]
        shared = Counter((place, key) for each in required for place, keys in each.items() for key in keys)
        for number, each in enumerate(required):
            if not each:
                self._rest.append(number)
                continue
            place = min(each, key=lambda place: sum(shared[place, key] for key in each[place]))
            table = self._tables.setdefault(place, {})
            for key in each[place]:
                table.setdefault(key, []).append(number)

    def candidates(self, stubs: Sequence[Item], facts: Facts) -> Iterator[Item]:
        """Those of the indexed stubs that a request may match, in their order."""
        if not self._tables:
            return iter(stubs)
        found = {
            number
            for (field, path), table in self._tables.items()
            for value in facts.values(field, path)
            if isinstance(value, _SCALARS)
            for number in table.get(identity(value), ())
        }
        return (stubs[number] for number in sorted(found.union(self._rest)))


def _required(criteria: Criteria) -> Mapping[Place, frozenset[Hashable]]:
    """The keys of the values of which a field must have one, by the field's place."""
    # Few servers have so many stubs as to need it.
    from mockserver.core.matchers import Between, Contains, Equals, Exists, OneOf

    found: dict[Place, frozenset[Hashable]] = {}
    for criterion in criteria.criteria:
        # Trying these has no effect, so that one may be tried before the others. Searches for regular expressions use
        # up a request's time budget, and functions may raise exceptions.
        if type(criterion.matcher) not in (Equals, OneOf, Contains, Between, Exists):
            break
        values = criterion.matcher.equal_to
        if values and all(isinstance(value, _SCALARS) for value in values):
            found.setdefault((criterion.field, criterion.path), frozenset(map(identity, values)))
    return found
