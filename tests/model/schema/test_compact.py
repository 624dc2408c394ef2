"""The text of a generated JSON value."""

from typing import Any

import pytest

from mockserver.model.schema import compact


@pytest.mark.parametrize(
    "value, text",
    [
        ({"a": [1, 2.5, None, True], "b": "Straße\n"}, '{"a":[1,2.5,null,true],"b":"Straße\\n"}'),
        ([2**64, -(2**70)], "[18446744073709551616,-1180591620717411303424]"),
        ({"half": "\ud83d"}, '{"half":"\ud83d"}'),
    ],
)
def test_values_are_written_without_whitespace_whatever_they_are(value: Any, text: str) -> None:
    assert compact(value) == text
