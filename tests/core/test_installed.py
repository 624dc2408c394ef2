"""Installed dialects: the entry points found are those that `importlib.metadata` finds."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from mockserver.core import installed

ACME = "\n[other]\nacme = other:OTHER\n\n[mockserver.dialects]\nacme = acme.dialect:ACME\n\n[last]\nx = y:Z\n"


@pytest.fixture(autouse=True)
def _forget() -> None:
    installed.entries.cache_clear()


def test_it_is_what_the_library_tells() -> None:
    told = {entry.name: entry.value for entry in entry_points(group=installed.GROUP)}
    assert installed.entries() == told
    assert list(installed.entries()) == sorted(told)


@pytest.mark.parametrize("folder", ["acme-1.0.dist-info", "acme.egg-info"])
def test_a_package_in_any_folder_of_the_path_counts(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "entry_points.txt").write_text(ACME)
    (tmp_path / "no.dist-info").write_text("no folder")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed.entries()["acme"] == "acme.dialect:ACME"
    assert "cerebras" in installed.entries()
    assert not {"other", "x"} & {*installed.entries()}


def test_of_two_packages_the_first_on_the_path_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("second", "first"):
        (tmp_path / name / f"{name}.dist-info").mkdir(parents=True)
        (tmp_path / name / f"{name}.dist-info" / "entry_points.txt").write_text(
            f"[mockserver.dialects]\nacme = {name}.dialect:ACME\n"
        )
        monkeypatch.syspath_prepend(tmp_path / name)
    assert installed.entries()["acme"] == "first.dialect:ACME"


def test_where_no_folder_tells_anything_the_library_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {entry.name: entry.value for entry in entry_points(group=installed.GROUP)}
    monkeypatch.setattr(installed, "_entries_in", lambda folder: ())
    assert installed.entries() == told


def test_a_start_does_not_pay_for_the_library() -> None:
    said = "import sys, mockserver.core.installed as it; it.load_dialects(); print('importlib.metadata' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.strip() == "False"
