"""What to say of a name that nothing has."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(what: str, name: object, known: Iterable[object]) -> str:
    """A sentence that names the nearest of the known names, and all of them."""
    names = [str(each) for each in known]
    near = get_close_matches(str(name), names, n=1)
    return f"unknown {what} {name!r}.{f' Did you mean {near[0]!r}?' if near else ''} Known: {', '.join(names)}"
