"""Compressed bodies of recorded answers, read as a whole or piece by piece."""

import zlib
from collections.abc import Mapping
from contextlib import suppress

from mockserver.recordings.recorded import LostError

# With this flag, zlib detects gzip or zlib headers by itself.
_EITHER = 32 + zlib.MAX_WBITS
# Some servers send "deflate" without the zlib header.
_PACKINGS = {"gzip": (_EITHER,), "x-gzip": (_EITHER,), "deflate": (_EITHER, -zlib.MAX_WBITS)}


class Unpacker:
    """Decompresses a body piece by piece. Raises zlib.error for one that is not compressed as it says."""

    __slots__ = ("_stream", "_ways")

    def __init__(self, ways: tuple[int, ...]) -> None:
        first, *self._ways = ways
        self._stream = zlib.decompressobj(first)

    @classmethod
    def of(cls, packing: str) -> "Unpacker | None":
        """The unpacker of a content encoding; None if it is not one that can be unpacked here."""
        ways = _PACKINGS.get(packing.strip().lower())
        return None if ways is None else cls(ways)

    def feed(self, data: bytes) -> bytes:
        """What can be read of the body with this piece of it."""
        try:
            read = self._stream.decompress(data)
        except zlib.error:
            if not self._ways:
                raise
            self._stream = zlib.decompressobj(self._ways.pop())
            read = self._stream.decompress(data)
        # The way is known as soon as a piece could be read.
        self._ways.clear()
        return read

    @property
    def is_at_the_end(self) -> bool:
        """Whether the body is complete."""
        return self._stream.eof

    def rest(self) -> bytes:
        """What can be read after the last piece."""
        return self._stream.flush()


def unpacked(body: bytes, headers: Mapping[str, str]) -> bytes:
    """A body as the client read it, decompressed. Raises LostError."""
    packing = headers.get("content-encoding", "identity").strip().lower()
    if not body or packing == "identity" or body[:1] in (b"{", b"[") or body.startswith((b"data:", b"event:")):
        # Some recorders decompress bodies but keep the header.
        return body
    unpacker = Unpacker.of(packing)
    if unpacker is None:
        raise LostError(
            f"its answer is compressed ({packing}); record it decompressed (vcrpy: decode_compressed_response=True)"
        )
    with suppress(zlib.error):
        read = unpacker.feed(body)
        if unpacker.is_at_the_end:
            return read
    raise LostError(f"its answer is not compressed, although its header says so ({packing})")
