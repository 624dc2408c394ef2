"""Collections that forget their oldest items."""

from mockserver.core.caches import Bounded


def collected(most: int, heaviest: int, items: list[str]) -> list[str]:
    """What a collection keeps of items that weigh as many bytes as they have letters."""
    forgotten: list[str] = []
    kept: Bounded[str, str] = Bounded(most, heaviest, len, forgotten.append)
    for item in items:
        kept.add(item, item)
    assert [*forgotten, *kept] == items
    return list(kept)


def test_the_oldest_items_give_way_when_there_are_too_many() -> None:
    assert collected(2, 100, ["a", "b", "c"]) == ["b", "c"]


def test_the_oldest_items_give_way_when_they_are_too_heavy() -> None:
    assert collected(9, 5, ["aa", "bb", "cc", "d"]) == ["bb", "cc", "d"]


def test_the_latest_item_is_kept_however_heavy() -> None:
    assert collected(9, 5, ["aa", "b" * 99]) == ["b" * 99]


def test_what_is_removed_weighs_nothing() -> None:
    kept: Bounded[str, str] = Bounded(9, 5, len)
    kept.add("a", "aaaa")
    assert kept.remove("a") == "aaaa"
    assert kept.remove("a") is None
    kept.add("b", "bbb")
    kept.add("c", "cc")
    assert (list(kept), "a" in kept, kept.get("c")) == (["bbb", "cc"], False, "cc")
