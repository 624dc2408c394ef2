"""The house rules: a module imports only from layers below its own, and nothing below serving touches the world."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "mockserver"
LAYERS = (
    {"core"},
    {"generation", "latency", "faults"},
    {"dialects"},
    {"control"},
    {"serving", "ui"},
    {"testing"},
    {"cli", "pytest_plugin"},
)
PURE = {"core", "generation", "latency", "faults", "dialects", "control"}
WORLD = {
    *("asyncio", "time", "random", "os", "socket", "subprocess", "tempfile", "secrets", "uuid"),
    *("starlette", "uvicorn", "anyio"),
}

MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE or path.stem[0] != "_"]


def imports(tree: ast.AST) -> set[str]:
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return found | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def level(layer: str) -> int:
    return next(number for number, layers in enumerate(LAYERS) if layer in layers)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_knows_only_what_lies_below_it(module: Path) -> None:
    own = module.relative_to(PACKAGE).with_suffix("").parts
    tree = ast.parse(module.read_text())
    for name in imports(tree):
        parts = name.split(".")
        if parts[0] == "mockserver" and len(parts) > 1:
            assert parts[1] == own[0] or level(parts[1]) < level(own[0]), f"{'.'.join(own)} imports {name}"
            beside = len(own) > 2 and own[0] == "dialects" and len(parts) > 3 and parts[1] == "dialects"
            assert not beside or parts[2] == own[1], f"{'.'.join(own)} imports another dialect: {name}"
        elif own[0] in PURE:
            assert parts[0] not in WORLD, f"{'.'.join(own)} imports {name}"
    if own[0] in PURE:
        impure: list[ast.AST] = [n for n in ast.walk(tree) if isinstance(n, ast.AsyncFunctionDef)]
        impure += [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "open"]
        assert not impure, f"{'.'.join(own)} waits, or opens files"
