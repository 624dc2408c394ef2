"""The layers: a module imports only from layers below its own, and those below the server do no input or output."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "mockserver"
LAYERS = (
    {"core"},
    {"model", "latency", "faults"},
    {"dialects"},
    {"state"},
    {"pipeline"},
    {"routes"},
    {"recordings"},
    {"server", "ui"},
    {"testing"},
    {"cli", "pytest_plugin"},
)
PURE = {"core", "model", "latency", "faults", "dialects", "state", "pipeline"}
WORLD = {
    *("asyncio", "threading", "time", "random", "os", "socket", "subprocess", "tempfile", "secrets", "uuid"),
    *("starlette", "uvicorn", "anyio", "concurrent"),
}
# Plans are completed in several threads, which share caches, and have a budget of time each for their searches: no
# reading of a clock, since nothing else is drawn from it.
EXCEPTIONS = {
    *((module, "threading", "Lock") for module in ("caches", "engines", "languages")),
    ("derivatives", "threading", "local"),
    *(("regexes", *name) for name in (("threading",), ("time", "thread_time"))),
}

MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.stem[0] != "_"]
# The wire that others speak too, and state their differences from.
REFERENCES = {"openai"}
DIALECTS = {path.parent.name for path in (PACKAGE / "dialects").glob("*/dialect.py")}


def name_of(module: Path) -> tuple[str, ...]:
    parts = ("mockserver", *module.relative_to(PACKAGE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def imports(module: Path) -> frozenset[tuple[str, ...]]:
    """The dotted names that a module imports; of `from x import y` it is `x.y`, module or not."""
    found: set[tuple[str, ...]] = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports by dots"
            found |= {(*(node.module or "").split("."), alias.name) for alias in node.names}
    return frozenset(found)


def level(layer: str) -> int:
    """Which layer something of the package is in; what is in none is above all."""
    return next((number for number, layers in enumerate(LAYERS) if layer in layers), len(LAYERS))


def faults_of(module: Path) -> Iterator[str]:
    """What a module imports or does that its layer may not."""
    own = name_of(module)
    for name in imports(module):
        said = f"{'.'.join(own)} imports {'.'.join(name)}"
        if name[0] == "mockserver":
            others = DIALECTS - REFERENCES - {*own[2:3]} if own[1] == "dialects" and {*own[2:3]} & DIALECTS else set()
            if name[1] != own[1] and level(name[1]) >= level(own[1]):
                yield f"{said}, which is not below it"
            if name[1] == "dialects" and others & {*name[2:3]}:
                yield f"{said}, another dialect"
        elif own[1] in PURE and name[0] in WORLD and (own[-1], *name) not in EXCEPTIONS:
            yield f"{said}, which is not pure"
        if own[1] == "core" and name[0] not in {*sys.stdlib_module_names, "regex", "mockserver"}:
            yield f"{said}, which is not of the standard library"
    for node in ast.walk(tree_of(module)) if own[1] in PURE else ():
        opens = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "open"
        if opens or isinstance(node, ast.AsyncFunctionDef):
            yield f"{'.'.join(own)} waits, or opens files"


def test_a_module_knows_only_what_lies_below_it() -> None:
    assert [fault for module in MODULES for fault in faults_of(module)] == []


def test_within_a_layer_nothing_stands_both_above_and_below_something_else() -> None:
    rooms: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module in MODULES:
        own = name_of(module)
        for name in imports(module) if len(own) > 2 else ():
            if name[:2] == own[:2] and name[2:3] not in ((), own[2:3]):
                rooms.setdefault(own[:3], set()).add(name[:3])
    TopologicalSorter(rooms).prepare()


def test_no_modules_import_each_other_in_a_circle_even_within_functions() -> None:
    names = {name_of(module) for module in MODULES}
    known: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for module in MODULES:
        own = name_of(module)
        for name in imports(module):
            # What is imported from a module is not one itself; a package's own module only hands names on.
            other = next((name[:end] for end in (len(name), len(name) - 1) if name[:end] in names), own)
            if other != own[: len(other)]:
                known.setdefault(own, set()).add(other)
    TopologicalSorter(known).prepare()
