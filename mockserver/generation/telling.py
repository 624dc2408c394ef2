"""The text of a choice: which story it is, and how the sampling parameters change it.

Without such parameters a story follows from its key, which is fast. Sampling parameters turn it into another story,
which is cached under a key of its own. They change prose only: a constrained text (JSON, a pattern, a grammar) stays as
it is, since a word that is replaced or left out would break it; there a temperature below 1 chooses between the greedy
story and the choice's own.
"""

from collections.abc import Iterator
from typing import NamedTuple

from mockserver.core.generation import Constraint, Prompt, Sampling
from mockserver.core.seeding import Draws, derive
from mockserver.generation.corpus import Phrase
from mockserver.generation.prose.texts import draw_prose
from mockserver.generation.sampling import Blend, is_plain
from mockserver.generation.story import beginning, remembered_beginning

Told = tuple[list[int], list[str], bool]

# The seed of the greedy story; and a constant in place of the server's seed, on which a greedy story must not depend.
LIKELIEST = 0
WEIGHTS = 42
# The freedom of the beams of a deterministic search: they differ from the greedy story in half of their turns.
_ASIDE = 0.5


class Source(NamedTuple):
    """The seeds of a prompt's stories: `content` for the sampled ones, `likely` for the greedy one.

    `free` is the freedom that the sampling parameters leave (`freedom`). `searched` is True in a beam search, whose
    candidates differ from each other even if sampling is greedy, except the greedy one itself.
    """

    content: int
    likely: int
    free: float
    searched: bool


def tell(
    prompt: Prompt,
    constraint: Constraint | None,
    sampling: Sampling,
    source: Source,
    own: int,
    *,
    limit: int,
    least: int,
) -> Told:
    """The first tokens of the story of a choice's `own` seed, at most `limit`, and whether it ends before the limit.

    It does not end before it has `least` tokens.
    """
    key = derive(source.content, "text", own)
    free = _freedom(source, own)
    plain = is_plain(sampling)
    if free == 1 and (plain or constraint is not None):
        return beginning(prompt, key, constraint, limit=limit, least=least)
    likeliest = derive(source.likely, "text", LIKELIEST)
    if constraint is not None:
        chosen = key if Draws(derive(key, "form")).unit() < free else likeliest
        return beginning(prompt, chosen, constraint, limit=limit, least=least)

    def write() -> Iterator[Phrase | None]:
        phrases = draw_prose(prompt, _draws(key, likeliest, free))
        if plain:
            return phrases
        # Few requests control the words: without this import the server starts sooner.
        from mockserver.generation.prose.voice import revoiced

        return revoiced(phrases, prompt, sampling, _draws(derive(key, "voice"), derive(likeliest, "voice"), free))

    return remembered_beginning(
        prompt, derive(key, "controls", repr(_controls(sampling, free))), write, limit=limit, least=least
    )


def _freedom(source: Source, own: int) -> float:
    """The share of turns that a story decides by itself; one with a greedy key needs no blending."""
    if source.free == 0:
        return _ASIDE if source.searched and own != LIKELIEST else 1.0
    # Candidates have to differ, so each is decided by its own seed alone.
    return 1.0 if source.searched else source.free


def _draws(own: int, likeliest: int, free: float) -> Draws:
    return Draws(own) if free == 1 else Blend(own, likeliest, free)


def _controls(sampling: Sampling, free: float) -> tuple[object, ...]:
    """Everything that changes a story: the sampling parameters without seeds and those of a search."""
    return free, sampling._replace(seeds=(), beams=1, length_penalty=1.0, early_stopping=True)
