"""Consistent log-probabilities.

Each position has a shape: the log-probabilities of the first 21 ranks, whose probabilities add up to less than one. A
greedily chosen token has the first rank. A sampled one usually has it too, and never a rank that `top_k`, `top_p` or
`min_p` exclude; at high temperatures it sometimes has a rank beyond the twentieth. Rivals (alternatives) are common
tokens of the language. A position does not depend on how many alternatives are requested. Biases move the shape as they
move logits, and banned tokens are not among the alternatives.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate
from math import exp, floor, inf, log
from typing import NamedTuple

from mockserver.core.generation import GenerationRequest, Position, Prompt, Sampling
from mockserver.core.seeding import Draws
from mockserver.model import languages, tokens
from mockserver.model.intent import detect_intent
from mockserver.model.penalties import UNEXPECTED
from mockserver.model.sampling import freedom, straying
from mockserver.model.token_filter import NEVER, BannedTokens, banned_tokens
from mockserver.model.tokens import phrase, token_bytes

RANKS = 21
_SHAPES = 64
_LEAST_DOUBT = -0.000_001
# The temperature of texts found by a search: it accepts an unlikely token only for the sake of likelier ones after it.
_FOUND = 0.1

Row = tuple[int, str, float]


class Scale(NamedTuple):
    """What the ranks and alternatives of a choice's tokens depend on."""

    sampling: Sampling
    greedy: bool
    language: str


def asked_positions(
    request: GenerationRequest,
    prompt: Prompt,
    ids: Sequence[int],
    texts: Sequence[str],
    key: int,
    sampling: Sampling,
    *,
    found: bool = False,
) -> Sequence[Position]:
    """The positions of tokens that follow a prompt; empty if the request asks for no log-probabilities."""
    alternatives = request.output.logprobs
    if alternatives is None:
        return ()
    return positions(ids, texts, alternatives, key, scale(sampling, detect_intent(prompt.topic).language, found=found))


def positions(
    ids: Sequence[int], texts: Sequence[str], alternatives: int, key: int, scale: Scale
) -> tuple[Position, ...]:
    """One position per token, each with its `alternatives` likeliest tokens, best first."""
    draws = Draws(key)
    candidates = _candidates(scale.language, banned_tokens(scale.sampling))
    likely = _ranker(scale)
    count = min(alternatives, RANKS)
    # Banned tokens are not among the candidates, so they need no further change.
    biases = {token: bias for token, bias in scale.sampling.logit_bias if bias > NEVER}
    favoured = _favoured(scale.sampling.logit_bias)
    rows = []
    for token, text in zip(ids, texts, strict=True):
        bits = draws.bits()
        shape = _shapes()[bits % _SHAPES]
        rank = likely(bits, shape)
        top = _top(bits, (token, text), RANKS if biases else count, rank, shape, candidates)
        if biases:
            rows.append(_biased(top, (token, text, shape[rank]), biases, favoured, count, greedy=scale.greedy))
        else:
            rows.append(Position(shape[rank], top, rank))
    return tuple(rows)


def scale(sampling: Sampling, language: str, *, found: bool = False) -> Scale:
    """The scale of a choice. One `found` by a deterministic search sometimes departs from the likeliest token."""
    greedy = freedom(sampling) == 0
    if found and greedy:
        model = Sampling(
            temperature=_FOUND,
            logit_bias=sampling.logit_bias,
            bad_words=sampling.bad_words,
            bad_tokens=sampling.bad_tokens,
        )
        return Scale(model, False, language)
    return Scale(sampling, greedy, language)


def _ranker(scale: Scale) -> Callable[[int, Sequence[float]], int]:
    """The function that decides a token's rank, from 64 random bits and the shape of its position."""
    if scale.greedy:
        return lambda bits, shape: 0
    sampling = scale.sampling
    if (
        sampling.temperature == 1
        and (sampling.top_p, sampling.min_p, max(sampling.top_k, 0)) == (1, 0, 0)
        and not straying(sampling)
    ):
        return _drawn
    return partial(_filtered, sampling, int(256 * straying(sampling)))


