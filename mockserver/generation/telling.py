"""How a choice tells its story: which one, how freely, and in whose voice.

The plain way is the fast one: a story by its key. Controls make another story of it, which is kept by a key of its own.
They touch prose alone: a demanded form (JSON, a pattern, a grammar) stays as it is told, since a word that is swapped
or left out would break it; there a temperature below 1 chooses between the greedy story and the choice's own.
"""

from collections.abc import Iterator
from typing import NamedTuple

from mockserver.core.generation import Constraint, Prompt, Sampling
from mockserver.core.seeding import Draws, derive
from mockserver.generation.corpus import Phrase
from mockserver.generation.prose import draw_prose
from mockserver.generation.sampling import Blend
from mockserver.generation.story import beginning, remembered_beginning
from mockserver.generation.voice import is_plain, revoiced

Told = tuple[list[int], list[str], bool]

# The seed of the story that is told where nothing is drawn; and what the model itself is made of, since such a story
# depends on no seed at all, not even the server's.
LIKELIEST = 0
WEIGHTS = 42
# How free a search without chance looks around: what it finds differs from the greedy story in half of its turns.
_ASIDE = 0.5


class Source(NamedTuple):
    """What the stories of a prompt come from: `content` for those that are drawn, `likely` for the greedy one.

    `free` is how free the sampling leaves them. Where beams are `searched`, they differ from each other however greedy
    they are: by a little without chance, but for the one that is greedy itself.
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
    """The first tokens of the story that a choice's `own` seed tells, and whether it ends by itself before the limit.

    It does not end before it has `least` of them.
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
        return revoiced(phrases, prompt, sampling, _draws(derive(key, "voice"), derive(likeliest, "voice"), free))

    return remembered_beginning(
        prompt, derive(key, "controls", repr(_controls(sampling, free))), write, limit=limit, least=least
    )


def _freedom(source: Source, own: int) -> float:
    """How many of its turns a story decides by itself; one that is likely by its key needs no blending."""
    if source.free == 0:
        return _ASIDE if source.searched and own != LIKELIEST else 1.0
    # Candidates are told apart by their own seeds alone.
    return 1.0 if source.searched else source.free


def _draws(own: int, likeliest: int, free: float) -> Draws:
    return Draws(own) if free == 1 else Blend(own, likeliest, free)


def _controls(sampling: Sampling, free: float) -> tuple[object, ...]:
    """All that decides how a story is told: the sampling without its seeds, and with no search."""
    return free, sampling._replace(seeds=(), beams=1, length_penalty=1.0, early_stopping=True)
