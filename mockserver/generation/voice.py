"""The voice that tells a story under controls: words are swapped, kept back or called for as a request asks.

It hears the story phrase by phrase and says each one again, word by word, so that a limit still gives a prefix. In this
order: tokens with a bias come up by themselves; words stray at high temperatures; words that were said already are
avoided or sought; and nothing is said that a ban or a repeated n-gram forbids. What has no other word (a mark, a
number) is left out. Its draws depend on its key, and are not those of the story.
"""

import codecs
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from math import exp, inf, log

from mockserver.core.generation import Prompt, Sampling
from mockserver.core.seeding import Draws
from mockserver.generation import tokens
from mockserver.generation.bans import NEVER, bans, sayable
from mockserver.generation.corpus import Phrase
from mockserver.generation.sampling import straying
from mockserver.generation.subject import brief
from mockserver.generation.words import Unit, in_place, units, words_of

# The logit of a token that nobody would expect: a bias lifts it from here.
UNEXPECTED = -5.0
# A bias of so much forces a token, and no greater one forces it more.
_FORCED = 100.0
# A repetition penalty divides logits; this many nats stand for what a logit is worth.
_LOGIT = 4.0
# A word that is sought is one of many: so much less often does it come than an avoided one stays away.
_PULL = 4.0
# How many other words are tried for one that must not be said, and for one that was said too often.
_ATTEMPTS = 24
_COMPARED = 5
# After so many phrases of which nothing may be said the story is over, whatever else is asked of it.
_PATIENCE = 64
_KEPT_TAIL = 4096


def is_plain(sampling: Sampling) -> bool:
    """Whether stories are told as they are, since no control touches their words."""
    return not (
        sampling.logit_bias
        or sampling.bad_words
        or sampling.bad_tokens
        or sampling.no_repeat_ngram > 1
        or sampling.frequency_penalty
        or sampling.presence_penalty
        or sampling.repetition_penalty != 1
        or straying(sampling)
    )


def revoiced(
    phrases: Iterator[Phrase | None], prompt: Prompt, sampling: Sampling, draws: Draws
) -> Iterator[Phrase | None]:
    """The phrases of a story, and None where it may end, as the controls of a request let it be told."""
    voice = _Voice(prompt, sampling, draws)
    silent, ended = 0, False
    for told in phrases:
        said = voice.say(told) if told is not None else ([] if voice.endless else [None])
        for part in said:
            # A story has one natural end; after it every phrase's end is one.
            if part is not None or not ended:
                yield part
            ended = ended or part is None
        silent = 0 if any(part and part.ids for part in said) else silent + 1
        if silent > _PATIENCE:
            return


class _Voice:
    """What has been said so far, and how the next word is chosen."""

    def __init__(self, prompt: Prompt, sampling: Sampling, draws: Draws) -> None:
        language = brief(prompt.topic).language
        self._draws = draws
        self._frequency, self._presence = sampling.frequency_penalty, sampling.presence_penalty
        self._straying = straying(sampling)
        self._biases = _Biases(sampling.logit_bias)
        self._bans = bans(sampling)
        self._pool = sayable(language, self._bans)
        self._history = _History(prompt, sampling)
        self._counts: Counter[str] = Counter()
        self._words: list[str] = []
        # "Penalizes tokens that have already appeared in the generated result (plus the input tokens [...])."
        self._repetition = _LOGIT * log(sampling.repetition_penalty)
        self._prompted = words_of(prompt.text) if self._repetition else frozenset()
        # How much speaks for words that were said already, in nats: nothing unless repetition is rewarded.
        said = min(self._frequency + self._presence, 0.0) + min(self._repetition, 0.0)
        self._sought = 1 - exp(said / _PULL)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.endless = self._biases.endless

    def say(self, told: Phrase) -> list[Phrase | None]:
        """What becomes of a phrase: nothing, a phrase, or several with places to end between them."""
        parts: list[Phrase | None] = []
        ids: list[int] = []
        texts: list[str] = []
        for unit in units(told):
            said = self._turn(unit)
            if said is None:
                continue
            if said.ids == (tokens.EOS,):
                parts += [Phrase(tuple(ids), tuple(texts)), None]
                ids, texts = [], []
                continue
            ids += said.ids
            texts += self._heard(said) if self._biases.broken else said.texts
        return [*parts, Phrase(tuple(ids), tuple(texts))] if ids else parts

    def _turn(self, unit: Unit) -> Unit | None:
        favourite = self._biases.favourite(self._draws) if self._biases.favoured else None
        if favourite is not None:
            self._history.add(favourite)
            return favourite
        if unit.word and self._pool.words:
            unit = self._chosen(unit)
        allowed = self._allowed(unit)
        if allowed is not None:
            self._history.add(allowed)
            if allowed.word:
                self._counts[allowed.word] += 1
                self._words.append(allowed.word)
        return allowed

    def _chosen(self, unit: Unit) -> Unit:
        """The word that the controls of chance and the penalties make of a word."""
        if self._straying and self._draws.unit() < self._straying:
            unit = self._pool.other(unit, self._draws)
        weight = self._weight(unit.word)
        if weight > 0 and self._draws.unit() < 1 - exp(-weight):
            unit = self._fresher(unit)
        elif self._sought and self._words and self._draws.unit() < self._sought:
            unit = in_place(unit, self._draws.pick(self._words))
        return unit

    def _fresher(self, unit: Unit) -> Unit:
        """Another word, the one of a few against which the least speaks."""
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
        """How much speaks against a word, in nats: above 0 when it was said already and is penalised."""
        count = self._counts.get(word, 0)
        weight = self._frequency * count + self._presence if count else 0.0
        return weight + self._repetition if count or word in self._prompted else weight

    def _allowed(self, unit: Unit) -> Unit | None:
        """The unit, or another in its place that may be said; None when there is none."""
        if self._may_say(unit):
            return unit
        if unit.word and self._pool.words:
            for attempt in range(_ATTEMPTS):
                other = self._pool.other(unit, self._draws)
                if attempt >= _ATTEMPTS // 2:
                    # Perhaps it is the blank before it that is at fault.
                    other = in_place(unit, other.word, lead="")
                if self._may_say(other):
                    return other
        return None

    def _may_say(self, unit: Unit) -> bool:
        if self._biases.avoided and self._biases.avoids(unit, self._draws):
            return False
        if self._bans and self._bans.forbid(unit, self._history.ids, self._history.text):
            return False
        return self._history.is_new(unit.ids)

    def _heard(self, unit: Unit) -> list[str]:
        """The texts of tokens where some of them are parts of characters."""
        return [self._decoder.decode(tokens.token_bytes(token)) for token in unit.ids]


