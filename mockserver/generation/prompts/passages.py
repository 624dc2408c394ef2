"""Answers that stand in the prompt: a question about a passage is answered with the sentence that has its words.

So an application that retrieves documents and asks about them gets an answer that its documents support.
"""

import re
from collections import Counter
from collections.abc import Sequence, Set
from itertools import chain

from mockserver.core.generation import Prompt
from mockserver.generation.prompts.material import sentences
from mockserver.generation.terms import stem

# How many characters of a passage are read, and the fewest that make one, without the question.
_STRETCH, _LEAST = 8_000, 100
# Words count as equal if so many of their first letters are, without a common ending.
_STEM = 5
# The share of a question's words that a sentence needs to answer it.
_ENOUGH = 0.5
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_QUESTION = re.compile(r"(?:^|\n|[.!?:>]\s)[ \t]*([^\n.!?:]{6,300}\?)")
# The labels of passages, questions and answers: `Context:`, `**Question:**`, `<document>`.
_LABELS = r"(?:context|passage|documents?|sources?|text|question|query|(?:helpful )?answer|контекст|вопрос|ответ)"
_LABEL = re.compile(
    rf"^[ \t#*]*{_LABELS}[ \t\d]*[*]*:[* \t]*|^[ \t]*[<\[]/?{_LABELS}[^>\]\n]{{0,40}}[>\]]", re.I | re.M
)
_HEADING = re.compile(
    r"\b(?:context|passages?|documents?|sources?|articles?|knowledge|information|excerpts?|контекст\w*|документ\w*)\b[^\n.]{0,40}"
    r"(?::|>|\n)",
    re.IGNORECASE,
)
_CITATION = re.compile(r"^\[\d+\]\s*")
# What the sentences of instructions begin with, which answer nothing.
_IMPERATIVES = (
    "you ", "your ", "always ", "never ", "use ", "answer ", "do not ", "don't ", "if ", "respond ", "reply ", "given ",
    "based on ", "act ", "please ", "only ", "keep ", "be ", "ты ", "вы ", "отвечай", "ответь", "используй", "если ",
)  # fmt: skip
_MAY_NOT_KNOW = re.compile(
    r"(?:you|I) (?:do not|don['\u2019]t|cannot|can['\u2019]t) (?:know|answer|find)", re.IGNORECASE
)


def answer_from(prompt: Prompt, stopwords: Set[str]) -> str | None:
    """The answer to a prompt's question that stands in the prompt, or in the passages of its instructions; or None."""
    question = question_in(prompt.topic) if len(prompt.text) >= _LEAST else None
    if question is None:
        return None
    return answer_in([prompt.topic, *filter(gives_passages, prompt.instructions)], question, stopwords)


def question_in(text: str) -> str | None:
    """The last question in a text, or None."""
    if "?" not in text:
        return None
    found = _QUESTION.findall(text[-2 * _STRETCH :])
    return found[-1].strip() if found else None


def answer_in(passages: Sequence[str], question: str, stopwords: Set[str]) -> str | None:
    """The sentence of the passages that answers a question.

    If there is none, but the passages say what to do then: that the answer is not known. Otherwise None.
    """
    text = "\n".join(passage[:_STRETCH] for passage in passages).replace(question, "\n")
    wanted = _stems(question, stopwords)
    if len(text) < _LEAST or not wanted:
        return None
    candidates = [_CITATION.sub("", sentence) for sentence in sentences(_LABEL.sub("", text)) if _is_told(sentence)]
    stems = [_stems(sentence, stopwords) for sentence in candidates]
    common = Counter(chain.from_iterable(stems))
    scored = [(sum(1 / common[word] for word in each & wanted), len(each & wanted)) for each in stems]
    best = max(range(len(scored)), key=lambda place: (scored[place], -place), default=None)
    if best is not None and scored[best][1] >= max(_ENOUGH * len(wanted), min(2, len(wanted))):
        return candidates[best]
    return "I don't know." if _MAY_NOT_KNOW.search(text) else None


def gives_passages(instructions: str) -> bool:
    """Whether the instructions of a chat contain passages, and not only instructions."""
    return len(instructions) >= _LEAST and _HEADING.search(instructions, 0, _STRETCH) is not None


def _is_told(sentence: str) -> bool:
    return not sentence.endswith("?") and not sentence.lower().startswith(_IMPERATIVES)


def _stems(text: str, stopwords: Set[str]) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return {stem(word)[:_STEM] for word in words if word not in stopwords and (len(word) > 2 or word.isdecimal())}
