"""Reading TOML. The parser is imported on first use: most servers start without any TOML."""

from typing import Any


class TomlError(ValueError):
    """A text is not valid TOML; the message says where and why."""


def read_toml(text: str) -> dict[str, Any]:
    """Parse a document. Raises TomlError."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(str(error)) from None
    except RecursionError:
        raise TomlError("it is nested too deeply") from None


def read_toml_value(text: str) -> Any:
    """Parse a single value, such as an inline table. Raises TomlError."""
    return read_toml(f"value = {text}")["value"]
