"""Makes `mockserver/model/vocabulary.txt`: the pieces of the tokenizer, learned from folders of plain text.

    python -m tests.tools.make_vocabulary --names FILE --excluded FILE OUTPUT prose=FOLDER code=FOLDER ...

A FOLDER contains one folder per source (a manual, a dictionary, a program's translations), each with text files without
markup. The kinds are the keys of `SHARES`. The names (given and family names of people) and the excluded words (those
that offend) are lists, one per line; neither becomes a piece. The same folders give the same file.

Method: count pretokens per kind, with a limited weight for each source; keep those which several sources use; learn
more byte pair merges than needed, for one group of kinds at a time; split the words the way the tokenizer does,
greedily, and keep the pieces that are used most. The file is sorted by length, on which the tokenizer relies. The sizes
of the groups are calibrated: counts should be close to those of a vocabulary of 100 000 pieces learned mostly from
English and code, for which Russian is expensive.

The file in the tree was made from texts in Debian 12 and PyPI. prose: dictionaries (wn, gcide, devil), essays
(anarchism) and the dialogues of games (wesnoth, endless-sky, freedroidrpg, freeciv, warzone2100); technical: the
manuals of Python, Perl, git, GNOME, KStars, LibreOffice, Debian, Rust and AWS, man pages, READMEs; code: Python,
JavaScript, TypeScript, C, Rust, Lua, shell; json: files in four layouts; the other languages: translations of the same
programs, games and man pages, and the mueller7 dictionary.
"""

import argparse
import heapq
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from mockserver.model.tokens import EOS, made_texts, pretoken

SHARES = {
    "prose": 8.0, "technical": 3.0, "code": 5.0, "json": 0.6,
    "german": 0.22, "french": 0.22, "spanish": 0.22, "turkish": 0.08, "italian": 0.05, "portuguese": 0.05,
    "polish": 0.04, "dutch": 0.03, "czech": 0.02, "swedish": 0.02, "vietnamese": 0.02,
    "russian": 1.0, "ukrainian": 0.05,
    "chinese": 1.0, "japanese": 1.0, "korean": 1.0,
    "greek": 1.0, "hebrew": 1.0, "arabic": 1.0, "hindi": 1.0, "thai": 1.0,
}  # fmt: skip


class Group(NamedTuple):
    """Kinds that share pieces: how many pieces and characters, the form of pretokens, the least number of sources."""

    kinds: tuple[str, ...]
    size: int
    characters: int
    shape: re.Pattern[str]
    sources: int


CYRILLIC = re.compile(r"[ -/:-@\[-`{-~]?[\u0400-\u045f\u0490\u0491]+| ?[«»„“—–…№]+")
EAST_ASIAN = re.compile(r"[\u3001-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]+")
OTHER = re.compile(r" ?[\u0370-\u03ff\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f]+")
LATIN = re.compile(r"(?!\d|\s+$)[ -~\u00a1-\u00ac\u00ae-\u024f\u1e00-\u1eff\u2010-\u2027\u2030-\u203e\u20a0-\u27bf]+")

GROUPS = (
    Group(("russian", "ukrainian"), 1150, 100, CYRILLIC, 2),
    Group(("chinese", "japanese", "korean"), 3100, 2950, EAST_ASIAN, 1),
    Group(("greek", "hebrew", "arabic", "hindi", "thai"), 500, 300, OTHER, 1),
    Group(tuple(SHARES)[:15], 0, 400, LATIN, 2),  # the rest of the vocabulary
)
FULL_VOICE = 300_000
SURPLUS = 1.3  # merges learned for each piece kept
DISTINCT_WORDS = 250_000
NOISE = re.compile(
    r"\w+://\S+|www\.\S+|\S+@\S+\.\w+"  # addresses
    r"|(?im:^.*\b(?:copyright|authors?:|maintainers?:|translators?:|written by).*$)"
    r"|--[A-Z][\w.]+(?: [A-Z][\w.]+)*"  # authors whom a dictionary quotes
    r"|[0-9A-Fa-f]{12,}|[A-Za-z0-9+/=]{60,}"  # digests and encoded bytes
)
NAME_SHAPE = re.compile(r"[^\w]?[^\W\d_a-z][^\W\d_A-Z]+")


