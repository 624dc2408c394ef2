"""Texts that match patterns (regular expressions), and look natural: digits where these are required, words where words
fit.

Strategy. A walk through the pattern's tree writes what it requires: patterns are never run as programs, so none can
take exponential time. Where a pattern looks around, or several have to match together, the text may not match: then one
that does is searched near it (`derivatives`).
"""

from collections.abc import Callable, Collection, Iterator
from collections.abc import Sequence as Row
from contextlib import suppress

from mockserver.core.seeding import Draws
from mockserver.model.regex.derivatives import MatchSearch
from mockserver.model.regex.sampling import LONGEST, Walk
from mockserver.model.regex.sizes import PatternError
from mockserver.model.regex.syntax import Node, read_pattern, refers, sequence
from mockserver.model.tokens import Phrase, fresh_phrase

# Called with the number of steps that were taken; it may raise an exception that ends the search.
Spend = Callable[[int], None]

_WALKS = 12
# After so many steps, no more walks are tried where a reference to a group asks for it.
_MOST_STEPS = 10_000
# The characters of each continuation.
_PIECE = 12


def write_match(pattern: str, draws: Draws) -> str:
    """A text of at most `LONGEST` characters that the pattern matches from end to end.

    Raises PatternError, a ValueError, if the pattern is malformed or not supported, or if no such text was found.
    """
    root = read_pattern(pattern)
    with suppress(PatternError):
        return _written(root, draws)
    return _written(root, Draws(0))  # whose text is found if any is, as `fault_in` says


def _written(root: Node, draws: Draws) -> str:
    try:
        text = _found([root], [], draws, 0, LONGEST, whole=True)
    except RecursionError:
        raise PatternError("the pattern has too much in one place") from None
    if text is None:
        raise PatternError("no text matches the pattern")
    return text


def find_match(
    patterns: Row[str],
    draws: Draws,
    least: int = 0,
    most: int | None = None,
    forbidden: Row[str] = (),
    others_than: Row[str] = (),
    spend: Spend = lambda steps: None,
) -> str | None:
    """A text that every pattern matches somewhere, and no forbidden one, and that is none of `others_than`.

    It has `least` to `most` characters. None if there is no such text or none was found, or if a forbidden pattern has
    a back-reference. `spend` is called with the steps of searches; what it raises is passed on.
    """
    longest = LONGEST if most is None else min(most, LONGEST)
    try:
        wanted, unwanted = list(map(read_pattern, patterns)), list(map(read_pattern, forbidden))
        return _found(wanted, unwanted, draws, least, longest, frozenset(others_than), spend, whole=False)
    except (PatternError, RecursionError):
        return None


def fault_in(pattern: str) -> str:
    """Why no text that this pattern matches as a whole can be written; empty if one can, whatever the draws."""
    try:
        write_match(pattern, Draws(0))
    except PatternError as error:
        return str(error)
    return ""


def tell_match(pattern: str, key: int) -> Iterator[Phrase | None]:
    """The phrases of a text that matches a pattern as a whole, None where it is complete, and continuations if any.

    Raises PatternError if `fault_in` finds a fault in the pattern.
    """
    draws = Draws(key)
    text = write_match(pattern, draws)
    yield fresh_phrase(text)
    yield None
    # Not `except`: a text that is still being continued when the interpreter ends no longer finds those names.
    with suppress(PatternError, RecursionError):  # it has a back-reference, or takes too long to continue
        search = MatchSearch([read_pattern(pattern)], whole=True)
        search.read(text)
        while text := search.find(draws, _PIECE, 4 * _PIECE) or search.find(draws, 1, LONGEST) or "":
            yield fresh_phrase(text)
            search.read(text)


def _found(
    wanted: Row[Node],
    unwanted: Row[Node],
    draws: Draws,
    least: int,
    most: int,
    others: Collection[str] = (),
    spend: Spend = lambda steps: None,
    *,
    whole: bool,
) -> str | None:
    """A text that all wanted nodes match and no unwanted one, from end to end if `whole`; None if none was found."""
    shortest = max((least, *(node.shortest for node in wanted)))
    if shortest > most:
        raise PatternError(f"the pattern asks for at least {shortest} characters, and {most} are allowed")
    # Without any pattern, a text that is not empty is preferred.
    natural, roots = (least, wanted) if wanted else (min(max(least, 1), most), [sequence([])])
    alone, referring = len(roots) == 1 and not unwanted, any(map(refers, roots))
    steps = 0
    for number in range(_WALKS):
        last = number == _WALKS - 1
        walks = [Walk(root, draws, natural, most, whole=whole, hurried=last) for root in roots]
        walk = max(walks, key=lambda walk: walk.root.shortest)
        if alone and walk.matches and least <= len(walk.text) <= most and walk.text not in others:
            return walk.text
        if (alone and (walk.matches or walk.stuck) and not last) or (referring and any(walk.stuck for walk in walks)):
            continue  # another may keep to the bounds, or differ from the others
        # What a walk wrote for a group is what a reference to it stands for.
        nodes = [walk.followed if refers(walk.root) else walk.root for walk in walks]
        search = MatchSearch(nodes, unwanted, whole=whole)
        try:
            text = search.find(draws, least, most, walk.text, others)
        finally:
            spend(search.steps)
        steps += search.steps
        if text is not None or not referring or steps > _MOST_STEPS:
            return text
    return None
