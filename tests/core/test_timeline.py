"""Frames and what they are made of."""

from mockserver.core.timeline import TemplatedFrames


def test_wrapped_frames_are_the_same_one_by_one_and_joined() -> None:
    frames = TemplatedFrames(b"<", (b"a", b"", b"bc"), b">")
    assert [*frames] == [frames[0], *frames[1:]] == [b"<a>", b"<>", b"<bc>"]
    for start, stop in [(0, 3), (0, 1), (1, 3), (2, 3)]:
        joined = b"".join(frames[start:stop])
        assert (frames.joined(start, stop), frames.ends()[stop] - frames.ends()[start]) == (joined, len(joined))
    assert len(frames) == 3
