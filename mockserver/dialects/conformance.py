"""What a dialect claims of its vendor's wire: each claim with its source, how well it is known, and the test for it.

The claims are the fields of the contract, the rows of the error table and the streams of the operations. Where each
comes from is in `contract/sources.toml`, beside the contract; what deviates from the vendor, and what is guessed, in
`about.md`. A test fails if a claim has no source or names a test that does not exist.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Literal, NamedTuple, get_args

from mockserver.core.dialects import EDITIONS, Dialect, Edition
from mockserver.core.installed import entries

# How well a claim is known, the best first.
Degree = Literal["recorded", "source", "sdk", "page", "guess"]
DEGREES: tuple[Degree, ...] = get_args(Degree)

Subject = Literal["field", "error", "stream", "other"]

# The sections of a dialect's page that tell where it deviates.
_DEVIATIONS = ("Approximated", "Absent", "Guesses")
_SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
# An item of a list, a row of a table below its heads, or a paragraph.
_ITEM = re.compile(r"^(?:- |\| (?!.*\n\| ---|---)|(?=\w))(.+?)(?= \|$|\n- |\n\n|\n\Z)", re.MULTILINE | re.DOTALL)


class Source(NamedTuple):
    """Where claims come from. `date` is the month of the source (2026-08); a guess has none."""

    title: str
    known: Degree
    date: str | None = None


class Claim(NamedTuple):
    """Something that is said of the vendor's wire, in these editions.

    `name` is a field with its schema (`Usage.total_tokens`), a kind of failure, an operation, or a sentence.
    """

    subject: Subject
    name: str
    editions: tuple[Edition, ...]
    source: str
    test: str


class Conformance(NamedTuple):
    """A dialect's claims with their sources, and its deviations by kind (`approximated`, `absent`, `guesses`)."""

    sources: Mapping[str, Source]
    claims: tuple[Claim, ...]
    deviations: Mapping[str, tuple[str, ...]]

    def known(self) -> dict[Degree, int]:
        """The number of claims of each degree, with the guesses of the page."""
        counts = Counter(self.sources[claim.source].known for claim in self.claims)
        counts["guess"] += len(self.deviations["guesses"])
        return {degree: counts[degree] for degree in DEGREES}


def conformance(dialect: Dialect) -> Conformance | None:
    """All that a dialect claims; None if it has no `sources.toml`.

    ValueError names the claims that have no source, and the rows that are about nothing.
    """
    package = entries().get(dialect.name, "").partition(":")[0].rpartition(".")[0]
    if not package or not (rows := files(package) / "contract" / "sources.toml").is_file():
        return None
    told = tomllib.loads(rows.read_text("utf-8"))
    sources = {name: Source(**source) for name, source in told["sources"].items()}
    sources.setdefault("guess", Source("nobody outside the vendor knows", "guess"))
    page = dict(_SECTION.findall((files(package) / "about.md").read_text("utf-8")))
    return Conformance(
        sources,
        tuple(_claims(dialect, told["claims"])),
        {
            title.lower(): tuple(" ".join(item.split()) for item in _ITEM.findall(page.get(title, "")))
            for title in _DEVIATIONS
        },
    )


def conformance_document(dialect: Dialect) -> dict[str, Any] | None:
    """What `/<dialect>/conformance.json` answers; None if the dialect names no sources."""
    found = conformance(dialect)
    if found is None:
        return None
    sources = found.sources
    return {
        "dialect": dialect.name,
        "title": dialect.title,
        "known": found.known(),
        "sources": {name: source._asdict() for name, source in sources.items()},
        "claims": [
            {**claim._asdict(), "known": sources[claim.source].known, "date": sources[claim.source].date}
            for claim in found.claims
        ],
        "deviations": found.deviations,
    }


def _claims(dialect: Dialect, rows: list[dict[str, Any]]) -> Iterator[Claim]:
    """The claims of the dialect's tables, each with the nearest row of `sources.toml`; then the others."""
    told = {
        (subject, name, edition): row
        for row in rows
        for subject in ("field", "error", "stream")
        for name in row.get(f"{subject}s", ())
        for edition in row.get("editions", EDITIONS)
    }
    missing, used = [], set()
    found: dict[tuple[Subject, str, str, str], list[Edition]] = {}
    for edition in EDITIONS:
        for subject, name in _tables(dialect, edition):
            whole = name.partition(".")[0] if subject == "field" else name
            nearest = name if (subject, name, edition) in told else whole
            row = told.get((subject, nearest, edition))
            if row is None:
                missing.append(f"{subject} {name} ({edition})")
                continue
            used.add((subject, nearest))
            found.setdefault((subject, name, row["source"], row["test"]), []).append(edition)
    idle = [
        f"{subject} {name}" for subject, name in dict.fromkeys(key[:2] for key in told) if (subject, name) not in used
    ]
    if missing or idle:
        raise ValueError(f"sources.toml of {dialect.name} lacks: {missing}; is about what does not exist: {idle}")
    for (subject, name, source, test), editions in found.items():
        yield Claim(subject, name, tuple(editions), source, test)
    for row in rows:
        if "says" in row:
            yield Claim("other", row["says"], tuple(row.get("editions", EDITIONS)), row["source"], row["test"])


def _tables(dialect: Dialect, edition: Edition) -> Iterator[tuple[Subject, str]]:
    """What an edition of a dialect claims by its contract, its errors and its operations."""
    for schema, told in dialect.contract[edition]()["schemas"].items():
        for field in _fields(told):
            yield "field", f"{schema}.{field}"
    for kind in dialect.errors[edition]:
        yield "error", kind
    for operation in dialect.operations:
        if operation.schemas.chunk and operation.edition in (None, edition):
            yield "stream", operation.name


def _fields(schema: Mapping[str, Any]) -> dict[str, None]:
    """The names of a schema's own fields, also of its alternatives."""
    found = dict.fromkeys(schema.get("properties", ()))
    for keyword in ("allOf", "anyOf", "oneOf"):
        for each in schema.get(keyword, ()):
            found |= _fields(each)
    return found
