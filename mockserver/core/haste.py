"""To be removed: long work no longer knows where it is done."""

from collections.abc import Callable
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


def take_time() -> None:
    """Nothing."""


def breathe() -> None:
    """Nothing."""


def loaded_once(load: Callable[[], Result]) -> Callable[[], Result]:
    """A cached function."""
    return cache(load)
