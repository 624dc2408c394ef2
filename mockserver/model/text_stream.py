"""The text of a choice: which text it is, how the sampling parameters change it, and how far it is needed.

A text is an iterator of pieces, usually endless, of which only as many are written as a request needs. It has no single
end, only places where it may end: the first is its natural end (None among the pieces), then the end of each piece.

Sampling parameters change prose only: a constrained text (JSON, a pattern, a grammar) stays as it is, since a word
that is replaced or left out would break it; there a temperature below 1 chooses between the greedy text and the
choice's own.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from mockserver.core.generation import LONGEST_CHOICE, Constraint, GenerationRequest, Prompt, Sampling
from mockserver.core.seeding import Draws, derive
from mockserver.model.corpus import Phrase
from mockserver.model.prose import is_dictated, write_prose
from mockserver.model.sampling import Blend, apply_sampling, is_plain
from mockserver.model.tokens import EOS

if TYPE_CHECKING:
    from mockserver.model.output_formats import FormatWriter

TokensAndEnd = tuple[list[int], list[str], bool]

# The seed of the greedy text; and a constant in place of the server's seed, on which a greedy text must not depend.
GREEDY = 0
GREEDY_SEED = 42
# The freedom of the beams of a deterministic search: they differ from the greedy text in half of their turns.
_ASIDE = 0.5


class ChoiceSeeds(NamedTuple):
    """The seeds of a prompt's texts: `content` for the sampled ones, `greedy` for the greedy one.

    `free` is the freedom that the sampling parameters leave (`freedom`). `searched` is True in a beam search, whose
    candidates differ from each other even if sampling is greedy, except the greedy one itself.
    """

    content: int
    greedy: int
    free: float
    searched: bool


def choice_tokens(
    prompt: Prompt,
    constraint: Constraint | None,
    sampling: Sampling,
    seeds: ChoiceSeeds,
    own: int,
    *,
    limit: int,
    least: int,
) -> TokensAndEnd:
    """The first tokens of the text of a choice's `own` seed, at most `limit`, and whether it ends before the limit.

    It does not end before it has `least` tokens.
    """
    key = derive(seeds.content, "text", own)
    free = _freedom(seeds, own) if seeds.searched or seeds.free == 0 else seeds.free
    if constraint is not None:
        if free < 1 and Draws(derive(key, "form")).unit() >= free:
            key = derive(seeds.greedy, "text", GREEDY)
        return first_tokens(_writers()[constraint.kind](prompt, key, constraint.schema), limit, least)
    plain = is_plain(sampling)
    if plain and free == 1:
        return first_tokens(write_prose(prompt, Draws(key)), limit, least)
    greedy = derive(seeds.greedy, "text", GREEDY)
    pieces = write_prose(prompt, _draws(key, greedy, free))
    if not plain:
        draws = _draws(derive(key, "voice"), derive(greedy, "voice"), free)
        pieces = apply_sampling(pieces, prompt, sampling, draws)
    return first_tokens(pieces, limit, least)


def first_tokens(pieces: Iterator[Phrase | None], limit: int, least: int) -> TokensAndEnd:
    """The first tokens of a text, at most `limit`, and whether it ends before that, but not before `least` tokens.

    If the pieces run out, as they may under a pattern, the end of the last one is the end, even if it comes too early.
    """
    ids: list[int] = []
    texts: list[str] = []
    may_end = False
    for piece in pieces:
        if piece is None:
            may_end = True
        else:
            ids += piece.ids
            texts += piece.texts
        count = len(ids)
        if count >= limit or (may_end and count >= least):
            break
    if len(ids) >= limit:
        return ids[:limit], texts[:limit], False
    return ids, texts, True


def drawn_length(request: GenerationRequest, prompt: Prompt, content: int, own: int) -> int | None:
    """After how many tokens an answer in words ends, thoughts included, if load tests have it drawn; None if its text
    decides, as it does where an answer must have a form, is dictated, or must not end.

    `content` and `own` are the seeds of its text, so that equal requests have answers of equal length.
    """
    limits = request.limits
    if limits.lengths is None or limits.ignore_eos or request.constraint is not None:
        return None
    if any(token == EOS for token, _ in request.sampling.logit_bias) or is_dictated(prompt):
        return None
    drawn = limits.lengths.quantile(Draws(derive(content, "length", own)).unit())
    return min(max(round(drawn), 1), LONGEST_CHOICE)


def _freedom(seeds: ChoiceSeeds, own: int) -> float:
    """The share of turns that a text decides by itself; one with a greedy key needs no blending."""
    if seeds.free == 0:
        return _ASIDE if seeds.searched and own != GREEDY else 1.0
    # Candidates have to differ, so each is decided by its own seed alone.
    return 1.0 if seeds.searched else seeds.free


def _draws(own: int, greedy: int, free: float) -> Draws:
    return Draws(own) if free == 1 else Blend(own, greedy, free)


@cache
def _writers() -> "Mapping[str, FormatWriter]":
    """The writers of constrained answers. They take some 40 ms to import, and few requests need them."""
    from mockserver.model.output_formats import WRITERS

    return WRITERS
