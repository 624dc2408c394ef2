"""A config file, stub files, and what these name, that change while the server runs."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.installed import load_dialects
from mockserver.server.app import App
from mockserver.server.app_state import SettingsReader, Watcher
from mockserver.server.files import Sources, TraceFiles, read_config, stamp_of
from mockserver.state.settings import Settings
from mockserver.state.settings.options import settle

STUB = '[[stub]]\nname = "{name}"\nreply = {{ file = "{file}" }}\n'


def reader(read: Callable[[Sources], Settings]) -> tuple[SettingsReader, Settings]:
    sources = Sources()
    return SettingsReader(read, sources), read(sources)


def by_file(path: Path) -> Callable[[Sources], Settings]:
    def read(sources: Sources) -> Settings:
        traces = TraceFiles(path.parent, sources=sources)
        return settle({"latency": "off"}, read_config(path, traces, sources), {"traces": traces.traces()})

    return read


def started(folder: Path, text: str = "seed = 1") -> tuple[Path, Watcher, App]:
    """An application that has been started with a config, the file that may change, and who watches it."""
    path = folder / "mock.toml"
    path.write_text(text)
    read, settings = reader(by_file(path))
    app = App(settings, load_dialects(), read)
    assert app._watcher is not None
    return path, app._watcher, app


def stocked(folder: Path, files: Mapping[str, str], named: str = "") -> tuple[Watcher, App]:
    """An application without a config, that has been started with a folder of stub files, or with the one `named`."""
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    read, settings = reader(lambda sources: Settings(latency="off", stubs=str(folder / named)))
    app = App(settings, load_dialects(), read)
    assert app._watcher is not None
    return app._watcher, app


def prepared(app: App) -> dict[str, str]:
    """The stubs in force, each with the body of its reply."""
    return {stub.name: bytes(stub.steps[0].prepared.content.body).decode() for stub in app.app_state.setup.stubs}  # type: ignore[union-attr]


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
    path, watcher, app = started(tmp_path)

    async def story() -> None:
        assert app.settings.seed == 1
        path.write_text("seed = 2\n[[route]]\npath = '/mine'\ndialect = 'ovms'\noperation = 'completions'")
        await watcher.look()
        assert app.settings.seed == 2
        assert "/mine" in app.app_state.setup.routes.served()
        path.write_text("sede = 3")
        await watcher.look()
        assert app.settings.seed == 2
        status, said = await ready(app)
        assert status == 503
        assert "mock.toml, line 1: sede: unknown key" in str(said)
        path.write_text("seed = 4")
        await watcher.look()
        assert await ready(app) == (200, {"status": "ready", "dialects": list(load_dialects())})

    asyncio.run(story())


def test_a_change_that_a_running_server_cannot_make_is_refused_whole(tmp_path: Path) -> None:
    path, watcher, app = started(tmp_path)
    path.write_text("seed = 2\nport = 9000")
    asyncio.run(watcher.look())
    assert app.settings.seed == 1
    assert app.app_state.config_fault == "port: cannot be changed while the server runs; restart it"


def test_a_file_is_told_from_its_next_version_even_while_it_is_away(tmp_path: Path) -> None:
    path = tmp_path / "mock.toml"
    stamps = [stamp_of(str(path))]
    for text in ("seed = 1", "seed = 22"):
        path.write_text(text)
        stamps.append(stamp_of(str(path)))
    assert len(set(stamps)) == 3


@pytest.mark.parametrize("name, value", [("log_level", "debug"), ("log_format", "json"), ("workers", 2)])
def test_what_is_settled_at_the_start_is_not_said_to_be_in_force(tmp_path: Path, name: str, value: object) -> None:
    path, watcher, app = started(tmp_path)
    path.write_text(f"{name} = {value!r}")
    asyncio.run(watcher.look())
    assert app.app_state.config_fault == f"{name}: cannot be changed while the server runs; restart it"


def test_whatever_is_wrong_with_a_file_its_next_version_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, watcher, app = started(tmp_path)

    def fail(sources: Sources) -> Settings:
        by_file(path)(sources)
        raise ZeroDivisionError("nobody has thought of that")

    path.write_text(f"seed = {'[' * 5000}")
    asyncio.run(watcher.look())
    assert "nested too deep" in str(app.app_state.config_fault)
    path.write_text("seed = 22")
    with monkeypatch.context() as broken:
        broken.setattr(watcher, "_read", fail)
        asyncio.run(watcher.look())
    assert "ZeroDivisionError: nobody has thought of that" in str(app.app_state.config_fault)
    path.write_text("seed = 2")
    asyncio.run(watcher.look())
    assert (app.app_state.config_fault, app.settings.seed) == (None, 2)


def test_stub_files_that_change_come_and_go_are_in_force_without_any_config(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = {"_bodies/one.txt": "1", "_bodies/two.txt": "2", "a.toml": STUB.format(name="a", file="_bodies/one.txt")}
    watcher, app = stocked(tmp_path, files)
    assert prepared(app) == {"a": "1"}

    async def story() -> None:
        (tmp_path / "_bodies" / "one.txt").write_text("one")
        await watcher.look()
        assert prepared(app) == {"a": "one"}
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "b.toml").write_text(STUB.format(name="b", file="../_bodies/two.txt"))
        await watcher.look()
        assert prepared(app) == {"a": "one", "b": "2"}
        (tmp_path / "a.toml").write_text(STUB.format(name="a2", file="_bodies/two.txt"))
        await watcher.look()
        assert prepared(app) == {"a2": "2", "b": "2"}
        (tmp_path / "a.toml").unlink()
        await watcher.look()
        assert prepared(app) == {"b": "2"}
        said = len(caplog.messages)
        (tmp_path / "readme.md").write_text("no stub")
        await watcher.look()
        assert len(caplog.messages) == said

    asyncio.run(story())
    assert caplog.messages == [
        f"{tmp_path / name} has changed and is in force"
        for name in ("_bodies/one.txt", "sub/b.toml", "a.toml", "a.toml")
    ]


def test_stubs_with_a_mistake_leave_the_old_ones_in_force_until_it_is_mended(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    watcher, app = stocked(tmp_path, {"_one.txt": "1", "a.toml": STUB.format(name="a", file="_one.txt")})

    async def story() -> None:
        for text, complaint in (
            ('seed = 1\n[[stub]]\nreply = "x"', "a.toml, line 1: seed: a stub file can contain only [[stub]]"),
            (STUB.format(name="b", file="_two.txt"), "a.toml, line 3: stub[0].reply.file: _two.txt: No such file or"),
        ):
            (tmp_path / "a.toml").write_text(text)
            await watcher.look()
            await watcher.look()
            assert prepared(app) == {"a": "1"}
            status, said = await ready(app)
            assert (status, said["status"]) == (503, "old config")
            assert complaint in said["error"]
        assert [message.partition(", ")[0] for message in caplog.messages] == ["the changed stubs are invalid"] * 2
        (tmp_path / "_two.txt").write_text("2")
        await watcher.look()
        assert prepared(app) == {"b": "2"}
        assert (await ready(app))[0] == 200

    asyncio.run(story())


def test_a_config_and_its_stubs_are_taken_up_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "stubs").mkdir()
    path, watcher, app = started(tmp_path, 'seed = 1\nstubs = "stubs"')
    stub = tmp_path / "stubs" / "a.json"

    async def story() -> None:
        path.write_text('seed = 22\nstubs = "stubs"')
        stub.write_text("{")
        await watcher.look()
        assert (app.settings.seed, app.app_state.setup.stubs) == (1, ())
        assert "a.json: " in str(app.app_state.config_fault)
        stub.write_text('{"name": "a", "reply": {"body": "1"}}')
        await watcher.look()
        assert (app.settings.seed, prepared(app), app.app_state.config_fault) == (22, {"a": "1"}, None)
        path.write_text("seed = [")
        stub.write_text('{"name": "b", "reply": {"body": "1"}}')
        await watcher.look()
        said = app.app_state.config_fault
        await watcher.look()
        assert (prepared(app), app.app_state.config_fault) == ({"a": "1"}, said)

    asyncio.run(story())


@pytest.mark.parametrize("named", ["", "a.json"])
def test_changed_stubs_leave_alone_what_was_settled_at_run_time(named: str, tmp_path: Path) -> None:
    watcher, app = stocked(tmp_path, {"a.json": '{"name": "a", "reply": {"body": "1"}}'}, named)
    app.app_state.replace_settings(settle({"latency": "off", "stubs": str(tmp_path / named), "seed": 9}))
    (tmp_path / "a.json").write_text('{"name": "another", "reply": {"body": "1"}}')
    asyncio.run(watcher.look())
    assert (prepared(app), app.settings.seed) == ({"another": "1"}, 9)
    # A folder may be empty; a file that is gone is a mistake, until it is back.
    (tmp_path / "a.json").unlink()
    asyncio.run(watcher.look())
    assert prepared(app) == ({"another": "1"} if named else {})
    (tmp_path / "a.json").write_text('{"name": "back", "reply": {"body": "1"}}')
    asyncio.run(watcher.look())
    assert (prepared(app), app.settings.seed, app.app_state.config_fault) == ({"back": "1"}, 9, None)


def test_what_a_config_names_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    (tmp_path / "body.txt").write_text("1")
    (tmp_path / "ttft.txt").write_text("20ms")
    text = "latency = 'ttft=empirical(file=ttft.txt)'\n" + STUB.format(name="a", file="body.txt")
    _, watcher, app = started(tmp_path, text)

    async def story() -> None:
        for name, said in (("body.txt", "one"), ("ttft.txt", "30.0ms")):
            (tmp_path / name).write_text(said)
            await watcher.look()
        assert (prepared(app), list(app.settings.traces.known.values())) == ({"a": "one"}, [(0.03,)])

    asyncio.run(story())


def test_who_has_no_files_is_not_watched() -> None:
    read, settings = reader(lambda sources: Settings(latency="off"))
    watcher = App(settings, load_dialects(), read)._watcher
    assert watcher is not None
    assert not watcher.has_files


def test_a_link_that_leads_elsewhere_is_a_change(tmp_path: Path) -> None:
    """As volumes of orchestrators swap whole folders of files."""
    stubs = tmp_path / "stubs"
    for version in ("..1", "..2"):
        (stubs / version).mkdir(parents=True)
        (stubs / version / "a.json").write_text(f'{{"name": "a", "reply": {{"body": "{version}"}}}}')
    (stubs / "..data").symlink_to("..1")
    (stubs / "a.json").symlink_to("..data/a.json")
    watcher, app = stocked(stubs, {})
    assert prepared(app) == {"a": "..1"}
    (stubs / "..new").symlink_to("..2")
    os.replace(stubs / "..new", stubs / "..data")
    asyncio.run(watcher.look())
    assert prepared(app) == {"a": "..2"}
