"""Names of people, places and things, by language; what a language lacks here is said in English."""

from functools import cache

from mockserver.core.package_data import read_data


@cache
def words(table: str, language: str) -> tuple[str, ...]:
    """The words of a table in a language, or in English. Raises KeyError when there is no such table."""
    tables = _tables()
    return tables.get((table, language)) or tables[table, "en"]


@cache
def _tables() -> dict[tuple[str, str], tuple[str, ...]]:
    tables = {}
    for line in read_data("mockserver.model.schema", "words.txt").decode().splitlines():
        place, marked, alternatives = line.partition(": ")
        if marked and not line.startswith("#"):
            table, language = place.split()
            tables[table, language] = tuple(alternatives.split("|"))
    return tables
