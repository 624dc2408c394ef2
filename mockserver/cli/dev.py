"""`mockserver dev`: a server beside a frontend, with the live page in a browser and examples for its frameworks."""

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import indent

from mockserver.cli.command import Command, argument, print_message
from mockserver.cli.serve import serve_dialects
from mockserver.core.json_values import read_json
from mockserver.server.urls import ADMIN

# Examples of how to point a framework at a server, with `<url>` for its URL: files by the framework's name, with the
# packages that show its use. The last is for all others.
FOLDER = Path(__file__).with_name("examples")
EXAMPLES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "openai": ("openai.mjs", ("openai",)),
    "AI SDK": ("ai-sdk.mjs", ("ai", "@ai-sdk/")),
    "LangChain": ("langchain.mjs", ("langchain", "@langchain/")),
    "Next.js, in .env.local": ("next.env", ("next",)),
    "Vite, in .env.local": ("vite.env", ("vite",)),
    "fetch": ("fetch.mjs", ()),
}


def examples_for(folder: Path, url: str) -> str:
    """Examples for the packages in the folder's package.json; for plain `fetch` if none of them is known."""
    packages = _packages(folder / "package.json")
    fitting = [name for name, (_, known) in EXAMPLES.items() if _uses(known, packages)] or ["fetch"]
    texts = ((FOLDER / EXAMPLES[name][0]).read_text(encoding="utf-8").strip() for name in fitting)
    shown = (indent(text.replace("<url>", url), "    ") for text in texts)
    return "\n\n".join(f"{name}:\n\n{text}" for name, text in zip(fitting, shown, strict=True))


def open_page(url: str) -> None:
    """Open the live page in a browser in the background, if there is a display."""
    seen = sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    if seen:
        threading.Thread(target=webbrowser.open, args=(f"{url}{ADMIN}/ui/",), daemon=True).start()


def _packages(file: Path) -> frozenset[str]:
    """The packages in a package.json; none if it does not exist or is invalid."""
    try:
        document = read_json(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return frozenset()
    tables = [document.get(key) for key in ("dependencies", "devDependencies")] if isinstance(document, dict) else []
    return frozenset(name for table in tables if isinstance(table, Mapping) for name in table)


def _uses(known: Iterable[str], packages: Iterable[str]) -> bool:
    """Whether a project uses one of these packages; a name that ends in a slash stands for its whole scope."""
    return any(name == own or (own.endswith("/") and name.startswith(own)) for name in packages for own in known)


def serve_beside_frontend(options: argparse.Namespace) -> int:
    """Serve until interrupted, with examples printed and the live page open."""

    def beside(url: str) -> None:
        print_message(f"\n{examples_for(Path.cwd(), url)}")
        if not options.no_open:
            open_page(url)

    return serve_dialects(options, beside)


COMMAND = Command(
    serve_beside_frontend,
    (argument("--no-open", action="store_true", help="do not open a browser"),),
    takes_settings=True,
)
