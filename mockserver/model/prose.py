"""Answers in words: short seeded texts, in the prompt's language, that take up the words of its subject.

A text is put together from sentences of the project's own, which are tokenised in advance. It depends on draws, on
what the prompt asks for and on whether the prompt is answered or continued; never on a limit. It comes in pieces: its
natural end is marked by None among them, and what follows is only used if the request forbids the model to stop.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from keyword import iskeyword

from mockserver.core.generation import Prompt
from mockserver.core.seeding import Draws
from mockserver.model import languages
from mockserver.model.intent import Intent, detect_intent, is_begun, turn_label
from mockserver.model.literal_answers import closing_word, sentence_to_say, sentiment
from mockserver.model.tokens import Phrase, fresh_phrase, phrase
from mockserver.model.tools import report, results

_NO_SPACES = ("zh", "ja")
# The characters after which an answer needs no leading space, and those of texts that ask or that go on.
_ENDS_OF_TURNS = frozenset(" \t\n>")
_ENDS_OF_QUESTIONS, _ENDS_OF_LABELS, _ENDS_OF_CODE_BEGUN = frozenset("?？"), frozenset(":>"), frozenset(":{")
# Those of sentences that are complete.
_ENDS_OF_SENTENCES = frozenset('.!?…。！？"”»')
# How many characters of a prompt are searched for a word in capitals with which to close: by a table that makes one
# letter of all capitals, which is four times as fast as an expression.
_SEARCHED = 40_000
_CAPITALS = b"AAAAAA"
_AS_CAPITALS = bytes(ord("A") if chr(code).isupper() else ord(".") for code in range(128)).ljust(256, b".")
_SAY = re.compile(r"\s*(?:please )?say ", re.IGNORECASE)
_ORDER = re.compile(
    r"\s*+(please\s++)?(write|explain|list|give|describe|tell|generate|create|summari[sz]e|translate|say|show|compare|"
    r"make|draft|compose|напиши|объясни|расскажи|перечисли|составь|опиши|придумай|сравни|покажи|переведи)\w*\b",
    re.IGNORECASE,
)
_CODE_NAMES = {
    "typescript": "typescript", "javascript": "javascript", "java": "java", "golang": "go", " go ": "go",
    "rust": "rust", "sql": "sql", "bash": "bash", "shell": "bash", "html": "html", " c ": "c", "python": "python",
}  # fmt: skip
# The first line of a function at the end of a text.
_CODE_BEGUN = re.compile(
    r"(?:^|\n)[ \t]*(?:(?:async )?def (?P<python>\w+)\(.*:|(?:async )?function (?P<js>\w*)\(.*\{)\s*$"
)
_LONGEST_CODE_BEGUN = 200
_NUMBERED = ("number", "step", "нумер", "шаг")


def write_prose(prompt: Prompt, draws: Draws) -> Iterator[Phrase | None]:
    """The pieces of an endless text, which the draws decide; None marks its natural end."""
    intent = detect_intent(prompt.topic)
    writer = _Writer(intent, draws)
    found = results(prompt.messages) if len(prompt.messages) > 1 else ()
    pieces: Iterable[Phrase]
    if found:
        pieces = report(found, writer.pick(languages.sentences(intent.language)["reports"]))
    else:
        pieces = _answer(prompt, intent, writer) if prompt.chat else _completion(prompt, intent, writer)
    if prompt.chat and _CAPITALS in prompt.text[:_SEARCHED].encode("utf-8", "surrogatepass").translate(_AS_CAPITALS):
        closing = next(filter(None, map(closing_word, (*prompt.instructions[:1], prompt.topic))), None)
        if closing is not None:
            pieces = chain(pieces, (fresh_phrase(f"\n\n{closing}"),))
    return chain(pieces, (None,), chain.from_iterable(writer.paragraphs()))


def is_dictated(prompt: Prompt) -> bool:
    """Whether a prompt dictates its answer, or a choice of answers, word for word."""
    return bool(_dictated(prompt, detect_intent(prompt.topic))) and not results(prompt.messages)


def _dictated(prompt: Prompt, intent: Intent) -> Sequence[str]:
    """The answers that a prompt dictates, one of which is given; usually none.

    Only a chat dictates them in a sentence without quotes, or in instructions for every message.
    """
    if intent.literal_answers:
        return intent.literal_answers
    if prompt.chat and _SAY.match(prompt.topic):
        sentence = sentence_to_say(prompt.topic)
        if sentence is not None:
            return (sentence,)
    instructions = prompt.instructions if len(prompt.messages) > 1 else ()
    found = detect_intent(instructions[0]).literal_answers if instructions else ()
    felt = sentiment(found, prompt.topic) if len(found) > 1 else None
    return found if felt is None else (felt,)


def _answer(prompt: Prompt, intent: Intent, writer: "_Writer") -> Iterable[Phrase]:
    """The answer that a prompt dictates, or one of the kind and the length that it asks for."""
    literal = _dictated(prompt, intent)
    if literal:
        return (fresh_phrase(writer.pick(literal)),)
    if intent.words is not None:
        return writer.of_words(intent.words)
    if intent.sentences is not None and intent.kind != "list":
        return writer.of_sentences(intent.sentences)
    return _ANSWERS.get(intent.kind, _Writer.plain)(writer)


def _completion(prompt: Prompt, intent: Intent, writer: "_Writer") -> Iterable[Phrase]:
    """The answer to a dialogue, a question or an order that was written out as one text; else its continuation."""
    topic = prompt.topic
    if turn_label(topic) is not None:
        answer = _answer(prompt, intent, writer)
        return answer if topic[-1] in _ENDS_OF_TURNS else chain((phrase(" "),), answer)
    ending = topic.rstrip()[-1:]
    begun = _CODE_BEGUN.search(topic[-_LONGEST_CODE_BEGUN:]) if ending in _ENDS_OF_CODE_BEGUN else None
    if begun is not None:
        return (writer.rest_of_code(begun),)
    asks = ending in _ENDS_OF_QUESTIONS or _ORDER.match(topic) is not None
    if asks or is_begun(topic) or intent.literal_answers:
        gap = phrase(" " if ending in _ENDS_OF_LABELS else "\n\n")
        return chain((gap,), _answer(prompt, intent, writer))
    return writer.continuation(prompt.text)


class _Section:
    """The sentences of a section of the corpus as phrases: those that begin a text, and those that follow another."""

    def __init__(self, language: str, name: str) -> None:
        space = "" if language in _NO_SPACES else " "
        self.name = name
        self.entries = languages.sentences(language)[name]
        self.first = [fresh_phrase(entry) for entry in self.entries]
        self.next = [fresh_phrase(space + entry) for entry in self.entries]
        self.words = [len(entry.split()) if space else len(entry) // 2 for entry in self.entries]


_section = lru_cache(maxsize=256)(_Section)


class _Writer:
    """The writer of one text. No sentence comes twice as long as there are others."""

    def __init__(self, intent: Intent, draws: Draws) -> None:
        self._intent = intent
        self._language = intent.language
        self._numbers = draws.numbers()
        # The places of the sentences that were used, by section.
        self._used: defaultdict[str, set[int]] = defaultdict(set)

    def pick(self, items: Sequence[str]) -> str:
        """One of the items."""
        return items[next(self._numbers) * len(items) >> 64]

    def _below(self, bound: int) -> int:
        return next(self._numbers) * bound >> 64

    def _places(self, section: _Section, count: int) -> list[int]:
        """The places of so many sentences that have not been used, as far as there are any."""
        most, used, numbers = len(section.next), self._used[section.name], self._numbers
        found = []
        for _ in range(count):
            place = next(numbers) * most >> 64
            while place in used and len(used) < most:
                place = (place + 1) % most
            used.add(place)
            found.append(place)
        return found

    def first(self, name: str) -> Phrase:
        """A sentence of a section that begins a text or a line."""
        section = _section(self._language, name)
        return section.first[self._places(section, 1)[0]]

    def _next(self, name: str, count: int = 1) -> Iterator[Phrase]:
        """So many sentences of a section that follow another one."""
        section = _section(self._language, name)
        return map(section.next.__getitem__, self._places(section, count))

    def _entry(self, name: str) -> str:
        """The text of a sentence of a section."""
        section = _section(self._language, name)
        return section.entries[self._places(section, 1)[0]]

    def _opener(self) -> Phrase:
        """A sentence with the subject: the prompt's own words are quoted, as other languages' sentences do already."""
        intent, subject = self._intent, self._intent.named_subject
        if not subject:
            subject = intent.subject
        elif intent.language == "en" and '"' not in subject:
            subject = f'"{subject}"'
        sentence = self.pick(languages.sentences(self._language)["openers"])
        return fresh_phrase(sentence.replace("{subject}", subject))

    def paragraphs(self) -> Iterator[Iterable[Phrase]]:
        """Endless paragraphs, each with the blank line before it."""
        section = _section(self._language, "body")
        while True:
            first, *rest = self._places(section, 6)
            yield (phrase("\n\n"), section.first[first], *map(section.next.__getitem__, rest))

    def continuation(self, text: str) -> Iterable[Phrase]:
        """Sentences that continue a text, even from the middle of a sentence."""
        first = self._entry("continuations")
        stripped = text.rstrip()
        space = "" if self._language in _NO_SPACES else " "
        lead = space if stripped == text else ""
        if stripped and stripped[-1] not in _ENDS_OF_SENTENCES:
            comma = "" if stripped[-1] in ",;:-—–" or not lead else ","
            first = comma + (space if comma else lead) + first[0].lower() + first[1:]
        elif stripped:
            first = lead + first
        return (phrase(first), *self._next("continuations", 2 + self._below(6)))

    def rest_of_code(self, begun: re.Match[str]) -> Phrase:
        """The rest of a function whose first line ends the prompt."""
        name = begun["python"] or begun["js"] or "main"
        snippet = self.pick(languages.code()["python" if begun["python"] else "javascript"])
        _, _, body = snippet.partition("{name}")[2].partition("\n")
        return fresh_phrase(("" if begun.string.endswith("\n") else "\n") + body.replace("{name}", name))

    def plain(self) -> Iterable[Phrase]:
        return (self._opener(), *self._next("body", 2 + self._below(4)), *self._next("closers"))

    def of_sentences(self, count: int) -> Iterator[Phrase]:
        yield self._opener()
        for _ in range(count - 1):
            yield from self._next("body")

    def of_words(self, words: int) -> Iterator[Phrase]:
        """As many words as the prompt asks for, the last sentence cut if need be; in some languages about as many."""
        section = _section(self._language, "body")
        written = 0
        while written < words:
            [place] = self._places(section, 1)
            found = (section.next if written else section.first)[place]
            written += section.words[place]
            if written > words and self._language not in _NO_SPACES:
                kept = "".join(found.texts).split()[: words - written]
                found = fresh_phrase((" " if words > len(kept) else "") + " ".join(kept).rstrip(",;:") + ".")
            yield found

    def code(self) -> Iterator[Phrase]:
        wanted = f" {self._intent.wanted} "
        name = next((code for word, code in _CODE_NAMES.items() if word in wanted), "python")
        snippet = self.pick(languages.code()[name]).replace("{name}", _identifier(self._intent.subject))
        yield self._opener()
        yield from self._next("code_intro")
        yield fresh_phrase(f"\n\n```{name}\n{snippet}\n```\n\n")
        yield self.first("closers")

    def list(self) -> Iterator[Phrase]:
        yield self._opener()
        yield phrase("\n")
        numbered = any(word in self._intent.wanted for word in _NUMBERED)
        for index in range(self._intent.items or 3 + self._below(4)):
            yield phrase(f"\n{index + 1}." if numbered else "\n-")
            yield phrase(f" {self._entry('bullets')}")

    def article(self) -> Iterator[Phrase]:
        subject = self._intent.subject
        yield fresh_phrase(f"# {subject[:1].upper()}{subject[1:]}\n\n")
        yield self._opener()
        yield from self._next("body", 4)
        for _ in range(3 + self._below(3)):
            yield fresh_phrase(f"\n\n## {self._entry('headings')}\n\n")
            yield self.first("body")
            yield from self._next("body", 4 + self._below(4))


_ANSWERS: Mapping[str, Callable[[_Writer], Iterable[Phrase]]] = {
    "greeting": lambda writer: (writer.first("greetings"),),
    "word": lambda writer: (writer.first("short"),),
    "sentence": lambda writer: writer.of_sentences(1),
    "brief": lambda writer: writer.of_sentences(2),
    "code": _Writer.code,
    "list": _Writer.list,
    "article": _Writer.article,
}


def _identifier(subject: str) -> str:
    """The subject as an identifier in code."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in subject).lower().split()
    name = "_".join(words[:3])
    return name if name.isidentifier() and not iskeyword(name) and "_" in name else "process_items"


