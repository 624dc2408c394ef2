"""Where a choice is cut, compared with trying every place; and that thousands of stops take no time."""

import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mockserver.core.generation import Stops
from mockserver.model.sampling import cut_at_stop

TEXTS = st.lists(st.sampled_from(("a", "b", "ab", "ba ", "c")), max_size=8)
STOPS = st.builds(
    Stops,
    st.lists(st.text("abc ", max_size=3), max_size=3).map(tuple),
    st.lists(st.lists(st.integers(1, 4), max_size=3).map(tuple), max_size=3).map(tuple),
    st.booleans(),
)


def end_of(ids: Sequence[int], texts: Sequence[str], stops: Stops, least: int) -> int | None:
    """Where the stop ends, in characters, that is complete first."""
    text, begin = "".join(texts), len("".join(texts[:least]))
    ends = [text.find(stop, begin) + len(stop) for stop in stops.texts if stop and text.find(stop, begin) >= 0]
    for stop in filter(None, stops.tokens):
        starts = (at for at in range(least, len(ids)) if tuple(ids[at : at + len(stop)]) == stop)
        ends += [len("".join(texts[: at + len(stop)])) for at in starts]
    return min(ends, default=None)


@given(TEXTS, st.data(), STOPS, st.integers(0, 5))
def test_the_stop_that_is_complete_first_cuts(texts: list[str], data: st.DataObject, stops: Stops, least: int) -> None:
    ids = data.draw(st.lists(st.integers(1, 4), min_size=len(texts), max_size=len(texts)))
    end, stopped = end_of(ids, texts, stops, least), cut_at_stop(ids, texts, stops, least)
    assert (stopped is None) == (end is None)
    if stopped is None or end is None:
        return
    kept = "".join(stopped.texts)
    assert "".join(texts).startswith(kept)
    assert len(stopped.ids) == len(stopped.texts)
    if isinstance(stopped.stop, str):
        assert len(kept) == end - (0 if stops.include else len(stopped.stop))
    else:
        assert len(kept) < end


def test_thousands_of_stops_are_looked_for_in_no_time() -> None:
    ids = [1, 2, 3, 4] * 10_000
    texts = ["word "] * len(ids)
    stops = Stops(tuple(f"@{number}" for number in range(2_000)), tuple((1, number) for number in range(5, 20_000)))
    began = time.process_time()
    assert cut_at_stop(ids, texts, stops) is None
    assert time.process_time() - began < 1