class _Biases:
    """Tokens that come up by themselves, and tokens that are mostly avoided. A ban is no bias."""

    def __init__(self, biases: tuple[tuple[int, float], ...]) -> None:
        raised = [(token, exp(min(bias, _FORCED) + UNEXPECTED)) for token, bias in biases if bias > 0]
        total = 1 + sum(weight for _, weight in raised)
        self.favoured = [token for token, _ in raised]
        self._shares = list(accumulate(weight / total for _, weight in raised))
        self.avoided = {token: exp(bias) for token, bias in biases if NEVER < bias < 0}
        self.endless = any(token == tokens.EOS and bias <= NEVER for token, bias in biases)
        self.broken = any("\ufffd" in tokens.decode((token,)) for token in self.favoured)

    def favourite(self, draws: Draws) -> Unit | None:
        """The token that its bias brings up now, None when it brings up none."""
        place = bisect_right(self._shares, draws.unit())
        return _alone(self.favoured[place]) if place < len(self.favoured) else None

    def avoids(self, unit: Unit, draws: Draws) -> bool:
        """Whether a unit is not said now because of a token in it."""
        return any(token in self.avoided and draws.unit() >= self.avoided[token] for token in unit.ids)


@lru_cache(maxsize=1024)
def _alone(token: int) -> Unit:
    text = tokens.decode((token,))
    return Unit((token,), (text,), text, text, "")


class _History:
    """The tokens and the text so far, as much of them as has to be known; and every n-gram that must not come again."""

    def __init__(self, prompt: Prompt, sampling: Sampling) -> None:
        forbidden = bans(sampling)
        self._size = sampling.no_repeat_ngram if sampling.no_repeat_ngram > 1 else 0
        self._reach = max(self._size - 1, forbidden.token_reach, 0)
        self._text_reach = forbidden.text_reach
        self.ids: list[int] = []
        self.text = ""
        self._grams: set[tuple[int, ...]] = set()
        if self._size:
            # "plus the input tokens for decoder-only models"
            self.ids = list(prompt.ids or tokens.encode(prompt.text))
            self._grams.update(self._fresh(0))

    def _fresh(self, start: int) -> list[tuple[int, ...]]:
        size, ids = self._size, self.ids
        return [tuple(ids[at : at + size]) for at in range(max(start, 0), len(ids) - size + 1)]

    def is_new(self, more: tuple[int, ...]) -> bool:
        """Whether no n-gram would come twice with these tokens."""
        if not self._size:
            return True
        grams = _grams((*self.ids[max(len(self.ids) - self._size + 1, 0) :], *more), self._size)
        return self._grams.isdisjoint(grams) and len(set(grams)) == len(grams)

    def add(self, unit: Unit) -> None:
        """Take note of what is said."""
        before = len(self.ids)
        self.ids += unit.ids
        if self._size:
            self._grams.update(self._fresh(before - self._size + 1))
        if len(self.ids) > _KEPT_TAIL + self._reach:
            del self.ids[: len(self.ids) - self._reach]
        if self._text_reach:
            self.text = (self.text + unit.text)[-self._text_reach :]


def _grams(ids: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    return [ids[at : at + size] for at in range(len(ids) - size + 1)]
