"""The writer of answers in words: sentences of the project's own, in the genre that a prompt asks for."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from keyword import iskeyword

from mockserver.core.seeding import Draws
from mockserver.generation import corpus
from mockserver.generation.corpus import Phrase, fresh_phrase, phrase
from mockserver.generation.prompts.brief import Brief
from mockserver.generation.prose.records import people

_CODE_NAMES = {
    "typescript": "typescript", "javascript": "javascript", "java": "java", "golang": "go", " go ": "go",
    "rust": "rust", "sql": "sql", "bash": "bash", "shell": "bash", "html": "html", " c ": "c", "python": "python",
}  # fmt: skip
_NO_SPACES = ("zh", "ja")
_HAIKUS = ("haiku", "хокку", "хайку")
_POEMS = (*_HAIKUS, "poem", "verse", "rhyme", "sonnet", "limerick", "lullaby", "стих")
# Phrases that are repeated within one text, but hardly ever in another: a small cache of their own.
_own_phrase = lru_cache(maxsize=64)(fresh_phrase)
# The first line of a function at the end of a text.
_CODE_BEGUN = re.compile(
    r"(?:^|\n)[ \t]*(?:(?:async )?def (?P<python>\w+)\(.*:|(?:async )?function (?P<js>\w*)\(.*\{)\s*$"
)


def code_begun(tail: str) -> re.Match[str] | None:
    """The match of a function's first line at the end of a text, if there is one."""
    return _CODE_BEGUN.search(tail) if tail.rstrip().endswith((":", "{")) else None