def _drawn(bits: int, shape: Sequence[float]) -> int:
    """The rank of a token sampled without filters: the first in three of four cases, else one of the next six."""
    return 0 if (bits >> 6) & 3 else 1 + ((bits >> 8) & 0xFF) * 6 // 256


def _filtered(sampling: Sampling, straying: int, bits: int, shape: Sequence[float]) -> int:
    """The same under temperature and filters: low ones have the first rank more often, high ones sometimes the last."""
    cold = (bits >> 48) & 0xFF >= 256 * sampling.temperature
    rank = 0 if cold else _drawn(bits, shape)
    if (bits >> 40) & 0xFF < straying:
        rank = RANKS - 1
    if sampling.top_k > 0:
        rank = min(rank, sampling.top_k - 1)
    while rank and not _is_kept(rank, shape, sampling):
        rank -= 1
    return rank


def _is_kept(rank: int, shape: Sequence[float], sampling: Sampling) -> bool:
    """Whether a rank passes `top_p` (the likelier ranks have not reached it) and `min_p` (the rank is not below it)."""
    likelier = _reach(tuple(shape))[rank]
    return (sampling.top_p >= 1 or likelier < sampling.top_p) and exp(shape[rank] - shape[0]) >= sampling.min_p


@lru_cache(maxsize=_SHAPES)
def _reach(shape: tuple[float, ...]) -> tuple[float, ...]:
    """For each rank the sum of the probabilities of all likelier ones."""
    return tuple(accumulate(map(exp, shape[:-1]), initial=0.0))


def _top(
    bits: int,
    chosen: tuple[int, str],
    count: int,
    rank: int,
    shape: Sequence[float],
    candidates: Sequence[tuple[int, str]],
) -> tuple[Row, ...]:
    """The `count` likeliest tokens by rank: the chosen one at its rank, candidates at the others."""
    if count == 0:
        return ()
    token, text = chosen
    top: list[Row] = []
    start = (bits >> 16) % len(candidates) if candidates else 0
    step = 0
    for place in range(count):
        if place == rank:
            top.append((token, text, shape[rank]))
            continue
        while step < len(candidates):
            candidate = candidates[(start + step) % len(candidates)]
            step += 1
            if candidate[0] != token and candidate[1] != text:
                top.append((*candidate, shape[place]))
                break
    return tuple(top)


def _biased(
    top: Sequence[Row],
    chosen: Row,
    biases: Mapping[int, float],
    favoured: Sequence[Row],
    count: int,
    *,
    greedy: bool,
) -> Position:
    """A position with biased logits: favoured tokens rise into the list, and the probabilities are normalized again."""
    listed = {row[0]: row for row in (*top, chosen)}
    for row in favoured:
        listed.setdefault(row[0], row)
    if biases.get(chosen[0], 0.0) > 0:
        listed[chosen[0]] = (*chosen[:2], min(chosen[2], UNEXPECTED))
    moved = {token: row[2] + biases.get(token, 0.0) for token, row in listed.items()}
    rest = max(1 - sum(exp(row[2]) for row in listed.values()), 0.0)
    highest = max(*moved.values(), 0.0)
    total = highest + log(sum(exp(value - highest) for value in moved.values()) + rest * exp(-highest))
    if greedy:
        best = max(moved, key=moved.__getitem__)
        moved[best], moved[chosen[0]] = moved[chosen[0]], moved[best]
    # Rounded down, so that the probabilities never add up to more than one.
    shares = {token: min(floor((value - total) * 1e6) / 1e6, _LEAST_DOUBT) for token, value in moved.items()}
    rows = [(token, listed[token][1], share) for token, share in shares.items()]
    rows.sort(key=lambda row: (-row[2], row[0] != chosen[0]))
    rows = _no_text_twice(rows, chosen[0])
    rank = next(index for index, row in enumerate(rows) if row[0] == chosen[0])
    return Position(rows[rank][2], tuple(rows[:count]), rank)


def _no_text_twice(rows: Sequence[Row], chosen: int) -> list[Row]:
    """The rows without further tokens of the same text, since some lists are keyed by text."""
    own = next(text for token, text, _ in rows if token == chosen)
    first = {text: token for token, text, _ in reversed(rows)} | {own: chosen}
    return [row for row in rows if first[row[1]] == row[0]]


