"""How a choice is sampled: which text it is, how far it departs from the likeliest one, and how much of it is needed.

A text is an iterator of pieces, usually endless, of which only as many are written as a request needs. It has no single
end, only places where it may end: the first is its natural end (None among the pieces), then the end of each piece.
Where a stop sequence is complete, the text is cut.

A text is decided turn by turn. At each turn the greedy text (that of key 0) has one number and the choice's own text
another; the more freedom the sampling parameters leave, the more often the choice takes its own. So without freedom all
seeds give the greedy text, with some of it similar ones, and with the defaults every seed gives a text of its own.

Words are replaced in prose only: a constrained text (JSON, a pattern, a grammar) stays as it is, since a word that is
replaced or left out would break it; there a temperature below 1 chooses between the greedy text and the choice's own.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from mockserver.core.generation import LONGEST_CHOICE, Constraint, GenerationRequest, Prompt, Sampling, Stops
from mockserver.core.seeding import Draws, derive
from mockserver.model.output_formats import writers
from mockserver.model.penalties import apply_penalties
from mockserver.model.prose import is_dictated, write_prose
from mockserver.model.tokens import EOS, Phrase

TokensAndEnd = tuple[Sequence[int], Sequence[str], bool]

# The seed of the greedy text; and a constant in place of the server's seed, on which a greedy text must not depend.
GREEDY = 0
GREEDY_SEED = 42
# The freedom of the beams of a deterministic search: they differ from the greedy text in half of their turns.
_ASIDE = 0.5

# The minimum probability of the likeliest token: a lower `top_p` leaves no other one. A `min_p` from which no other one
# is left. And a `top_k` with the same effect as none.
_LEAST_SHARE = 0.2
_NO_RIVAL = 0.8
_ALL_TOKENS = 40
# All fields but the seeds, as most requests have them: then nothing holds a choice back, and no word is changed.
_USUAL = Sampling()[1:]

# The share of words replaced per unit of temperature above 1, and if likely tokens are always excluded (XTC).
_STRAY_BY_HEAT = 0.15
_STRAY_BY_EXCLUSION = 0.2


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
        return first_tokens(writers()[constraint.kind](prompt, key, constraint.schema), limit, least)
    plain = is_plain(sampling)
    if plain and free == 1:
        return first_tokens(write_prose(prompt, Draws(key)), limit, least)
    greedy = derive(seeds.greedy, "text", GREEDY)
    pieces = write_prose(prompt, _draws(key, greedy, free))
    if not plain:
        draws = _draws(derive(key, "voice"), derive(greedy, "voice"), free)
        pieces = apply_penalties(pieces, prompt, sampling, straying(sampling), draws)
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
            more_ids, more_texts = piece
            ids += more_ids
            texts += more_texts
        if len(ids) >= limit or (may_end and len(ids) >= least):
            break
    if len(ids) < limit:
        return ids, texts, True
    del ids[limit:], texts[limit:]
    return ids, texts, False


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


# --- freedom -------------------------------------------------------------------------------------------------------


def freedom(sampling: Sampling) -> float:
    """The share of turns that a choice decides by itself: from 0.0 (greedy: the seed does not matter) to 1.0."""
    if sampling[1:] == _USUAL:
        return 1.0
    if sampling.temperature == 0 or sampling.top_k == 1:
        return 0.0
    return min(sampling.temperature, 1.0) ** 2 * _kept(sampling)


def straying(sampling: Sampling) -> float:
    """The share of words that are replaced by unlikely ones: 0 up to a temperature of 1, unless XTC is requested."""
    if (sampling.temperature <= 1 and not sampling.xtc_probability) or freedom(sampling) == 0:
        return 0.0
    heat = _STRAY_BY_HEAT * max(sampling.temperature - 1.0, 0.0)
    # XTC excludes all tokens above the threshold but the least likely of them: above 0.5 there is at most one. "The
    # default value of 0.0 disables XTC filtering entirely" (FriendliAI).
    exclusion = _STRAY_BY_EXCLUSION * sampling.xtc_probability if 0 < sampling.xtc_threshold < 0.5 else 0.0
    return min(heat + exclusion, 1.0) * _kept(sampling)


def is_plain(sampling: Sampling) -> bool:
    """Whether texts stay as they are, since no sampling parameter changes their words."""
    return sampling[1:] == _USUAL or not (
        sampling.logit_bias
        or sampling.bad_words
        or sampling.bad_tokens
        or sampling.no_repeat_ngram > 1
        or sampling.frequency_penalty
        or sampling.presence_penalty
        or sampling.repetition_penalty != 1
        or straying(sampling)
    )


def _kept(sampling: Sampling) -> float:
    """The share of the alternatives that `top_p`, `min_p` and `top_k` leave, from 0.0 to 1.0."""
    if sampling.top_p >= 1 and sampling.min_p <= 0 and not 0 < sampling.top_k < _ALL_TOKENS:
        return 1.0
    nucleus = (sampling.top_p - _LEAST_SHARE) / (1 - _LEAST_SHARE)
    relative = 1 - sampling.min_p / _NO_RIVAL
    few = 1 - 1 / sampling.top_k if 0 < sampling.top_k < _ALL_TOKENS else 1.0
    return max(min(nucleus, 1.0), 0.0) * max(relative, 0.0) * few


class Blend(Draws):
    """The draws of a choice with limited freedom: those of the greedy text, and at some turns its own."""

    __slots__ = ("_freedom", "_greedy", "_turns")

    def __init__(self, own: int, greedy: int, freedom: float) -> None:
        super().__init__(own)
        self._greedy, self._turns = Draws(greedy), Draws(derive(own, "turns"))
        self._freedom = freedom

    def bits(self) -> int:
        """The next 64 bits, of either text."""
        own, likeliest = super().bits(), self._greedy.bits()
        return own if self._turns.unit() < self._freedom else likeliest

    def _several(self) -> Sequence[int]:
        return (self.bits(),)


# --- stop sequences --------------------------------------------------------------------------------------------------


class Stopped(NamedTuple):
    """The rest of a choice, and the stop (a text, or the id of a token) that ended it."""

    ids: Sequence[int]
    texts: Sequence[str]
    stop: str | int


def cut_at_stop(ids: Sequence[int], texts: Sequence[str], stops: Stops, min_tokens: int = 0) -> Stopped | None:
    """The choice cut at the stop that is complete first; None if there is none after the first `min_tokens` tokens.

    Tokens wholly after the cut are dropped. A token that is cut in two stays, with the rest of its text, so that
    tokens, texts and usage agree.
    """
    found = [_first_text(texts, stops.texts, min_tokens), _first_tokens(ids, texts, stops.tokens, min_tokens)]
    complete = [each for each in found if each is not None]
    if not complete:
        return None
    end, start, stop = min(complete, key=lambda each: each[0])
    if isinstance(stop, tuple):
        return Stopped(ids[:start], texts[:start], stop[-1])
    kept = end if stops.include else start
    borders = list(accumulate(map(len, texts), initial=0))
    count = bisect_left(borders, kept)
    left = list(texts[:count])
    if left:
        left[-1] = left[-1][: kept - borders[count - 1]]
    return Stopped(ids[:count], left, stop)


def stops_early(texts: Sequence[str], stops: Stops, min_tokens: int) -> bool:
    """Whether a text that stops, but is not to be part of the answer, is among its first `min_tokens` tokens."""
    if not min_tokens or stops.include:
        return False
    first = _first_text(texts, stops.texts, 0)
    return first is not None and first[1] < sum(map(len, texts[:min_tokens]))


def _first_text(texts: Sequence[str], stops: Sequence[str], min_tokens: int) -> tuple[int, int, str] | None:
    """The text that is complete first: where it ends and begins, in characters."""
    first: tuple[int, int, str] | None = None
    text = "".join(texts) if stops else ""
    begin = sum(map(len, texts[:min_tokens])) if stops else 0
    for stop in dict.fromkeys(filter(None, stops)):
        # No other that ends later is wanted.
        start = text.find(stop, begin, None if first is None else first[0] - 1)
        if start >= 0:
            first = start + len(stop), start, stop
    return first


def _first_tokens(
    ids: Sequence[int], texts: Sequence[str], stops: Sequence[tuple[int, ...]], min_tokens: int
) -> tuple[int, int, tuple[int, ...]] | None:
    """The tokens that are complete first: where they end, in characters, and begin, as the index of a token."""
    # The place in the list by first token, length and tokens, since there may be thousands.
    known: dict[int, dict[int, dict[tuple[int, ...], int]]] = {}
    for place, stop in enumerate(stops):
        if stop:
            known.setdefault(stop[0], {}).setdefault(len(stop), {}).setdefault(stop, place)
    found: list[tuple[int, int, int, tuple[int, ...]]] = []
    for start in range(min_tokens, len(ids) if known else 0):
        if found and start >= min(found)[0]:
            break
        for length, wanted in known.get(ids[start], {}).items():
            stop = tuple(ids[start : start + length])
            if stop in wanted:
                found.append((start + length, wanted[stop], start, stop))
    if not found:
        return None
    end, _, start, stop = min(found)
    return sum(map(len, texts[:end])), start, stop