class Writer:
    """The writer of one text, from its brief and the draws that decide each turn.

    If there are `sayings`, one of them is the whole text; a summary is made of sentences of the `material`.
    """

    def __init__(self, about: Brief, draws: Draws, sayings: Sequence[str], material: Sequence[str]) -> None:
        self._about = about
        self._draws = draws
        self._sayings = sayings
        self._material = material
        self._sections = corpus.language(about.language)
        self._space = "" if about.language in _NO_SPACES else " "
        self._used: set[str] = set()

    def answer(self, lead: str = "") -> Iterator[Phrase]:
        """An answer to the prompt in the requested form, after the `lead`: white space that the prompt lacks."""
        if self._sayings:
            phrases: Iterator[Phrase] = iter((fresh_phrase(self._draws.pick(self._sayings)),))
        elif self._about.facts:
            phrases = self._known()
        elif self._material and self._about.genre != "translation":
            phrases = self._summary()
        elif self._about.words is not None:
            phrases = self._counted(self._about.words)
        else:
            phrases = self._in_genre(self._about.genre)
        return chain((phrase(lead),), phrases) if lead else phrases

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

    def more(self) -> Iterator[Phrase]:
        """Endless paragraphs."""
        while True:
            yield phrase("\n\n")
            yield from self._paragraph(5, opened=False)

    def rest_of_code(self, begun: str) -> Iterator[Phrase]:
        """The rest of a function whose first line ends the prompt."""
        first = code_begun(begun)
        name = (first and (first["python"] or first["js"])) or "main"
        snippets = corpus.code()["python" if first and first["python"] else "javascript"]
        _, _, rest = self._draws.pick(snippets).partition("{name}")
        _, _, body = rest.partition("\n")
        yield fresh_phrase(("" if begun.endswith("\n") else "\n") + body.replace("{name}", name))

    def close(self) -> Iterator[Phrase]:
        """A closing sentence, or none."""
        if self._draws.below(2) == 0:
            yield self._sentence("closers")

    def _in_genre(self, genre: str) -> Iterator[Phrase]:
        section = _ENTRIES.get(genre, "")
        if section in self._sections:
            return iter((phrase(self._entry(section)),))
        write, needed = _GENRES.get(genre, _PLAIN)
        return (write if needed in self._sections else Writer._plain)(self)

    def _plain(self) -> Iterator[Phrase]:
        yield from self._paragraph(2 + self._draws.below(4), opened=True)
        if self._draws.below(3) == 0:
            yield phrase("\n\n")
            yield from self._paragraph(2 + self._draws.below(2), opened=False)
        yield self._sentence("closers")

    def _known(self) -> Iterator[Phrase]:
        """A fact, and some sentences more if it may be in a sentence."""
        yield fresh_phrase(self._draws.pick(self._about.facts))
        if len(self._about.facts) > 1 and self._about.genre == "plain":
            for _ in range(2 + self._draws.below(4)):
                yield self._sentence("body")
            yield self._sentence("closers")

    def _one_sentence(self) -> Iterator[Phrase]:
        yield from self._with_subject(self._entry("openers"), "")

    def _brief(self) -> Iterator[Phrase]:
        yield from self._paragraph(1, opened=True)

    def _paragraph(self, sentences: int, *, opened: bool) -> Iterator[Phrase]:
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
        yield from self._paragraph(1 + self._draws.below(2), opened=False)

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
        yield from self._paragraph(4, opened=True)
        for _ in range(3 + self._draws.below(3)):
            yield phrase("\n\n##")
            yield phrase(" " + self._entry("headings"))
            yield phrase("\n\n")
            yield from self._paragraph(4 + self._draws.below(4), opened=False)
        yield phrase("\n\n")
        yield phrase(self._entry("closers"))

    def _summary(self) -> Iterator[Phrase]:
        """Some of the material's sentences, as they are."""
        from mockserver.generation.prompts.material import spread  # few prompts ask for it

        about, found = self._about, self._material
        listed = "bullet" in about.wanted or "пункт" in about.wanted
        usual = 1 if about.genre == "sentence" else min(3, (len(found) + 1) // 2)
        chosen = spread(found, about.items if listed and about.items else usual)
        if "summaries" in self._sections:
            yield phrase(self._entry("summaries"))
        for place, sentence in enumerate(chosen):
            between = "\n- " if listed else self._space if place or "summaries" in self._sections else ""
            yield fresh_phrase(between + sentence)

    def _translation(self) -> Iterator[Phrase]:
        """As many sentences in the other language as there are to be translated: what they say is beyond us."""
        yield phrase(self._entry("continuations"))
        for _ in self._material[1:]:
            yield self._sentence("continuations")

    def _letter(self) -> Iterator[Phrase]:
        from mockserver.generation.prompts.noun_phrases import matter_of_letter  # slow to import

        subject = matter_of_letter(self._about.noun_phrase) or self._draws.pick(self._sections["letter_matters"])
        yield fresh_phrase(self._entry("letter_heads").format(subject=subject[:1].upper() + subject[1:]))
        yield phrase(f"\n\n{self._entry('letter_greetings')}\n\n")
        yield fresh_phrase(self._entry("letter_openings").format(subject=subject))
        for _ in range(1 + self._draws.below(2)):
            yield self._sentence("body")
        yield phrase("\n\n")
        yield from self._paragraph(1 + self._draws.below(2), opened=False)
        yield phrase(f"\n\n{self._entry('letter_closings')}\n\n{_in_lines(self._entry('signatures'))}")

    def _poem(self) -> Iterator[Phrase]:
        subject = self._about.noun_phrase
        if self._about.names_subject and not any(poem in subject.lower() for poem in _POEMS):
            yield fresh_phrase(f"**{subject[:1].upper()}{subject[1:]}**\n\n")
        if "haikus" in self._sections and any(haiku in self._about.wanted for haiku in _HAIKUS):
            yield phrase(_in_lines(self._entry("haikus")))
            return
        for stanza in range(2 + self._draws.below(2)):
            for line in range(4):
                mark = "." if line == 3 else ","
                yield phrase(("\n" if line else "\n\n" if stanza else "") + self._entry("verses") + mark)

    def _names(self) -> Iterator[Phrase]:
        for index in range(self._about.items or 5):
            yield phrase(f"\n{index + 1}." if index else "1.")
            yield phrase(" " + self._entry("names"))

    def _linked(self) -> tuple[Phrase, ...]:
        sentence = self._entry("body")
        return phrase(self._space + self._entry("links")), phrase(self._space + sentence[0].lower() + sentence[1:])

    def _sentence(self, section: str) -> Phrase:
        return phrase(self._space + self._entry(section))

    def _with_subject(self, sentence: str, lead: str) -> tuple[Phrase, ...]:
        """A sentence with the subject in its slot. The space before a slot belongs to the subject, as in its tokens."""
        before, _, after = sentence.partition("{subject}")
        blank = " " if before.endswith(" ") else ""
        phrases = phrase(lead + before.removesuffix(" ")), _own_phrase(blank + self._about.noun_phrase)
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


# The sections of the corpus of which the answer in a genre is one entry.
_ENTRIES = {
    "thanks": "thanks", "introduction": "introductions", "mood": "moods", "greeting": "greetings", "short": "short",
    "joke": "jokes",
}  # fmt: skip
# The writers of the other genres that a brief may name, and the section of the corpus that each needs. Not every
# language has all of them; any other genre, too, is answered plainly.
_PLAIN: tuple[Callable[[Writer], Iterator[Phrase]], str] = (Writer._plain, "body")
_GENRES: Mapping[str, tuple[Callable[[Writer], Iterator[Phrase]], str]] = {
    "sentence": (Writer._one_sentence, "openers"),
    "translation": (Writer._translation, "continuations"),
    "letter": (Writer._letter, "letter_openings"),
    "poem": (Writer._poem, "verses"),
    "brief": (Writer._brief, "openers"),
    "names": (Writer._names, "names"),
    "people": (Writer._people, "openers"),
    "code": (Writer._code, "openers"),
    "list": (Writer._list, "bullets"),
    "long": (Writer._article, "headings"),
}


def _in_lines(entry: str) -> str:
    """An entry of the corpus of several lines, which a slash parts there."""
    return entry.replace(" / ", "\n")


def _identifier(subject: str) -> str:
    """The subject as an identifier in code."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in subject).lower().split()
    name = "_".join(words[:3])
    return name if name.isidentifier() and not iskeyword(name) and "_" in name else "process_items"
