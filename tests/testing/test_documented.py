"""Every method and function for tests has its line in the documentation."""

import ast
import inspect

import pytest

import mockserver
from mockserver import pytest_plugin
from mockserver.state.verify import CHECKS, client_review
from mockserver.testing.handle import Handle
from mockserver.testing.stubs import StubBuilder
from mockserver.testing.verify import Verifier
from tests.support.pages import page

DOCUMENTED = page("tests") + page("verify")


def words_of(kind: type) -> list[str]:
    return [name for name in vars(kind) if not name.startswith("_")]


def faults_of_conduct() -> set[str]:
    """The names of all findings that the source can make."""
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(client_review))) if isinstance(node, ast.Call)]
    found = [node.args[0] for node in calls if getattr(node.func, "id", "") == "Finding"]
    named = {str(node.value) for node in found if isinstance(node, ast.Constant)}
    return named | {"retry_after_ignored", "retry_after_cut_short", "truncation_accepted", "damage_accepted"}


@pytest.mark.parametrize("name", sorted(faults_of_conduct()))
def test_every_fault_of_conduct_has_its_line(name: str) -> None:
    assert f"`{name}`" in DOCUMENTED


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_has_its_line(name: str) -> None:
    assert f'{{"{name}": ' in DOCUMENTED


@pytest.mark.parametrize("name", [*pytest_plugin._OPTIONS, "strict"])
def test_every_option_of_the_plugin_has_its_line(name: str) -> None:
    assert f"| `--mockserver-{name}`, `mockserver_{name}` |" in DOCUMENTED


@pytest.mark.parametrize("name", words_of(Verifier))
def test_every_check_of_the_fixture_has_its_line(name: str) -> None:
    assert f".{name}(" in DOCUMENTED or name == "verdict"


@pytest.mark.parametrize("name", sorted({*words_of(Handle), *words_of(StubBuilder)}))
def test_every_word_of_the_fixture_has_its_line(name: str) -> None:
    assert f".{name}" in DOCUMENTED


def test_everything_that_the_package_offers_can_be_imported() -> None:
    assert all(getattr(mockserver, name) is not None for name in mockserver.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'MockSever'"):
        _ = mockserver.MockSever  # type: ignore[attr-defined]
