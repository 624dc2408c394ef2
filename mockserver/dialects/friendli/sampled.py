"""Events with the text and the id of one token each, in an envelope that is encoded once per stream."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mockserver.core.generation import Choice
from mockserver.core.timeline import RUN_LENGTH, Frames


class Around(NamedTuple):
    """An event around its text and its token id."""

    before: bytes
    between: bytes
    after: bytes


def sampled_frames(choice: Choice, around: Around, written: Mapping[str, bytes]) -> Iterator[Frames]:
    """One event per token, each at its own decoding step. `written` encodes the texts as JSON strings."""
    before, between, after = around
    for start in range(0, len(choice.ids), RUN_LENGTH):
        stop = start + RUN_LENGTH
        pairs = zip(choice.texts[start:stop], choice.ids[start:stop], strict=True)
        data = [b"%b%b%b%d%b" % (before, written[text], between, token, after) for text, token in pairs]
        yield Frames(data, range(start, start + len(data)), (1,) * len(data))
