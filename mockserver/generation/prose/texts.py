"""Prose: endless texts, whose beginnings are the answers in words.

A text depends on a key, the prompt's brief and whether the prompt is answered or continued; never on a limit. Its
natural end is marked (`None` among the phrases); what follows is only used if the request forbids the model to stop.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase
from mockserver.generation.prompts.brief import Brief, brief
from mockserver.generation.prompts.dialogues import gives_the_word, is_dialogue
from mockserver.generation.prose.reports import report, results
from mockserver.generation.prose.writer import Writer, code_begun

_SAY = re.compile(r"\s*(?:please )?say ", re.IGNORECASE)
# Genres in which a question about a passage is answered.
_ANSWERING_GENRES = ("plain", "sentence", "brief", "short")
# A whole prompt of fewer characters is conversation: what it tells before its question does not answer it in prose. A
# passage alone may be shorter (`passages`), and that is enough for the property of an object that asks for its answer.
_LEAST_WITH_PASSAGE = 160
# The characters after which an answer needs no leading space.
_ENDS_OF_TURNS = frozenset(" \t\n>")
# Messages that refer to the one before, and their greatest length in characters.
_LONGEST_FOLLOW_UP = 60
_IT = r"(?:it|that|this)"
_FOLLOW_UP = (
    r"\s*(?:(?:ok|okay|yes|yeah|sure|please|and|so|then|now|great|да|ок|а)\b[,.!]?\s*)*"
    r"(?:(?:can|could|would) you (?:please )?)?"
    rf"(?:(?:tell me|say|show me|give me|write) (?:some )?more(?: (?:about {_IT}|details?))?|more(?: details?)?|go on|"
    rf"continue|keep going|elaborate|expand(?: on {_IT})?|explain(?: (?:{_IT}|further|again|more))*|why|why not|how|"
    rf"how so|(?:give me )?(?:an?|another|some|more) examples?|(?:in )?(?:more )?detail|"
    rf"(?:make {_IT} )?(?:shorter|longer|simpler|more \w+)|(?:summari[sz]e|shorten|rephrase|rewrite) {_IT}|"
    rf"(?:in|answer in|translate {_IT} (?:in)?to) \w+|"
    r"подробнее|ещё|еще|продолжай(?:те)?|почему|зачем|(?:приведи )?(?:ещё )?пример|расскажи подробнее|короче)?"
    r"(?:,? please)?[\s.!?]*"
)
_ORDER = re.compile(
    r"\s*+(please\s++)?(write|explain|list|give|describe|tell|generate|create|summari[sz]e|translate|say|show|compare|"
    r"make|draft|compose|напиши|объясни|расскажи|перечисли|составь|опиши|придумай|сравни|покажи|переведи)\w*\b",
    re.IGNORECASE,
)


def write_prose(prompt: Prompt, key: int) -> Iterator[Phrase | None]:
    """The phrases of an endless text; None marks its natural end."""
    return draw_prose(prompt, Draws(key))


def draw_prose(prompt: Prompt, draws: Draws) -> Iterator[Phrase | None]:
    """The same, with draws of any kind to decide each turn."""
    about = _about(prompt)
    sayings = _dictated(prompt, about) or _found_in_prompt(prompt, about)
    story = Writer(about, draws, sayings, _material(prompt, about))
    return chain(_until_natural_end(prompt, about, story, draws), (None,), story.more())


def is_dictated(prompt: Prompt) -> bool:
    """Whether a prompt dictates its answer, or a choice of answers, word for word."""
    return bool(_dictated(prompt, _about(prompt))) and not results(prompt.messages)


def _dictated(prompt: Prompt, about: Brief) -> Sequence[str]:
    """The answers that a prompt dictates, one of which is given; usually none."""
    return about.sayings or _dictated_to_chats(prompt)


def _about(prompt: Prompt) -> Brief:
    """The brief of a prompt. A message such as `Tell me more` is about what the one before it was about."""
    about = brief(prompt.topic)
    if len(prompt.messages) < 2 or len(prompt.topic) > _LONGEST_FOLLOW_UP or not _follow_up().fullmatch(prompt.topic):
        return about
    earlier = (each.text for each in reversed(prompt.messages[:-1]) if each.role == "user")
    asked = next((text for text in earlier if not _follow_up().fullmatch(text[: _LONGEST_FOLLOW_UP + 1])), None)
    if asked is None:
        return about
    before = brief(asked)
    # `In German, please` asks for another language; `ok` says nothing of it.
    language = about.language if about.language != "en" or "english" in about.wanted else before.language
    return before._replace(
        language=language, genre=about.genre, words=about.words, items=about.items, facts=(), sayings=()
    )


@cache
def _follow_up() -> re.Pattern[str]:
    # Compiled with the first short message of a longer conversation.
    return re.compile(_FOLLOW_UP, re.IGNORECASE)


def _until_natural_end(prompt: Prompt, about: Brief, story: Writer, draws: Draws) -> Iterator[Phrase]:
    """The phrases up to the natural end."""
    found = results(prompt.messages)
    if found:
        return chain(report(found, about.language, draws), story.close())
    if prompt.chat:
        return story.answer()
    if gives_the_word(prompt.topic):
        return story.answer(lead="" if prompt.topic[-1] in _ENDS_OF_TURNS else " ")
    if code_begun(prompt.topic[-200:]):
        return story.rest_of_code(prompt.topic[-200:])
    if _asks(prompt.topic) or is_dialogue(prompt.topic) or about.sayings:
        return story.answer(lead=" " if prompt.topic.rstrip().endswith((":", ">")) else "\n\n")
    return story.continuation(prompt.text)


def _dictated_to_chats(prompt: Prompt) -> Sequence[str]:
    """The answers that only a chat dictates: in a sentence without quotes, or in instructions for every message;
    usually none."""
    if prompt.chat and _SAY.match(prompt.topic):
        from mockserver.generation.prompts.dictation import sentence_to_say  # slow to import

        sentence = sentence_to_say(prompt.topic)
        if sentence is not None:
            return (sentence,)
    instructions = next(iter(prompt.instructions), None)
    sayings = brief(instructions).sayings if instructions else ()
    if len(sayings) > 1:
        from mockserver.generation.prompts.sentiment import sentiment

        felt = sentiment(sayings, prompt.topic)
        return sayings if felt is None else (felt,)
    return sayings


def _found_in_prompt(prompt: Prompt, about: Brief) -> Sequence[str]:
    """The answer that stands in a passage of the prompt; none if it has no passage, or asks for more than an answer."""
    if "?" not in prompt.topic or about.facts or about.genre not in _ANSWERING_GENRES:
        return ()
    if len(prompt.text) < _LEAST_WITH_PASSAGE:
        return ()
    from mockserver.generation.prompts.passages import answer_from  # few prompts have a passage

    found = answer_from(prompt, corpus.stopwords(about.language))
    return () if found is None else (found,)


def _material(prompt: Prompt, about: Brief) -> Sequence[str]:
    """The sentences that a prompt, or the instructions of a chat, orders to summarize or translate; usually none."""
    instructions = next(iter(prompt.instructions), None)
    if not about.gives_material and (instructions is None or not brief(instructions).gives_material):
        return ()
    from mockserver.generation.prompts.material import asks_for_a_summary, material, sentences  # few prompts give any

    if about.genre == "translation" or asks_for_a_summary(prompt.topic):
        return sentences(material(prompt.topic))
    return sentences(prompt.topic) if instructions is not None and asks_for_a_summary(instructions) else ()


def _asks(topic: str) -> bool:
    """Whether a text to be completed is a question or an instruction rather than an unfinished text."""
    return topic.rstrip().endswith(("?", "\uff1f")) or _ORDER.match(topic) is not None
