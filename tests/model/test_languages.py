"""People, companies and addresses: the same in every version of faker that we allow."""

from hashlib import sha256

import pytest

from mockserver.model import languages
from mockserver.model.languages import record

DIGESTS = {
    "en": "baa06b6c763787a8",
    "ru": "7c3b674af79ee6df",
    "de": "a5e26cbdbfd83f24",
    "fr": "0c22c70fac35eec9",
    "es": "91b1e76e8a12c15a",
    "it": "ab6782a2547737a1",
    "pt": "c6b648c29f4b39de",
    "tr": "38b91a6d3d93b699",
    "uk": "255ecb838630b723",
    "zh": "d61a63297c00a64b",
    "ja": "4019f2adea7c3df0",
    "ko": "a703915c7cf390a3",
}


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_the_records_of_a_key_are_what_they_always_were(language: str) -> None:
    found = [record(key, language, part) for part in ("name", "company", "address") for key in range(100)]
    assert sha256("\n".join(found).encode()).hexdigest()[:16] == DIGESTS[language]
