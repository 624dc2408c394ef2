"""What a model thinks before it speaks: so many tokens about the prompt, in English, as the models do that show it."""

from collections.abc import Iterator, Sequence
from functools import cache

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, fresh_phrase, phrase
from mockserver.generation.subject import brief


def think(prompt: Prompt, count: int, key: int) -> Sequence[str]:
    """The texts of `count` tokens of thinking; it ends with a whole sentence wherever there is room for one."""
    thought: list[str] = []
    for sentence in _sentences(prompt, Draws(key)):
        # One token at least is left for the ending.
        if len(thought) + len(sentence.texts) >= count:
            break
        thought += sentence.texts
    endings = _endings()
    while rest := count - len(thought):
        thought += endings[min(rest, max(endings))].texts
    return thought


def _sentences(prompt: Prompt, draws: Draws) -> Iterator[Phrase]:
    """Sentences without end: one that opens, then all the others in one order after the other."""
    about = brief(prompt.topic)
    subject = about.subject if about.names_subject else "this question"
    sections = corpus.thoughts()
    yield fresh_phrase(draws.pick(sections["openings"]).format(subject=subject))
    while True:
        for step in sorted(sections["steps"], key=lambda _: draws.bits()):
            text = f" {step}"
            # Those without a subject come up again and again.
            yield fresh_phrase(text.format(subject=subject)) if "{" in step else phrase(text)


@cache
def _endings() -> dict[int, Phrase]:
    """The last sentence of a thought, by how many tokens it has."""
    phrases = map(phrase, corpus.thoughts()["endings"])
    return {len(each.texts): each for each in phrases}
