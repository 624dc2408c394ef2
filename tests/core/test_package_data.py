"""Files that come with packages: in folders, in archives, and where there are none."""

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from mockserver.core.package_data import read_data


def test_a_file_of_a_package_is_read() -> None:
    assert b"[openers]" in read_data("mockserver.model", "corpus/en.txt")


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match=r"none\.txt"):
        read_data("mockserver.model", "none.txt")


def test_a_package_in_an_archive_has_its_files_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "packed.zip"
    with ZipFile(archive, "w") as packed:
        packed.writestr("packed_dialect/__init__.py", "")
        packed.writestr("packed_dialect/contract/page.json", "{}")
    monkeypatch.syspath_prepend(str(archive))
    monkeypatch.delitem(sys.modules, "packed_dialect", raising=False)
    assert read_data("packed_dialect", "contract/page.json") == b"{}"
    with pytest.raises(OSError, match=r"none\.json"):
        read_data("packed_dialect", "contract/none.json")
