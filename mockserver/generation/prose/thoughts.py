"""Reasoning before an answer: a given number of tokens about the prompt, in English, as in models that show it."""

from collections.abc import Iterator, Sequence
from functools import cache

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, fresh_phrase, phrase
from mockserver.generation.prompts.brief import brief


def think(prompt: Prompt, count: int, key: int) -> Sequence[str]:
    """The texts of `count` tokens of reasoning, which ends with a whole sentence if there is room for one."""
    texts: list[str] = []
    for sentence in _sentences(prompt, Draws(key)):
        # At least one token is left for the ending.
        if len(texts) + len(sentence.texts) >= count:
            break
        texts += sentence.texts
    endings = _endings()
    while rest := count - len(texts):
        texts += endings[min(rest, max(endings))].texts
    return texts


def _sentences(prompt: Prompt, draws: Draws) -> Iterator[Phrase]:
    """Endless sentences: an opening, then all the others in one random order after another."""
    about = brief(prompt.topic)
    subject = about.noun_phrase if about.names_subject else "this question"
    sections = corpus.thoughts()
    yield fresh_phrase(draws.pick(sections["openings"]).format(subject=subject))
    while True:
        for step in sorted(sections["steps"], key=lambda _: draws.bits()):
            text = f" {step}"
            # Only those without a slot for the subject are worth caching.
            yield fresh_phrase(text.format(subject=subject)) if "{" in step else phrase(text)


@cache
def _endings() -> dict[int, Phrase]:
    """The last sentences of a reasoning, by their number of tokens."""
    phrases = map(phrase, corpus.thoughts()["endings"])
    return {len(each.texts): each for each in phrases}
