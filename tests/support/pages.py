"""The documentation: the README, the pages of the package, and the examples in them."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "mockserver" / "docs"
ADDRESS = "http://127.0.0.1:8000"

PAGES = {path.relative_to(ROOT).as_posix(): path for path in (ROOT / "README.md", *sorted(DOCS.glob("*.md")))}
ABOUTS = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "mockserver/dialects").glob("*/about.md"))}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in (PAGES | ABOUTS).items()}


class Block(NamedTuple):
    """A block of code: the page that it stands on, and its text."""

    page: str
    code: str


def blocks(language: str) -> list[Block]:
    """The blocks with exactly this text after the opening fence; pass an empty text for those without."""
    found = []
    for page, text in TEXTS.items():
        for info, code in re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            if info == language:
                found.append(Block(page, code))
    return found


def page(name: str) -> str:
    """The text of a page of the package."""
    return TEXTS[f"mockserver/docs/{name}.md"]


def commands(language: str = "sh") -> list[Block]:
    """The commands in all shell blocks, each on one line, without comments."""
    joined = [Block(page, code.replace("\\\n", " ")) for page, code in blocks(language)]
    lines = [Block(page, line.partition("  #")[0].strip()) for page, code in joined for line in code.splitlines()]
    return [block for block in lines if block.code and not block.code.startswith("#")]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    bare = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^#+ (.+)$", bare, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in found}


def links(text: str) -> list[str]:
    """The targets of a page's links and pictures."""
    bare = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", bare)
