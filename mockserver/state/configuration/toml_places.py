"""Finding the line of a place in a TOML text: errors name a key, and this finds its line."""

import re

# A place as in error messages: `latency`, `route[1].faults`, `stub[0].reply.file`.
_PLACE = re.compile(r"[\w-]+(?:\[\d+\])?(?:\.[\w-]+(?:\[\d+\])?)*")
_PART = re.compile(r"([\w-]+)(?:\[(\d+)\])?")
# What follows a place in messages about an unknown key or value, and about a key that is a path.
_STRANGE = re.compile(r"(?:: \w+)?: unknown \w+ '([\w-]+)'")
_PATH = re.compile(r" (/\S*):")


def located(message: str, text: str, name: str) -> str:
    """A message that begins with a place in a text, prefixed with the text's name and the line of that place."""
    place = _PLACE.match(message)
    if place is None:
        return f"{name}: {message}"
    strange, path = _STRANGE.match(message, place.end()), _PATH.match(message, place.end())
    line = _line_of_value(text, place[0], strange[1]) if strange is not None else None
    if line is None:
        key = strange or path
        line = line_of(text, place[0], *([] if key is None else [key[1]]))
    return f"{name}: {message}" if line is None else f"{name}, line {line}: {message}"


def line_of(text: str, place: str, *keys: str) -> int | None:
    """The line number of a place in a TOML document, and of a key within it if given, or else of the closest enclosing
    place that is found; None if there is none."""
    lines = text.splitlines()
    (key, number), *inner = _PART.findall(place)
    inner += [(name, "") for name in keys]
    at = _nth(lines, rf"\s*\[\[\s*{re.escape(key)}\s*\]\]", int(number or 0))
    if at is None:
        at = _nth(lines, rf"\s*(?:\[\s*)?{re.escape(key)}\s*[=.\]]", 0)
    if at is None:
        return None
    end = next((n for n in range(at + 1, len(lines)) if re.match(r"\s*\[\[", lines[n])), len(lines))
    for name, _ in inner:
        found = _nth(lines[at:end], rf"(?:.*[\s{{,.\[])?[\"']?{re.escape(name)}[\"']?\s*[=.\]]", 0)
        if found is None:
            break
        at += found
    return at + 1


def _line_of_value(text: str, place: str, value: str) -> int | None:
    """The number of the first line that gives the last key of a place this value, which is wrong wherever it is."""
    key = _PART.findall(place)[-1][0]
    at = _nth(text.splitlines(), rf"(?:.*[\s{{,.])?{re.escape(key)}\s*=.*[\"']{re.escape(value)}[\"']", 0)
    return None if at is None else at + 1


def _nth(lines: list[str], pattern: str, number: int) -> int | None:
    """The index of the line that matches a pattern after `number` other matching lines."""
    matching = [index for index, line in enumerate(lines) if re.match(pattern, line)]
    return matching[number] if number < len(matching) else None
