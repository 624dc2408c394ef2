"""What is said of names that nothing has."""

import pytest

from mockserver.control.options import OPTIONS
from mockserver.core.naming import unknown

OPTION_NAMES = [option.name for option in OPTIONS]
HEADERS = [f"x-mockserver-{name}" for name in ("seed", "latency", "fault", "edition", "reply", "namespace")]


@pytest.mark.parametrize(
    "name, known, near",
    [
        ("sed", OPTION_NAMES, "seed"),
        ("server", OPTION_NAMES, None),
        ("Latency", OPTION_NAMES, "latency"),
        ("X-Mockserver-Sed", HEADERS, "x-mockserver-seed"),
        ("X-Mockserver-Quota", HEADERS, None),
        ("X-Mockservr-Seed", HEADERS, "x-mockserver-seed"),
        ("--latncy", ["--latency", "--seed"], "--latency"),
        ("rst", ["reset", "cut"], "reset"),
        ("after", ["at", "after_event", "after_token"], "after_event"),
        (3, ["a-1", "a-2"], None),
        ("a", [], None),
    ],
)
def test_the_nearest_name_is_suggested_where_one_is_near(name: object, known: list[str], near: str | None) -> None:
    said = unknown("name", name, known)
    suggested = f" Did you mean {near!r}?" if near is not None else ""
    assert said == f"unknown name {name!r}.{suggested} Known: {', '.join(known)}"