def think(prompt: Prompt, count: int, key: int) -> Sequence[str]:
    """The texts of `count` tokens of reasoning about a prompt, in English, as in models that show it.

    It ends with a whole sentence if there is room for one.
    """
    texts: list[str] = []
    for sentence in _thoughts(prompt, Draws(key)):
        # At least one token is left for the ending.
        if len(texts) + len(sentence.texts) >= count:
            break
        texts += sentence.texts
    endings = _endings()
    while rest := count - len(texts):
        texts += endings[min(rest, max(endings))].texts
    return texts


def _thoughts(prompt: Prompt, draws: Draws) -> Iterator[Phrase]:
    """Endless sentences: an opening, then all the others in one random order after another."""
    intent = detect_intent(prompt.topic)
    subject = f'"{intent.named_subject}"' if intent.named_subject else "this question"
    sections = languages.thoughts()
    yield fresh_phrase(draws.pick(sections["openings"]).format(subject=subject))
    while True:
        for step in sorted(sections["steps"], key=lambda _: draws.bits()):
            text = f" {step}"
            # Only those without a slot for the subject are worth caching.
            yield fresh_phrase(text.format(subject=subject)) if "{" in step else phrase(text)


@cache
def _endings() -> dict[int, Phrase]:
    """The last sentences of a reasoning, by their number of tokens."""
    phrases = map(phrase, languages.thoughts()["endings"])
    return {len(each.texts): each for each in phrases}
