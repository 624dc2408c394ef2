"""Natural-looking characters and runs of characters: words of letters, numbers of digits."""

from string import ascii_letters, digits

from mockserver.core.seeding import Draws
from mockserver.generation.patterns.characters import Characters, usual

_WORDS = (
    "amber", "anchor", "apple", "atlas", "autumn", "basin", "beacon", "birch", "bridge", "canyon", "cedar", "cloud",
    "copper", "coral", "delta", "dune", "eagle", "echo", "ember", "falcon", "fern", "field", "forest", "garden",
    "glade", "grove", "harbor", "hazel", "heron", "island", "ivory", "jasper", "juniper", "lake", "lantern", "lark",
    "linden", "maple", "marble", "meadow", "mint", "moss", "north", "oak", "ocean", "olive", "orchid", "otter",
    "pearl", "pine", "quartz", "raven", "reed", "ridge", "river", "sage", "shore", "silver", "sparrow", "spruce",
    "stone", "summit", "thistle", "tide", "valley", "violet", "willow", "winter",
)  # fmt: skip
_VOWELS, _CONSONANTS = "aeiou", "bcdfghklmnprstv"
_CODE_LENGTH = 6


def letter(found: Characters, draws: Draws) -> str:
    """One character of a set that is not empty."""
    return draws.pick(usual(found))


def run(found: Characters, least: int, most: int, draws: Draws) -> str:
    """A run of characters of a non-empty set, of a natural length within the bounds."""
    pool = usual(found)
    if most == 0 or (least == 0 and draws.below(4) == 0):
        return ""
    if len(pool) < 26 or pool[0] != "a":
        return _row(pool, least, most, draws)
    mixed = "0" in found and "-" not in found and "_" not in found
    if mixed and least >= _CODE_LENGTH:
        known = "".join(character for character in ascii_letters + digits if character in found)
        return _row(known, least, most, draws)
    return _words(" " if " " in found else "", least, most, draws)


def _row(pool: str, least: int, most: int, draws: Draws) -> str:
    extra = min(most - least, 0 if pool.isspace() and least else 3)
    length = max(least + draws.below(extra + 1), 1)
    text = draws.spell(pool, length)
    leading = pool.replace("0", "")
    return draws.pick(leading) + text[1:] if text[0] == "0" and length > 1 and leading else text


def _words(space: str, least: int, most: int, draws: Draws) -> str:
    wanted = 2 + draws.below(3) if space else 1
    words: list[str] = []
    length = 0
    while len(words) < wanted or length < least:
        words.append(draws.pick(_WORDS))
        length += len(words[-1]) + len(space)
    text = space.join(words)[:most]
    # No space at the end; if the text would be too short without it, a letter replaces it.
    text = text.rstrip() if space and len(text.rstrip()) >= least else text
    missing = max(least - len(text), 0) + (1 if text.endswith(" ") else 0)
    return text if not missing else text.rstrip(" ") + _syllables(missing, draws)


def _syllables(length: int, draws: Draws) -> str:
    return "".join(draws.pick(_VOWELS if place % 2 else _CONSONANTS) for place in range(length))
