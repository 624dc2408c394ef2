"""Messages about unknown names."""

import pytest

from mockserver.core.messages import WithHints, unknown_name
from mockserver.state.settings.options import OPTIONS

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
        ("content", ["model", "last_user"], "last_user"),
        ("content", ["text", "content_type"], "text"),
        ("content", ["content_type"], "content_type"),
        ("probability", ["times", "share"], "share"),
        ("requiredScenarioState", ["reply", "script"], "script"),
        (3, ["a-1", "a-2"], None),
        ("a", [], None),
    ],
)
def test_the_nearest_name_is_suggested_where_one_is_near(name: object, known: list[str], near: str | None) -> None:
    said = unknown_name("name", name, known)
    suggested = f" Did you mean {near!r}?" if near is not None else ""
    assert said == f"unknown name {name!r}.{suggested} Known: {', '.join(known) or 'none'}"


class Shop(WithHints):
    """A class that names its attributes in errors."""

    opens = 9

    @property
    def broken(self) -> int:
        """A property with a mistake of its own."""
        return self.opens.hour  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("open", "Shop: unknown attribute 'open'. Did you mean 'opens'? Known: broken, opens"),
        ("broken", "'int' object has no attribute 'hour'"),
        ("__wrapped__", "'Shop' object has no attribute '__wrapped__'"),
    ],
)
def test_an_unknown_attribute_names_the_known_ones_and_a_broken_one_its_own_mistake(name: str, message: str) -> None:
    with pytest.raises(AttributeError) as failure:
        getattr(Shop(), name)
    assert str(failure.value) == message
