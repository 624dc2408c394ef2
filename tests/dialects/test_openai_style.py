"""What the dialects share, where no dialect shows it."""

import pytest

from mockserver.core.json_values import may_nest_deeper


@pytest.mark.parametrize("text", [b"", b"x" * 100_000], ids=["short", "long"])
@pytest.mark.parametrize("brackets", [b"[" * 3, b"{" * 3, b"[{}]["], ids=bytes.decode)
def test_only_what_has_more_brackets_than_levels_may_nest_deeper(brackets: bytes, text: bytes) -> None:
    body = text.join(bytes([bracket]) for bracket in brackets) + text
    assert [may_nest_deeper(body, levels) for levels in (1, 2, 3, 4)] == [True, True, False, False]
