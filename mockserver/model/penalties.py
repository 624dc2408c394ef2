"""What the sampling parameters of a request do to the words of a text: biases, bans, penalties, high temperatures.

A text is rewritten phrase by phrase and word by word, so that a limit still gives a prefix. In this order: tokens with
a positive bias are inserted; words are replaced at random at high temperatures; words that have occurred before are
avoided or preferred; and nothing is written that a ban or a repeated n-gram forbids. A forbidden unit that no other
word can replace (a mark, a number) is left out. The draws depend on a key of their own, not on those of the text.
"""

import codecs
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp, inf, log

from mockserver.core.generation import Prompt, Sampling
from mockserver.core.seeding import Draws
from mockserver.model import tokens
from mockserver.model.intent import detect_intent
from mockserver.model.token_filter import NEVER, Unit, allowed_words, banned_tokens, in_place, units, words_of
from mockserver.model.tokens import Phrase

# The logit of an unexpected token before its bias is added.
UNEXPECTED = -5.0
# The bias that forces a token; greater ones have the same effect.
_FORCED = 100.0
# A repetition penalty divides logits, and has the effect of its logarithm times this many nats here.
_LOGIT = 4.0
# A preferred word is one of many, so preference is weaker than avoidance by this factor.
_PULL = 4.0
# How many other words are tried in place of a forbidden one, and compared in place of one that is penalised.
_ATTEMPTS = 24
_COMPARED = 5
# How many tokens of an n-gram are compared at most.
_LONGEST_GRAM = 64
# After this many successive phrases that are left out completely the text is over, even if it must not end.
_PATIENCE = 64


def apply_penalties(
    phrases: Iterator[Phrase | None], prompt: Prompt, sampling: Sampling, straying: float, draws: Draws
) -> Iterator[Phrase | None]:
    """The phrases of a text, and None where it may end, under the sampling parameters of a request.

    `straying` is the share of words that are replaced by unlikely ones.
    """
    rewriter = _Rewriter(prompt, sampling, straying, draws)
    silent, ended = 0, False
    for phrase in phrases:
        parts = rewriter.say(phrase) if phrase is not None else ([] if rewriter.endless else [None])
        for part in parts:
            # The natural end is marked only once; after it, a text may end after every phrase.
            if part is not None or not ended:
                yield part
            ended = ended or part is None
        silent = 0 if any(part and part.ids for part in parts) else silent + 1
        if silent > _PATIENCE:
            return


