"""Cuts choices at stop sequences."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from mockserver.core.generation import Stops


class Stopped(NamedTuple):
    """The rest of a choice, and the stop (a text, or the id of a token) that ended it."""

    ids: Sequence[int]
    texts: Sequence[str]
    stop: str | int


def cut_at_stop(ids: Sequence[int], texts: Sequence[str], stops: Stops, min_tokens: int = 0) -> Stopped | None:
    """The choice cut at the stop that is complete first; None if there is none after the first `min_tokens` tokens.

    Tokens wholly after the cut are dropped. A token that is cut in two stays, with the rest of its text, so that
    tokens, texts and usage agree.
    """
    found = [_first_text(texts, stops.texts, min_tokens), _first_tokens(ids, texts, stops.tokens, min_tokens)]
    complete = [each for each in found if each is not None]
    if not complete:
        return None
    end, start, stop = min(complete, key=lambda each: each[0])
    if isinstance(stop, tuple):
        return Stopped(ids[:start], texts[:start], stop[-1])
    kept = end if stops.include else start
    borders = list(accumulate(map(len, texts), initial=0))
    count = bisect_left(borders, kept)
    left = list(texts[:count])
    if left:
        left[-1] = left[-1][: kept - borders[count - 1]]
    return Stopped(ids[:count], left, stop)


def _first_text(texts: Sequence[str], stops: Sequence[str], min_tokens: int) -> tuple[int, int, str] | None:
    """The text that is complete first: where it ends and begins, in characters."""
    first: tuple[int, int, str] | None = None
    text = "".join(texts) if stops else ""
    begin = sum(map(len, texts[:min_tokens])) if stops else 0
    for stop in dict.fromkeys(filter(None, stops)):
        # No other that ends later is wanted.
        start = text.find(stop, begin, None if first is None else first[0] - 1)
        if start >= 0:
            first = start + len(stop), start, stop
    return first


def _first_tokens(
    ids: Sequence[int], texts: Sequence[str], stops: Sequence[tuple[int, ...]], min_tokens: int
) -> tuple[int, int, tuple[int, ...]] | None:
    """The tokens that are complete first: where they end, in characters, and begin, as the index of a token."""
    # The place in the list by first token, length and tokens, since there may be thousands.
    known: dict[int, dict[int, dict[tuple[int, ...], int]]] = {}
    for place, stop in enumerate(stops):
        if stop:
            known.setdefault(stop[0], {}).setdefault(len(stop), {}).setdefault(stop, place)
    found: list[tuple[int, int, int, tuple[int, ...]]] = []
    for start in range(min_tokens, len(ids) if known else 0):
        if found and start >= min(found)[0]:
            break
        for length, wanted in known.get(ids[start], {}).items():
            stop = tuple(ids[start : start + length])
            if stop in wanted:
                found.append((start + length, wanted[stop], start, stop))
    if not found:
        return None
    end, _, start, stop = min(found)
    return sum(map(len, texts[:end])), start, stop
