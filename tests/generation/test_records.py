"""People, companies and addresses: the same in every version of faker that we allow."""

from hashlib import sha256

import pytest

from mockserver.generation import corpus
from mockserver.generation.records import people

DIGESTS = {
    "en": "28acd749e112eba1",
    "ru": "2198c8c6a39ff826",
    "de": "c40c99df77e735e4",
    "fr": "cbf01f121c51df37",
    "es": "9ea196ca277c1cdd",
    "it": "4d2bcdde3ef3736e",
    "pt": "762c9c934516d7f1",
    "tr": "22b2bbbfa98c128e",
    "uk": "52eb7237b81465c1",
    "zh": "8fd16a45e2c75496",
    "ja": "075e5ba69f1fd9c1",
    "ko": "27fc34bc480d879d",
}


@pytest.mark.parametrize("language", corpus.LANGUAGES)
def test_the_records_of_a_key_are_what_they_always_were(language: str) -> None:
    lines = "\n".join(line for key in range(100) for line in people(key, language, 3))
    assert sha256(lines.encode()).hexdigest()[:16] == DIGESTS[language]


def test_so_many_records_come_as_are_asked_for() -> None:
    assert len(people(1, "en", 7)) == len(set(people(1, "en", 7))) == 7
