"""Reading TOML. The parser is imported on first use: most servers start without any TOML."""

import re
from typing import Any

# How many parts a dotted key may have, and how deep values may be nested: parsing takes the square of the former.
_MOST_LEVELS = 100
# Strings and comments as wholes, so that what is in them does not count; unclosed ones end with the text.
_TOKEN = re.compile(
    r'''"""(?:\\.|[^"\\]|"(?!""))*+(?:"""|\Z)|\'{3}(?:[^']|'(?!''))*+(?:\'{3}|\Z)'''
    r"""|"(?:\\.|[^"\\\n])*+"?|'[^'\n]*+'?|\#[^\n]*|[\w-]+|[ \t]+|(?P<sign>[.\[\]{}])|.""",
    re.DOTALL,
)


class TomlError(ValueError):
    """A text is not valid TOML; the message says where and why."""


def read_toml(text: str) -> dict[str, Any]:
    """Parse a document. Raises TomlError."""
    import tomllib

    if max(map(text.count, ".[{")) > _MOST_LEVELS:
        _check_levels(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None
    except RecursionError:
        raise TomlError("it is nested too deeply") from None
    except ValueError:
        # The parser leaves it to `int` to refuse those of more than 4,300 digits.
        raise TomlError("a number has too many digits") from None


def read_toml_value(text: str) -> Any:
    """Parse a single value, such as an inline table. Raises TomlError."""
    return read_toml(f"value = {text}")["value"]


def _check_levels(text: str) -> None:
    """Raise TomlError if a key has too many parts, or a value is nested too deeply; takes linear time."""
    parts = depth = 0
    for token in _TOKEN.finditer(text):
        sign = token["sign"]
        if sign == ".":
            parts += 1
        elif sign is not None or token[0] in ("=", ",", "\n"):
            parts = 0
            depth = max(depth + (sign in ("[", "{")) - (sign in ("]", "}")), 0) if sign is not None else depth
        if parts > _MOST_LEVELS:
            raise TomlError(f"a key has more than {_MOST_LEVELS} parts")
        if depth > _MOST_LEVELS:
            raise TomlError("it is nested too deeply")
