"""TOML, whose parser is imported when there is something to parse: most servers start without any."""

from typing import Any


class TomlError(ValueError):
    """A text that is no TOML; it says where and why."""


def read_toml(text: str) -> dict[str, Any]:
    """The document that a text is. Raises TomlError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None
    except RecursionError:
        raise TomlError("it is nested too deep") from None


def read_toml_value(text: str) -> Any:
    """The one value that a text is, such as an inline table. Raises TomlError."""
    return read_toml(f"value = {text}")["value"]
