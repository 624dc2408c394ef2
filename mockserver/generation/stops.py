"""Cuts choices at stop sequences."""

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
    found = [_cut_text(ids, texts, stop, stops, min_tokens) for stop in stops.texts if stop]
    found += [_cut_tokens(ids, texts, stop, min_tokens) for stop in stops.tokens if stop]
    complete = [stopped for stopped in found if stopped is not None]
    return min(complete, key=lambda stopped: stopped[0])[1] if complete else None


def _cut_text(
    ids: Sequence[int], texts: Sequence[str], stop: str, stops: Stops, min_tokens: int
) -> tuple[int, Stopped] | None:
    text = "".join(texts)
    start = text.find(stop, len("".join(texts[:min_tokens])) if min_tokens else 0)
    if start < 0:
        return None
    end = start + len(stop)
    kept = end if stops.include else start
    borders = list(accumulate(map(len, texts), initial=0))
    count = next(index for index, border in enumerate(borders) if border >= kept)
    left = list(texts[:count])
    if left:
        left[-1] = left[-1][: kept - borders[count - 1]]
    return end, Stopped(ids[:count], left, stop)


def _cut_tokens(
    ids: Sequence[int], texts: Sequence[str], stop: tuple[int, ...], min_tokens: int
) -> tuple[int, Stopped] | None:
    for start in range(min_tokens, len(ids) - len(stop) + 1):
        if tuple(ids[start : start + len(stop)]) == stop:
            end = len("".join(texts[: start + len(stop)]))
            return end, Stopped(ids[:start], texts[:start], stop[-1])
    return None
