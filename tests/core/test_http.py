"""Headers as pairs of bytes; frames and what they are made of."""

from mockserver.core.http import TemplatedFrames, by_name, joined

RETRY, OTHER_RETRY, TYPE = (b"retry-after", b"2"), (b"retry-after", b"9"), (b"content-type", b"text/plain; \xe9")


def test_of_several_headers_with_the_same_name_the_first_counts_and_their_order_stays() -> None:
    found = by_name((TYPE, RETRY, OTHER_RETRY))
    assert list(found.items()) == [("content-type", "text/plain; é"), ("retry-after", "2")]


def test_joined_headers_have_those_of_the_rest_whose_names_the_first_lack() -> None:
    assert joined((RETRY,), (OTHER_RETRY, TYPE)) == (RETRY, TYPE)
    assert joined((), (OTHER_RETRY, RETRY)) == (OTHER_RETRY, RETRY)


def test_wrapped_frames_are_the_same_one_by_one_and_joined() -> None:
    frames = TemplatedFrames(b"<", (b"a", b"", b"bc"), b">")
    assert [*frames] == [frames[0], *frames[1:]] == [b"<a>", b"<>", b"<bc>"]
    for start, stop in [(0, 3), (0, 1), (1, 3), (2, 3)]:
        piece = b"".join(frames[start:stop])
        assert (frames.joined(start, stop), frames.ends()[stop] - frames.ends()[start]) == (piece, len(piece))
    assert len(frames) == 3
