"""The ways to meet schemas: what they demand together, and the demands that the forks of one lead to.

A document keeps what its own schemas demand, since they are met again with every answer.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence

from mockserver.model.schema.demands import Demand, Fork
from mockserver.model.schema.documents import Node
from mockserver.model.schema.keywords import add
from mockserver.model.schema.properties import Scopes

# So many demands of a document are kept, some kilobytes each: those nearest to its root, which come first.
_MOST_KEPT = 64


def demand_of(nodes: Sequence[Node]) -> Demand:
    """What schemas ask for together. Nobody may change it: where all of them have a place, their document keeps it."""
    kept = nodes[0].document.kept if nodes else None
    # The ids of nodes with a place are theirs for as long as the document lives, and no others are keys.
    key = tuple(map(id, nodes))
    found = None if kept is None else kept.get(key)
    if found is None:
        found = Demand()
        for node in nodes:
            add(found, node)
        if all(node.place is not None for node in nodes):
            _keep(found, key, kept)
    return found


def settled(demand: Demand, forks: Sequence[Fork], spend: Callable[[int], None]) -> Iterator[Demand]:
    """Every demand that this one leads to by its forks, the likeliest first: they are told in the order in which they
    are to be tried, and so are the options of each.

    `spend` is told how many steps it takes, and may raise.
    """
    if demand.impossible:
        return
    if not forks:
        yield demand
        return
    fork, *rest = forks
    for option in fork.options:
        # A copy of the demand is made, too.
        spend(1 + len(option) // 4 + (len(demand.seen) + len(demand.required) + len(demand.dependents)) // 1000)
        further = _further(demand, option, fork.scopes)
        yield from settled(further, (*rest, *further.forks), spend)


def _further(demand: Demand, option: Sequence[Node], scopes: Scopes) -> Demand:
    """The demand with an option of one of its forks, and with the forks of that alone; kept where the demand is."""
    key = (id(demand), tuple(map(id, option)), scopes)
    found: Demand | None = None if demand.kept is None else demand.kept.get(key)
    if found is None:
        found = demand.without_forks()
        for node in option:
            add(found, node, scopes)
        _keep(found, key, demand.kept)
    return found


def _keep(demand: Demand, key: Hashable, kept: dict[Hashable, Demand] | None) -> None:
    if kept is not None and len(kept) < _MOST_KEPT:
        kept[key] = demand
        demand.kept = kept
