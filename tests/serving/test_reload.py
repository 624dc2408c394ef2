"""A config file that changes while the server runs."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockserver.control.options import from_toml, settle
from mockserver.control.settings import Settings
from mockserver.core.installed import load_dialects
from mockserver.serving.app import App
from mockserver.serving.reload import ConfigFile, take_up


def read(path: Path) -> Callable[[], Settings]:
    return lambda: settle(from_toml(path.read_text(), path.name), {"latency": "off"})


def started(folder: Path) -> tuple[Path, ConfigFile, App]:
    """An application that has been started with a config, and the file that may change."""
    path = folder / "mock.toml"
    path.write_text("seed = 1")
    config = ConfigFile(path, read(path))
    return path, config, App(config.read(), load_dialects())


async def ready(app: App) -> tuple[int, Any]:
    """The status and the body of the application's own word on whether it is ready."""
    said: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        said.append(message)

    path = "/_mockserver/ready"
    scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": [], "root_path": ""}
    await app(scope, receive, send)
    return said[0]["status"], json.loads(said[1]["body"])


def test_a_changed_file_is_in_force_for_the_next_request_and_a_bad_one_leaves_the_old_one(tmp_path: Path) -> None:
    path, config, app = started(tmp_path)

    async def story() -> None:
        assert app.settings.seed == 1
        path.write_text("seed = 2\n[[route]]\npath = '/mine'\ndialect = 'ovms'\noperation = 'completions'")
        await take_up(config, app.simulator)
        assert app.settings.seed == 2
        assert "/mine" in app.simulator.setup.router.served()
        path.write_text("sede = 3")
        await take_up(config, app.simulator)
        assert app.settings.seed == 2
        status, said = await ready(app)
        assert status == 503
        assert "mock.toml, line 1: sede: unknown name" in str(said)
        path.write_text("seed = 4")
        await take_up(config, app.simulator)
        assert await ready(app) == (200, {"status": "ready", "dialects": list(load_dialects())})

    asyncio.run(story())


def test_a_change_that_a_running_server_cannot_make_is_refused_whole(tmp_path: Path) -> None:
    path, config, app = started(tmp_path)
    path.write_text("seed = 2\nport = 9000")
    asyncio.run(take_up(config, app.simulator))
    assert app.settings.seed == 1
    assert app.simulator.config_fault == "port: cannot change while the server runs"


def test_a_file_is_told_from_its_next_version_even_while_it_is_away(tmp_path: Path) -> None:
    path = tmp_path / "mock.toml"
    config = ConfigFile(path, Settings)
    stamps = [config.stamp()]
    for text in ("seed = 1", "seed = 22"):
        path.write_text(text)
        stamps.append(config.stamp())
    assert len(set(stamps)) == 3


@pytest.mark.parametrize("name, value", [("log_level", "debug"), ("log_format", "json"), ("workers", 2)])
def test_what_is_settled_at_the_start_is_not_said_to_be_in_force(tmp_path: Path, name: str, value: object) -> None:
    path, config, app = started(tmp_path)
    path.write_text(f"{name} = {value!r}")
    asyncio.run(take_up(config, app.simulator))
    assert app.simulator.config_fault == f"{name}: cannot change while the server runs"


def test_whatever_is_wrong_with_a_file_its_next_version_is_taken_up(tmp_path: Path) -> None:
    path, config, app = started(tmp_path)
    path.write_text(f"seed = {'[' * 5000}")
    asyncio.run(take_up(config, app.simulator))
    assert "RecursionError" in str(app.simulator.config_fault)
    path.write_text("seed = 2")
    asyncio.run(take_up(config, app.simulator))
    assert (app.simulator.config_fault, app.settings.seed) == (None, 2)
