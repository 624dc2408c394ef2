"""The tokenizer as files: Hugging Face's own library counts with them as the server does."""

import json
from pathlib import Path
from random import Random

import pytest

from mockserver.cli import main
from mockserver.model.tokens import BOS, EOS, VOCABULARY_SIZE, encode, token_bytes

from .environments import hugging_face

# Characters of one to four bytes, with and without pieces of their own, and all kinds of white space.
CHARACTERS = [
    *map(chr, range(0x20, 0x17F)),
    *"привет, мир: ёжик Шість їжаків 北京市的天气很好 日本語テスト 한국어 العربية हिन्दी ไทย ελληνικά 🙂🚀👩‍🔬𝒳",
    *(["\n", "\r\n", "\t", "  ", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85", "\x00"] * 4),
    *("the quick brown 0123 fox.,!?'\"{}[]" * 6),
]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "tokenizer"
    assert main(["tokenizer", "--out", str(folder)]) == 0
    return folder


def test_hugging_faces_library_gives_every_text_the_same_ids_and_the_ids_their_text(written: Path) -> None:
    numbers = Random(7)
    mixed = ["".join(numbers.choices(CHARACTERS, k=numbers.randrange(1, 60))) for _ in range(2000)]
    pages = [page.read_text(encoding="utf-8") for page in sorted(Path("mockserver/docs").glob("*.md"))]
    pieces = [token_bytes(id).decode("utf-8", "ignore") for id in range(VOCABULARY_SIZE)]
    texts = ["", *mixed, *pages, *pieces]
    seen = hugging_face(written / "tokenizer.json", texts)
    assert seen["size"] == VOCABULARY_SIZE
    assert [text for text, ids in zip(texts, seen["ids"], strict=True) if ids != encode(text)] == []
    assert [text for text, told in zip(texts, seen["texts"], strict=True) if told != text] == []


def test_the_special_tokens_have_names_that_tools_find(written: Path) -> None:
    settings = json.loads((written / "tokenizer_config.json").read_text(encoding="utf-8"))
    special = json.loads((written / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    assert {each["content"]: each["id"] for each in special} == {settings["eos_token"]: EOS, settings["bos_token"]: BOS}


def test_a_folder_that_cannot_be_written_is_said_to_be_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["tokenizer", "--out", str(tmp_path / "file")]) == 2
    assert f"{tmp_path / 'file'}: is a file, not a folder" in capsys.readouterr().err
