"""Headers as pairs of bytes: looked up by name, and put together."""

from mockserver.core.timeline import RawHeaders


def by_name(headers: RawHeaders) -> dict[str, str]:
    """Headers as text by name; of several with the same name the first counts."""
    found: dict[str, str] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1"), value.decode("latin-1"))
    return found


def joined(first: RawHeaders, rest: RawHeaders) -> RawHeaders:
    """Headers before others; of these, names that the first ones have are left out."""
    names = {name for name, _ in first}
    return (*first, *(header for header in rest if header[0] not in names))
