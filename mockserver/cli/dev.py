"""`mockserver dev`: a server beside a frontend, with the live page in a browser and examples for its frameworks."""

import argparse
import os
import sys
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from mockserver.cli.command import Command, argument, print_message
from mockserver.cli.serve import serve_dialects
from mockserver.core.json_values import read_json
from mockserver.server.urls import ADMIN


class Example(NamedTuple):
    """How to point a framework at a server: packages that indicate its use, and a text with `<url>` for the URL."""

    name: str
    packages: tuple[str, ...]
    text: str


EXAMPLES: tuple[Example, ...] = (
    Example(
        "openai",
        ("openai",),
        """\
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "<url>/v1", apiKey: "any-key", dangerouslyAllowBrowser: true });
const stream = await client.chat.completions.create({
  model: "gpt-5.4-mini",
  messages: [{ role: "user", content: "Hello" }],
  stream: true,
});
for await (const chunk of stream) console.log(chunk.choices[0]?.delta?.content ?? "");""",
    ),
    Example(
        "AI SDK",
        ("ai", "@ai-sdk/"),
        """\
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";

const mock = createOpenAICompatible({ name: "mock", baseURL: "<url>/v1", apiKey: "any-key" });
const { textStream } = streamText({ model: mock("gpt-5.4-mini"), prompt: "Hello" });
for await (const text of textStream) console.log(text);""",
    ),
    Example(
        "LangChain",
        ("langchain", "@langchain/"),
        """\
import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "gpt-5.4-mini",
  apiKey: "any-key",
  configuration: { baseURL: "<url>/v1" },
});
for await (const chunk of await model.stream("Hello")) console.log(chunk.content);""",
    ),
    Example("Next.js, in .env.local", ("next",), "OPENAI_BASE_URL=<url>/v1\nOPENAI_API_KEY=any-key"),
    Example("Vite, in .env.local", ("vite",), "VITE_LLM_BASE_URL=<url>/v1\nVITE_LLM_API_KEY=any-key"),
)
_PLAIN = Example(
    "fetch",
    (),
    """\
const answer = await fetch("<url>/v1/chat/completions", {
  method: "POST",
  headers: { authorization: "Bearer any-key", "content-type": "application/json" },
  body: JSON.stringify({ model: "gpt-5.4-mini", messages: [{ role: "user", content: "Hello" }], stream: true }),
});
const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
for (let part = await reader.read(); !part.done; part = await reader.read()) console.log(part.value);""",
)


def examples_for(folder: Path, url: str) -> str:
    """Examples for the packages in the folder's package.json; for plain `fetch` if none of them is known."""
    packages = _packages(folder / "package.json")
    fitting = [example for example in EXAMPLES if _uses(example, packages)] or [_PLAIN]
    texts = ((example.name, indent(example.text.replace("<url>", url), "    ")) for example in fitting)
    return "\n\n".join(f"{name}:\n\n{text}" for name, text in texts)


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


def _uses(example: Example, packages: frozenset[str]) -> bool:
    """Whether a project uses one of the example's packages; a name that ends in a slash stands for its whole scope."""
    return any(
        name == known or (known.endswith("/") and name.startswith(known))
        for name in packages
        for known in example.packages
    )


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
