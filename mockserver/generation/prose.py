"""Prose: endless texts, whose beginnings are the answers in words.

A text depends on a key, the prompt's brief and whether the prompt is answered or continued; never on a limit. Its
natural end is marked (`None` among the phrases); what follows is only used if the request forbids the model to stop.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from keyword import iskeyword

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, fresh_phrase, phrase
from mockserver.generation.dialogues import gives_the_word, is_dialogue
from mockserver.generation.records import people
from mockserver.generation.reports import report, results
from mockserver.generation.subject import Brief, brief

_CODE_NAMES = {
    "typescript": "typescript", "javascript": "javascript", "java": "java", "golang": "go", " go ": "go",
    "rust": "rust", "sql": "sql", "bash": "bash", "shell": "bash", "html": "html", " c ": "c", "python": "python",
}  # fmt: skip
_NO_SPACES = ("zh", "ja")
_SAY = re.compile(r"\s*(?:please )?say ", re.IGNORECASE)
# The roles of messages that instruct the model.
_INSTRUCTING = ("system", "developer")
# The characters after which an answer needs no leading space.
_ENDS_OF_TURNS = frozenset(" \t\n>")
# Phrases that are repeated within one text, but hardly ever in another: a small cache of their own.
_own_phrase = lru_cache(maxsize=64)(fresh_phrase)
# The first line of a function at the end of a text.
_CODE_BEGUN = re.compile(
    r"(?:^|\n)[ \t]*(?:(?:async )?def (?P<python>\w+)\(.*:|(?:async )?function (?P<js>\w*)\(.*\{)\s*$"
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
    about = brief(prompt.topic)
    story = _Writer(about, draws, about.sayings or _dictated_to_chats(prompt))
    return chain(_until_natural_end(prompt, about, story, draws), (None,), story.more())


def _until_natural_end(prompt: Prompt, about: Brief, story: "_Writer", draws: Draws) -> Iterator[Phrase]:
    """The phrases up to the natural end."""
    found = results(prompt.messages)
    if found:
        return chain(report(found, about.language, draws), story.close())
    if prompt.chat:
        return story.answer()
    if gives_the_word(prompt.topic):
        return story.answer(lead="" if prompt.topic[-1] in _ENDS_OF_TURNS else " ")
    if _code_begun(prompt.topic[-200:]):
        return story.rest_of_code(prompt.topic[-200:])
    if _asks(prompt.topic) or is_dialogue(prompt.topic) or about.sayings:
        return story.answer(lead=" " if prompt.topic.rstrip().endswith((":", ">")) else "\n\n")
    return story.continuation(prompt.text)


def _dictated_to_chats(prompt: Prompt) -> Sequence[str]:
    """The answers that only a chat dictates: in a sentence without quotes, or in instructions for every message;
    usually none."""
    if prompt.chat and _SAY.match(prompt.topic):
        from mockserver.generation.dictation import sentence_to_say  # slow to import

        sentence = sentence_to_say(prompt.topic)
        if sentence is not None:
            return (sentence,)
    instructions = next((each.text for each in prompt.messages if each.role in _INSTRUCTING), None)
    return brief(instructions).sayings if instructions else ()


def _code_begun(tail: str) -> re.Match[str] | None:
    """The match of a function's first line at the end of a text, if there is one."""
    return _CODE_BEGUN.search(tail) if tail.rstrip().endswith((":", "{")) else None


def _asks(topic: str) -> bool:
    """Whether a text to be completed is a question or an instruction rather than an unfinished text."""
    return topic.rstrip().endswith(("?", "\uff1f")) or _ORDER.match(topic) is not None