def _favoured(biases: tuple[tuple[int, float], ...]) -> tuple[Row, ...]:
    """The tokens with positive biases, highest first, as many as a list can show; each as likely as without bias."""
    raised = sorted((-bias, token) for token, bias in biases if bias > 0)
    return tuple((token, tokens.decode((token,)), UNEXPECTED) for _, token in raised[: RANKS - 1])


@cache
def _shapes() -> tuple[tuple[float, ...], ...]:
    """The log-probabilities by rank, from less certain positions to more certain ones."""
    shapes = []
    for index in range(_SHAPES):
        sure = 0.35 + 0.64 * ((index + 0.5) / _SHAPES) ** 0.5
        fall = 0.35 + 0.3 * (index % 7) / 7
        rest = (1 - sure) * 0.98
        shares = [sure] + [rest * (1 - fall) * fall**rank for rank in range(RANKS - 1)]
        shapes.append(tuple(round(log(share), 6) for share in sorted(shares, reverse=True)))
    return tuple(shapes)


def _candidates(language: str, forbidden: BannedTokens) -> tuple[tuple[int, str], ...]:
    """Tokens of the language's own sentences in a fixed mixed order, without duplicate texts and forbidden tokens."""
    key = _candidates, language
    if key not in forbidden.kept:
        kept = (candidate for candidate in _all_candidates(language) if not forbidden.forbid_token(*candidate))
        forbidden.kept[key] = tuple(kept)
    found: tuple[tuple[int, str], ...] = forbidden.kept[key]
    return found


@cache
def _all_candidates(language: str) -> tuple[tuple[int, str], ...]:
    seen: dict[str, int] = {}
    for sentence in languages.sentences(language)["body"]:
        for token, text in zip(*phrase(sentence), strict=True):
            # Only whole characters: the text of a partial one does not show its bytes.
            if token_bytes(token) == text.encode():
                seen.setdefault(text, token)
    mixed = sorted(seen.items(), key=lambda item: (item[1] * 0x9E3779B97F4A7C15) & ((1 << 64) - 1))
    return tuple((token, text) for text, token in mixed)


# The echo of a prompt: its tokens before those of the answer.


class Echo(NamedTuple):
    """The tokens of a prompt as an answer repeats them, with log-probabilities if these are requested."""

    texts: Sequence[str] = ()
    positions: Sequence[Position] = ()


NO_ECHO = Echo()


def echo_of(request: GenerationRequest, prompt: Prompt, key: int) -> Echo:
    """The echo of a prompt; empty if the request asks for none. The key decides how likely its tokens are."""
    if not request.output.echo:
        return NO_ECHO
    ids = prompt.ids or tokens.encode(prompt.text)
    texts = tokens.texts(ids)
    # A prompt is not sampled, so the request's sampling parameters do not apply.
    return Echo(texts, asked_positions(request, prompt, ids, texts, key, Sampling()))


# The best of several candidates, in a beam search or among independent samples. A candidate's score is the sum of its
# log-probabilities divided by its length to the power of `length_penalty`: 1 compares means, more favours long answers,
# less than 1 short ones.


def ranked(candidates: Sequence[Sequence[Position]], sampling: Sampling) -> list[int]:
    """The indices of the candidates, best first.

    With `early_stopping` the search ends when `beams` candidates have ended, so that only the shortest are compared.
    """
    order = list(range(len(candidates)))
    if sampling.early_stopping and sampling.beams > 1:
        order = sorted(order, key=lambda place: len(candidates[place]))[: sampling.beams]
    return sorted(order, key=lambda place: badness(candidates[place], sampling.length_penalty))


def badness(positions: Sequence[Position], length_penalty: float) -> float:
    """The logarithm of the negated score of a candidate; infinite, the worst, for one without tokens."""
    total = -sum(position.logprob for position in positions)
    # As a logarithm, since the power of a length may exceed the range of floats.
    return log(total) - length_penalty * log(len(positions)) if total > 0 else inf
