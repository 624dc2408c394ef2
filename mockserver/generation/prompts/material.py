"""The text that a prompt gives to be worked on: to be summarized or translated."""

import re
from collections.abc import Sequence

# How many characters of a prompt are read, and how many of a sentence are said again.
_STRETCH = 20_000
_LONGEST_SENTENCE = 400
# Text behind an order has at least so many characters, text before it more.
_LEAST, _LEAST_BEFORE = 2, 60
_ORDER = re.compile(
    r"\b(?:summar|tl;?dr|translat|übersetz|tradui|traduc|traduz|condens)\w*|\b(?:переве|изложи|перескаж|резюм|суммир)\w*",
    re.IGNORECASE,
)
_SUMMARIZE = re.compile(
    r"\b(?:summar(?:y|i[sz]e)|condense)\b|\btl;?dr\b|\b(?:кратко изложи|перескаж|резюмируй|суммируй)", re.IGNORECASE
)
_FENCED = re.compile(r"(\"\"\"|```|<(text|article|document|content)>)\s{0,4}(.+?)\s{0,4}(?:\1|</\2>)", re.DOTALL)
_BEGIN = re.compile(r"[:\n]")
# What parts sentences. A period within a word or behind a title ends none.
_PARTING = re.compile(r"(?<=[.!?\u2026])(?<!\b(?:St|Dr|Mr|Ms)\.)(?<!\bMrs\.)\s+|(?<=[\u3002\uff01\uff1f])|\n+")


def asks_for_a_summary(text: str) -> bool:
    """Whether a text orders to summarize something."""
    return _SUMMARIZE.search(text[:_STRETCH]) is not None


def material(text: str) -> str:
    """What is behind an order to work on a text, or before it; empty if that is nowhere in the prompt."""
    text = text[:_STRETCH]
    fenced = _FENCED.search(text)
    if fenced is not None:
        return fenced[3].strip()
    order = _ORDER.search(text)
    if order is None:
        return ""
    begin = _BEGIN.search(text, order.end())
    behind = text[begin.end() :].strip(" \t\n\"'«»\u201c\u201d") if begin else ""
    if len(behind) >= _LEAST:
        return behind
    before = text[: order.start()].rpartition("\n")[0] or text[: order.start()].rpartition(". ")[0]
    return before.strip() if len(before.strip()) >= _LEAST_BEFORE else ""


def sentences(text: str) -> Sequence[str]:
    """The sentences of the beginning of a text, each of bounded length."""
    found = (sentence.strip(" \t-*\u2022>#") for sentence in _PARTING.split(text[:_STRETCH]))
    return [sentence[:_LONGEST_SENTENCE] for sentence in found if any(map(str.isalnum, sentence))]


def spread(found: Sequence[str], wanted: int) -> Sequence[str]:
    """So many of the sentences: the first, and others from all over the text, in order."""
    count = min(wanted, len(found))
    return [found[index * len(found) // count] for index in range(count)]