class _Writer:
    """The writer of one text, from its brief and the draws that decide each turn.

    If there are `sayings`, one of them is the whole text.
    """

    def __init__(self, about: Brief, draws: Draws, sayings: Sequence[str]) -> None:
        self._about = about
        self._draws = draws
        self._sayings = sayings
        self._sections = corpus.language(about.language)
        self._space = "" if about.language in _NO_SPACES else " "
        self._used: set[str] = set()

    def answer(self, lead: str = "") -> Iterator[Phrase]:
        """An answer to the prompt in the requested form, after the `lead`: white space that the prompt lacks."""
        if self._sayings:
            phrases: Iterator[Phrase] = iter((fresh_phrase(self._draws.pick(self._sayings)),))
        elif self._about.facts:
            phrases = self._known()
        elif self._about.words is not None:
            phrases = self._counted(self._about.words)
        else:
            phrases = _FORMS.get(self._about.form, _Writer._plain)(self)
        return chain((phrase(lead),), phrases) if lead else phrases

    def more(self) -> Iterator[Phrase]:
        """Endless paragraphs."""
        while True:
            yield phrase("\n\n")
            yield from self.paragraph(5, opened=False)

    def rest_of_code(self, begun: str) -> Iterator[Phrase]:
        """The rest of a function whose first line ends the prompt."""
        first = _code_begun(begun)
        name = (first and (first["python"] or first["js"])) or "main"
        snippets = corpus.code()["python" if first and first["python"] else "javascript"]
        _, _, rest = self._draws.pick(snippets).partition("{name}")
        _, _, body = rest.partition("\n")
        yield fresh_phrase(("" if begun.endswith("\n") else "\n") + body.replace("{name}", name))

    def close(self) -> Iterator[Phrase]:
        """A closing sentence, or none."""
        if self._draws.below(2) == 0:
            yield self._sentence("closers")

    def _plain(self) -> Iterator[Phrase]:
        yield from self.paragraph(2 + self._draws.below(4), opened=True)
        if self._draws.below(3) == 0:
            yield phrase("\n\n")
            yield from self.paragraph(2 + self._draws.below(2), opened=False)
        yield self._sentence("closers")

    def _known(self) -> Iterator[Phrase]:
        """A fact, and some sentences more if it may be in a sentence."""
        yield fresh_phrase(self._draws.pick(self._about.facts))
        if len(self._about.facts) > 1 and self._about.form == "plain":
            for _ in range(2 + self._draws.below(4)):
                yield self._sentence("body")
            yield self._sentence("closers")

    def _greeting(self) -> Iterator[Phrase]:
        yield phrase(self._entry("greetings"))

    def _short(self) -> Iterator[Phrase]:
        yield phrase(self._entry("short"))

    def _one_sentence(self) -> Iterator[Phrase]:
        yield from self._with_subject(self._entry("openers"), "")

    def _brief(self) -> Iterator[Phrase]:
        yield from self.paragraph(1, opened=True)

    def continuation(self, text: str) -> Iterator[Phrase]:
        """Sentences that continue the text, even from the middle of a sentence."""
        first = self._entry("continuations")
        stripped = text.rstrip()
        lead = self._space if stripped == text else ""
        if self._about.facts:
            yield fresh_phrase(lead + self._draws.pick(self._about.facts))
        elif not stripped:
            yield phrase(first)
        elif stripped[-1] in '.!?…。！？"”»':
            yield phrase(lead + first)
        else:
            comma = "" if stripped[-1] in ",;:-—–" or lead == "" else ","
            yield phrase(comma + (self._space if comma else lead) + first[0].lower() + first[1:])
        for _ in range(2 + self._draws.below(6)):
            yield self._sentence("continuations")

    def paragraph(self, sentences: int, *, opened: bool) -> Iterator[Phrase]:
        """A paragraph: an opener or another first sentence, and `sentences` more."""
        if opened:
            yield from self._with_subject(self._entry("openers"), "")
        else:
            yield phrase(self._entry("body"))
        for _ in range(sentences):
            turn = self._draws.below(8)
            if turn == 0:
                yield from self._with_subject(self._entry("subject"), self._space)
            elif turn == 1 and self._sections.get("links"):
                yield from self._linked()
            else:
                yield self._sentence("body")

    def _counted(self, words: int) -> Iterator[Phrase]:
        """Paragraphs of about as many words as the prompt asks for."""
        written = 0
        first = True
        while written < words:
            if not first and self._draws.below(5) == 0:
                yield phrase("\n\n")
                first = True
            text = self._entry("body")
            yield phrase(text if first else self._space + text)
            first = False
            written += len(text.split()) if self._space else len(text) // 2

    def _people(self) -> Iterator[Phrase]:
        yield from self._with_subject(self._entry("openers"), "")
        yield phrase("\n")
        for record in people(self._draws.bits(), self._about.language, self._about.items or 5):
            yield fresh_phrase(f"\n- {record}")

    def _code(self) -> Iterator[Phrase]:
        wanted = f" {self._about.wanted} "
        name = next((code for word, code in _CODE_NAMES.items() if word in wanted), "python")
        snippet = self._draws.pick(corpus.code()[name])
        yield from self._with_subject(self._entry("openers"), "")
        yield self._sentence("code_intro")
        yield fresh_phrase(f"\n\n```{name}\n{snippet.replace('{name}', _identifier(self._about.subject))}\n```\n\n")
        yield from self.paragraph(1 + self._draws.below(2), opened=False)

    def _list(self) -> Iterator[Phrase]:
        yield from self._with_subject(self._entry("openers"), "")
        yield phrase("\n")
        numbered = self._draws.below(2) == 0
        for index in range(self._about.items or 4 + self._draws.below(4)):
            yield phrase(f"\n{index + 1}." if numbered else "\n-")
            yield phrase(" " + self._entry("bullets"))
        yield phrase("\n\n")
        yield phrase(self._entry("closers"))

    def _article(self) -> Iterator[Phrase]:
        yield phrase("#")
        yield _own_phrase(f" {self._about.subject[:1].upper()}{self._about.subject[1:]}")
        yield phrase("\n\n")
        yield from self.paragraph(4, opened=True)
        for _ in range(3 + self._draws.below(3)):
            yield phrase("\n\n##")
            yield phrase(" " + self._entry("headings"))
            yield phrase("\n\n")
            yield from self.paragraph(4 + self._draws.below(4), opened=False)
        yield phrase("\n\n")
        yield phrase(self._entry("closers"))

    def _linked(self) -> tuple[Phrase, ...]:
        sentence = self._entry("body")
        return phrase(self._space + self._entry("links")), phrase(self._space + sentence[0].lower() + sentence[1:])

    def _sentence(self, section: str) -> Phrase:
        return phrase(self._space + self._entry(section))

    def _with_subject(self, sentence: str, lead: str) -> tuple[Phrase, ...]:
        """A sentence with the subject in its slot. The space before a slot belongs to the subject, as in its tokens."""
        before, _, after = sentence.partition("{subject}")
        blank = " " if before.endswith(" ") else ""
        phrases = phrase(lead + before.removesuffix(" ")), _own_phrase(blank + self._about.subject)
        return (*phrases, phrase(after)) if after else phrases

    def _entry(self, section: str) -> str:
        """An entry of the section, if possible one that has not been used."""
        entries = self._sections.get(section) or self._sections["body"]
        entry = self._draws.pick(entries)
        if entry in self._used:
            entry = self._other(entries)
        self._used.add(entry)
        return entry

    def _other(self, entries: Sequence[str]) -> str:
        """An entry that has not been used, or any after three attempts."""
        for _ in range(3):
            entry = self._draws.pick(entries)
            if entry not in self._used:
                break
        return entry


# The writers of the forms that a brief may name; any other form is plain.
_FORMS: dict[str, Callable[[_Writer], Iterator[Phrase]]] = {
    "greeting": _Writer._greeting,
    "short": _Writer._short,
    "sentence": _Writer._one_sentence,
    "brief": _Writer._brief,
    "people": _Writer._people,
    "code": _Writer._code,
    "list": _Writer._list,
    "long": _Writer._article,
}


def _identifier(subject: str) -> str:
    """The subject as an identifier in code."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in subject).lower().split()
    name = "_".join(words[:3])
    return name if name.isidentifier() and not iskeyword(name) and "_" in name else "process_items"
