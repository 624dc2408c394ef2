"""Names, companies and addresses, for properties that ask for them.

They come from faker, whose data may change between versions. What is used here has not changed in any version that
pyproject.toml allows, and a test pins it: Korean addresses, which do change, are left out.
"""

from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faker import Faker

_LOCALES = {
    "en": "en_US", "ru": "ru_RU", "de": "de_DE", "fr": "fr_FR", "es": "es_ES", "it": "it_IT", "pt": "pt_BR",
    "tr": "tr_TR", "uk": "uk_UA", "zh": "zh_CN", "ja": "ja_JP", "ko": "ko_KR",
}  # fmt: skip
_PARTS = ("name", "company", "address")
_STABLE_PARTS = {"ko": ("name", "company")}
_one_at_a_time = Lock()


@cache
def _faker(locale: str) -> "Faker":
    from faker import Faker  # costs 60 ms, and few prompts need it

    return Faker(locale)


def record(key: int, language: str, part: str) -> str:
    """A `name`, `company` or `address` in the language, on one line; in English if that of the language may change."""
    stable = part in _STABLE_PARTS.get(language, _PARTS)
    page = _page(_LOCALES[language if stable else "en"], part, key % _PAGES)
    return page[key // _PAGES % len(page)]


# Seeding faker costs more than a record, so records are made and cached in pages.
_PAGES, _PAGE = 64, 8


@lru_cache(maxsize=1024)
def _page(locale: str, part: str, number: int) -> tuple[str, ...]:
    fake = _faker(locale)
    with _one_at_a_time:
        fake.seed_instance(number)
        return tuple(str(getattr(fake, part)()).replace("\n", ", ") for _ in range(_PAGE))
