"""Clauses of a prompt: which part of it speaks of which subject, such as a tool.

A prompt is divided into sentences. One that speaks of several subjects is divided further, first at its conjunctions
and then at its commas, but never within a name or a list of names: "the weather in Oslo and Bergen, and the time in
Tokyo". A clause that speaks of no subject continues the one before it.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from mockserver.model.extraction.names import between_names
from mockserver.model.intent import STRETCH
from mockserver.model.terms import terms

# Where a prompt can be divided, the strongest division first.
_BREAKS = (
    re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+"),
    re.compile(
        r"(?:[,;，]|(?<!\s))\s++(?:and|then|und|dann|et|puis|y|luego|e|poi|depois|ve|sonra|и|затем|а|та|і|потім)\s+|和|と|및|그리고",
        re.IGNORECASE,
    ),
    re.compile(r"[,，、]\s*"),
)

Span = tuple[int, int]


def clauses_about(topic: str, subjects: Sequence[frozenset[str]]) -> list[str]:
    """For each subject, given as terms, the clauses of a prompt that speak of it alone, or else of others too.

    Empty if there are none.
    """
    stretch = topic[:STRETCH]
    alone: list[list[str]] = [[] for _ in subjects]
    shared: list[list[str]] = [[] for _ in subjects]
    latest: list[int] = []
    for clause in _clauses(stretch, (0, len(stretch)), subjects, between_names(stretch)):
        latest = _spoken_of(clause, subjects) or latest
        for subject in latest:
            (alone if len(latest) == 1 else shared)[subject].append(clause)
    return ["\n".join(own or others) for own, others in zip(alone, shared, strict=True)]


def _clauses(
    text: str, span: Span, subjects: Sequence[frozenset[str]], unbroken: Sequence[Span], level: int = 0
) -> Iterator[str]:
    """The clauses of a part of the text, in order; each speaks of one subject at most, unless it cannot be divided."""
    part = text[slice(*span)]
    if level == len(_BREAKS) or (level and len(_spoken_of(part, subjects)) < 2):
        yield part.strip()
        return
    start = span[0]
    for found in _BREAKS[level].finditer(text, *span):
        if not _breaks(unbroken, *found.span()):
            yield from _clauses(text, (start, found.start()), subjects, unbroken, level + 1)
            start = found.end()
    yield from _clauses(text, (start, span[1]), subjects, unbroken, level + 1)


def _breaks(unbroken: Sequence[Span], start: int, end: int) -> bool:
    """Whether a part of the text overlaps one of the spans, which are in order and do not overlap each other."""
    place = bisect_left(unbroken, (end, 0)) - 1
    return place >= 0 and unbroken[place][1] > start


def _spoken_of(clause: str, subjects: Sequence[frozenset[str]]) -> list[int]:
    """The subjects of a clause, by their places."""
    own = terms(clause)
    return [place for place, subject in enumerate(subjects) if own & subject]
