"""Compressed bodies of recorded answers."""

import zlib
from collections.abc import Mapping

from mockserver.control.recordings.recorded import LostError

# With this flag, zlib detects gzip or zlib headers by itself.
_EITHER = 32 + zlib.MAX_WBITS
# Some servers send "deflate" without the zlib header.
_PACKINGS = {"gzip": (_EITHER,), "x-gzip": (_EITHER,), "deflate": (_EITHER, -zlib.MAX_WBITS)}


def unpacked(body: bytes, headers: Mapping[str, str]) -> bytes:
    """A body as the client read it, decompressed. Raises LostError."""
    packing = headers.get("content-encoding", "identity").strip().lower()
    if not body or packing == "identity" or body[:1] in (b"{", b"[") or body.startswith((b"data:", b"event:")):
        # Some recorders decompress bodies but keep the header.
        return body
    if packing not in _PACKINGS:
        raise LostError(
            f"its answer is compressed ({packing}); record it decompressed (vcrpy: decode_compressed_response=True)"
        )
    for bits in _PACKINGS[packing]:
        try:
            return zlib.decompress(body, bits)
        except zlib.error:
            continue
    raise LostError(f"its answer is not compressed, although its header says so ({packing})")