def read_source(folder: Path) -> Counter[str]:
    """How often each pretoken occurs in the files of a folder."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = unicodedata.normalize("NFC", path.read_text("utf-8", errors="ignore"))
            counts.update(pretoken(ascii=False).findall(NOISE.sub(" ", text)))
    return counts


class Words:
    """The weighted counts of the pretokens of one group, and the sources that use each."""

    def __init__(self, group: Group, names: frozenset[str], excluded: frozenset[str]) -> None:
        self.group, self.names, self.excluded = group, names, excluded
        self.weights: defaultdict[str, float] = defaultdict(float)
        self.sources: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, kind: str, folder: Path) -> None:
        """Counts the sources of a kind; a large one has no more weight than one of `FULL_VOICE` pretokens."""
        sources = {path.name: read_source(path) for path in sorted(folder.iterdir())}
        voices = {name: min(counts.total(), FULL_VOICE) for name, counts in sources.items()}
        for name, counts in sources.items():
            scale = SHARES[kind] * voices[name] / sum(voices.values()) / (counts.total() or 1)
            for word in filter(self.group.shape.fullmatch, counts):
                self.sources[word].add(name.partition(".")[0])  # `json.pretty` and `json.compact` are one
                self.weights[word] += scale * counts[word]

    def kept(self) -> dict[str, int]:
        """The words to learn from, most common first, with integer weights so that no platform rounds differently."""
        words = [word for word in self.weights if self._is_known(word) and self.is_welcome(word)]
        words.sort(key=lambda word: (-self.weights[word], word))
        return {word: round(self.weights[word] * 10**9) for word in words[:DISTINCT_WORDS]}

    def _is_known(self, word: str) -> bool:
        # Many sources use the name of a product or place, few that of a person or an invented one.
        return len(self.sources[word]) >= self.group.sources + (1 if self._is_name(word) else 0)

    def is_welcome(self, word: str) -> bool:
        plain = word.lstrip(" -_.'(\"").casefold()
        return plain not in self.excluded and not (plain in self.names and self._is_name(" " + plain.capitalize()))

    def _is_name(self, word: str) -> bool:
        """Whether a word is almost always capitalised."""
        return bool(NAME_SHAPE.fullmatch(word)) and 20 * self.weights.get(word.lower(), 0) < self.weights.get(word, 0)


def alphabet(words: dict[str, int], number: int) -> set[str]:
    """The characters that are pieces in any case: the most common ones, since rare ones are encoded by their bytes."""
    counts: Counter[str] = Counter()
    for word, weight in words.items():
        for character in word:
            counts[character] += weight
    return {character for character, _ in counts.most_common(number) if not character.isascii()}


class Merges:
    """Byte pair encoding over characters: repeatedly joins the most common pair of neighbours."""

    def __init__(self, words: dict[str, int]) -> None:
        self.splits = [list(word) for word in words]
        self.weights = list(words.values())
        self.pairs: Counter[tuple[str, str]] = Counter()
        self.places: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        for place in range(len(self.splits)):
            self._count(place, 1)
        self.queue = [(-count, pair) for pair, count in self.pairs.items()]
        heapq.heapify(self.queue)

    def _count(self, place: int, sign: int) -> set[tuple[str, str]]:
        split = self.splits[place]
        pairs = list(pairwise(split))
        for pair in pairs:
            self.pairs[pair] += sign * self.weights[place]
            self.places[pair].add(place)
        return set(pairs)

    def learn(self, number: int) -> Iterator[str]:
        while number and self.queue:
            count, pair = heapq.heappop(self.queue)
            if self.pairs[pair] != -count:  # an outdated entry: the pair has lost or gained places since
                continue
            if count >= 0:
                return
            self._join(pair)
            yield "".join(pair)
            number -= 1

    def _join(self, pair: tuple[str, str]) -> None:
        changed: set[tuple[str, str]] = set()
        for place in sorted(self.places.pop(pair)):
            changed |= self._count(place, -1)
            self.splits[place] = joined(self.splits[place], pair)
            changed |= self._count(place, 1)
        self.places.pop(pair, None)
        for other in changed - {pair}:
            heapq.heappush(self.queue, (-self.pairs[other], other))


def joined(split: list[str], pair: tuple[str, str]) -> list[str]:
    """The split with each occurrence of the pair joined to one symbol."""
    result: list[str] = []
    for symbol in split:
        # A symbol that was just joined cannot match again: it differs from the pair's first.
        if result and symbol == pair[1] and result[-1] == pair[0]:
            result[-1] = "".join(pair)
        else:
            result.append(symbol)
    return result


def greedy(word: str, pieces: set[str]) -> Iterator[str]:
    start = 0
    while start < len(word):
        stop = next((stop for stop in range(len(word), start + 1, -1) if word[start:stop] in pieces), start + 1)
        yield word[start:stop]
        start = stop


def learn(words: Words, size: int, taken: frozenset[str]) -> list[str]:
    """The pieces of a group: its characters, and those merges that greedy splitting uses most."""
    weights = words.kept()
    characters = sorted(alphabet(weights, words.group.characters) - taken)
    wanted = size - len(characters)
    pieces = {piece for piece in Merges(weights).learn(round(wanted * SURPLUS)) if words.is_welcome(piece)} - taken
    used: Counter[str] = Counter()
    for word, weight in weights.items():
        for piece in greedy(word, pieces):
            used[piece] += weight
    return [*characters, *sorted(pieces, key=lambda piece: (-used[piece], piece))[:wanted]]


def read_list(path: Path | None) -> frozenset[str]:
    return frozenset(path.read_text("utf-8").casefold().split("\n") if path else ()) - {""}


def main() -> None:
    parser = argparse.ArgumentParser(description="Learns the vocabulary of mockserver.model.tokens.")
    parser.add_argument("output", type=Path)
    parser.add_argument("folders", nargs="+", metavar="KIND=FOLDER")
    parser.add_argument("--names", type=Path)
    parser.add_argument("--excluded", type=Path)
    options = parser.parse_args()
    folders = {kind: Path(folder) for kind, _, folder in (pair.partition("=") for pair in options.folders)}
    made = frozenset(made_texts())
    room = EOS - len(made)
    pieces: list[str] = []
    for group in GROUPS:
        words = Words(group, read_list(options.names), read_list(options.excluded))
        for kind in group.kinds:
            words.add(kind, folders[kind])
        pieces += learn(words, group.size or room - len(pieces), made | frozenset(pieces))
        print(f"{', '.join(group.kinds)}: {len(pieces)} of {room} pieces")
    options.output.write_text(
        "".join(f"{piece}\n" for piece in sorted(pieces, key=lambda piece: (len(piece), piece))), "utf-8"
    )


if __name__ == "__main__":
    main()
