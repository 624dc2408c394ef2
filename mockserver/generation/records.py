"""People, companies and addresses, for prompts that ask for some.

They come from faker, whose data may change with its versions: no text that must stay the same is made of them.
"""

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faker import Faker

_LOCALES = {
    "en": "en_US", "ru": "ru_RU", "de": "de_DE", "fr": "fr_FR", "es": "es_ES", "it": "it_IT", "pt": "pt_BR",
    "tr": "tr_TR", "uk": "uk_UA", "zh": "zh_CN", "ja": "ja_JP", "ko": "ko_KR",
}  # fmt: skip
_one_at_a_time = Lock()


def people(key: int, language: str, count: int = 5) -> tuple[str, ...]:
    """`count` lines of name, company and address in the language; the same for the same key."""
    fake = _faker(_LOCALES[language])
    with _one_at_a_time:
        fake.seed_instance(key)
        return tuple(f"{fake.name()}, {fake.company()}, {fake.address()}".replace("\n", ", ") for _ in range(count))


@cache
def _faker(locale: str) -> "Faker":
    from faker import Faker  # costs 60 ms, and few prompts want it

    return Faker(locale)
