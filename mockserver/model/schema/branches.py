"""The ways to meet schemas: what they ask for together, and the combinations of their alternatives, one after another.

A document keeps what its own schemas ask for, since they are met again with every answer.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence

from mockserver.core.seeding import Draws
from mockserver.model.schema.documents import SchemaNode
from mockserver.model.schema.merged_schema import MergedSchema, Scopes
from mockserver.model.schema.negation import Branch

# So many merged schemas of a document are kept, some kilobytes each: those nearest to its root, which come first.
_MOST_KEPT = 64


def merged(nodes: Sequence[SchemaNode]) -> MergedSchema:
    """What schemas ask for together. Nobody may change it: where all of them have a place, their document keeps it."""
    kept = nodes[0].document.kept if nodes else None
    # The ids of nodes with a place are theirs for as long as the document lives, and no others are keys.
    key = tuple(map(id, nodes))
    found = None if kept is None else kept.get(key)
    if found is None:
        found = MergedSchema()
        for node in nodes:
            found.add(node)
        if all(node.place is not None for node in nodes):
            _keep(found, key, kept)
    return found


def branches(
    known: MergedSchema, draws: Draws, spend: Callable[[int], None], *, frugal: bool
) -> Iterator[MergedSchema]:
    """Every merged schema that this one leads to by its alternatives, the likeliest first.

    `spend` is told how many steps it takes, and may raise. A `frugal` search takes what leads to least first.
    """
    if not known.alternatives:
        # Most schemas can be met in one way only.
        return iter(() if known.is_impossible else (known,))
    ordered = [(_ordered(each.options, draws, frugal=frugal), each.scopes) for each in known.alternatives]
    return _combined(known, ordered, spend)


def _combined(
    known: MergedSchema, alternatives: Sequence[tuple[Sequence[Branch], Scopes]], spend: Callable[[int], None]
) -> Iterator[MergedSchema]:
    if known.is_impossible:
        return
    if not alternatives:
        yield known
        return
    (options, scopes), *rest = alternatives
    for option in options:
        # A copy is made, too.
        spend(1 + len(option) // 4 + (len(known.seen) + len(known.required) + len(known.dependents)) // 1000)
        key = (id(known), tuple(map(id, option)), scopes)
        further: MergedSchema | None = None if known.kept is None else known.kept.get(key)
        if further is None:
            further = known.without_alternatives()
            for node in option:
                further.add(node, scopes)
            _keep(further, key, known.kept)
        yield from _combined(further, (*rest, *further.alternatives), spend)


def _keep(known: MergedSchema, key: Hashable, kept: dict[Hashable, MergedSchema] | None) -> None:
    if kept is not None and len(kept) < _MOST_KEPT:
        kept[key] = known
        known.kept = kept


def _ordered(options: Sequence[Branch], draws: Draws, *, frugal: bool) -> Sequence[Branch]:
    """Alternatives as they are tried: in drawn order, null seldom first; if frugal those that lead to least first."""
    if len(options) < 2:
        return options
    if frugal:
        return sorted(options, key=lambda option: max(map(_effort, option), default=0))
    stands = [bool(option) and all(node.place is not None for node in option) for option in options]
    plain = [option for option, standing in zip(options, stands, strict=True) if standing]
    made = [option for option, standing in zip(options, stands, strict=True) if option and not standing]
    start = draws.below(len(plain)) if plain else 0
    if draws.below(8):
        plain = sorted(plain[start:] + plain[:start], key=lambda option: all(map(_is_null, option)))
    else:
        plain = plain[start:] + plain[:start]
    # What is optimistic comes first, and what excludes other branches last.
    return [*(option for option in options if not option), *plain, *made[start:], *made[:start]]


def _effort(node: SchemaNode) -> int:
    """How many schemas one leads to, where they may lead back to themselves: the fewer, the sooner a value ends."""
    return node.document.reach.efforts.get(node, 0)


def _is_null(node: SchemaNode) -> bool:
    return isinstance(node.schema, dict) and node.schema.get("type") == "null"