class _Rewriter:
    """The text so far, and the choice of the next word."""

    def __init__(self, prompt: Prompt, sampling: Sampling, straying: float, draws: Draws) -> None:
        language = detect_intent(prompt.topic).language
        self._draws = draws
        self._frequency, self._presence = sampling.frequency_penalty, sampling.presence_penalty
        self._straying = straying
        self._biases = _Biases(sampling.logit_bias)
        self._bans = banned_tokens(sampling)
        self._pool = allowed_words(language, self._bans)
        # "plus the input tokens for decoder-only models"
        size = sampling.no_repeat_ngram
        self._grams = _Grams(size, prompt.ids or tokens.encode(prompt.text)) if size > 1 else None
        # The end of the tokens and of the text so far, as much as the bans need.
        self._ids: tuple[int, ...] = ()
        self._text = ""
        self._counts: Counter[str] = Counter()
        self._words: list[str] = []
        # "Penalizes tokens that have already appeared in the generated result (plus the input tokens [...])."
        self._repetition = _LOGIT * log(sampling.repetition_penalty)
        self._prompted = words_of(prompt.text) if self._repetition else frozenset()
        # The weight of words that have occurred before, in nats: 0 unless penalties are negative and reward repetition.
        reward = min(self._frequency + self._presence, 0.0) + min(self._repetition, 0.0)
        self._sought = 1 - exp(reward / _PULL)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.endless = self._biases.endless

    def say(self, phrase: Phrase) -> list[Phrase | None]:
        """A phrase rewritten: empty, a phrase, or several with places to end (None) between them."""
        parts: list[Phrase | None] = []
        ids: list[int] = []
        texts: list[str] = []
        for unit in units(phrase):
            written = self._turn(unit)
            if written is None:
                continue
            if written.ids == (tokens.EOS,):
                parts += [Phrase(tuple(ids), tuple(texts)), None]
                ids, texts = [], []
                continue
            ids += written.ids
            texts += self._streamed(written) if self._biases.broken else written.texts
        return [*parts, Phrase(tuple(ids), tuple(texts))] if ids else parts

    def _turn(self, unit: Unit) -> Unit | None:
        favourite = self._biases.favourite(self._draws) if self._biases.favoured else None
        if favourite is not None:
            self._note(favourite)
            return favourite
        if unit.word and self._pool.words:
            unit = self._chosen(unit)
        allowed = self._allowed(unit)
        if allowed is not None:
            self._note(allowed)
            if allowed.word:
                self._counts[allowed.word] += 1
                self._words.append(allowed.word)
        return allowed

    def _note(self, unit: Unit) -> None:
        """Keep of what is written what bans and n-grams need."""
        if self._bans.token_reach:
            self._ids = (*self._ids, *unit.ids)[-self._bans.token_reach :]
        if self._bans.text_reach:
            self._text = (self._text + unit.text)[-self._bans.text_reach :]
        if self._grams is not None:
            self._grams.add(unit.ids)

    def _chosen(self, unit: Unit) -> Unit:
        """The word itself, or the one that replaces it because of the temperature or the penalties."""
        if self._straying and self._draws.unit() < self._straying:
            unit = self._pool.other(unit, self._draws)
        weight = self._weight(unit.word)
        if weight > 0 and self._draws.unit() < 1 - exp(-weight):
            unit = self._fresher(unit)
        elif self._sought and self._words and self._draws.unit() < self._sought:
            unit = in_place(unit, self._draws.pick(self._words))
        return unit

    def _fresher(self, unit: Unit) -> Unit:
        """Another word, of a few the one with the lowest weight."""
        best, least = unit, inf
        for _ in range(_COMPARED):
            other = self._pool.other(unit, self._draws)
            weight = self._weight(other.word)
            if weight < least:
                best, least = other, weight
            if weight <= 0:
                break
        return best

    def _weight(self, word: str) -> float:
        """The penalty of a word in nats: above 0 if it has occurred before and is penalised."""
        count = self._counts.get(word, 0)
        weight = self._frequency * count + self._presence if count else 0.0
        return weight + self._repetition if count or word in self._prompted else weight

    def _allowed(self, unit: Unit) -> Unit | None:
        """The unit, or an allowed one in its place; None if none is found."""
        if self._is_allowed(unit):
            return unit
        if unit.word and self._pool.words:
            for attempt in range(_ATTEMPTS):
                other = self._pool.other(unit, self._draws)
                if attempt >= _ATTEMPTS // 2:
                    # Perhaps the space before the word is forbidden.
                    other = in_place(unit, other.word, lead="")
                if self._is_allowed(other):
                    return other
        return None

    def _is_allowed(self, unit: Unit) -> bool:
        if self._biases.avoided and self._biases.avoids(unit, self._draws):
            return False
        if self._bans and self._bans.forbid(unit, self._ids, self._text):
            return False
        return self._grams is None or self._grams.are_new(unit.ids)

    def _streamed(self, unit: Unit) -> list[str]:
        """The texts that a unit's tokens add to a stream in which some tokens are parts of characters."""
        return [self._decoder.decode(tokens.token_bytes(token)) for token in unit.ids]


class _Biases:
    """Tokens that are inserted, and tokens that are often avoided. Biases as low as a ban are left to the bans."""

    def __init__(self, biases: tuple[tuple[int, float], ...]) -> None:
        raised = [(token, exp(min(bias, _FORCED) + UNEXPECTED)) for token, bias in biases if bias > 0]
        total = 1 + sum(weight for _, weight in raised)
        self.favoured = [token for token, _ in raised]
        self._shares = list(accumulate(weight / total for _, weight in raised))
        self.avoided = {token: exp(bias) for token, bias in biases if NEVER < bias < 0}
        self.endless = any(token == tokens.EOS and bias <= NEVER for token, bias in biases)
        self.broken = any("\ufffd" in tokens.decode((token,)) for token in self.favoured)

    def favourite(self, draws: Draws) -> Unit | None:
        """The token that its bias inserts now, or None."""
        place = bisect_right(self._shares, draws.unit())
        return _alone(self.favoured[place]) if place < len(self.favoured) else None

    def avoids(self, unit: Unit, draws: Draws) -> bool:
        """Whether a unit is avoided now because of a token in it."""
        return any(token in self.avoided and draws.unit() >= self.avoided[token] for token in unit.ids)


@lru_cache(maxsize=1024)
def _alone(token: int) -> Unit:
    text = tokens.decode((token,))
    return Unit((token,), (text,), text, text, "")


class _Grams:
    """The n-grams of tokens. Of long ones the ends count: where these do not occur twice, the whole does not either."""

    def __init__(self, size: int, ids: Sequence[int]) -> None:
        self._size = min(size, _LONGEST_GRAM)
        self._end: tuple[int, ...] = ()
        self._known: set[int] = set()
        self.add(tuple(ids))

    def are_new(self, more: tuple[int, ...]) -> bool:
        """Whether no n-gram is repeated if these tokens are added."""
        grams = self._ending_in(more)
        return self._known.isdisjoint(grams) and len({*grams}) == len(grams)

    def add(self, more: tuple[int, ...]) -> None:
        """Add tokens."""
        self._known.update(self._ending_in(more))
        self._end = (self._end + more)[1 - self._size :]

    def _ending_in(self, more: tuple[int, ...]) -> list[int]:
        """The n-grams that end with one of these tokens, as hashes, which take no memory by their length."""
        row = self._end + more
        return [hash(row[start : start + self._size]) for start in range(len(row) - self._size + 1)]
