"""A server's config file in tests: which of its settings apply there, and which take precedence over it."""

from pathlib import Path

import pytest

from mockserver import ConfigError, MockServer, Settings, create_app
from tests.support.http import exchange
from tests.support.questions import ask

CONFIG = """
seed = 7
host = "0.0.0.0"
port = 1
workers = 4
log_format = "json"
tls_cert = "nowhere.pem"
auth = ["secret"]
admin_token = "secret"
latency = "ttft=empirical(file=ttft.txt)"
edition = "observed"
journal = 5
stubs = "stubs"
quota = { requests = "3/min", dialect = "yandex" }
bare = "friendli"

[models]
cerebras = ["only-one"]

[[route]]
path = "/mine"
dialect = "cerebras"
operation = "completions"
latency = "ttft=30ms"
"""
BODY = {"model": "only-one", "prompt": "hello"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "mock.toml").write_text(CONFIG)
    (tmp_path / "ttft.txt").write_text("20ms")
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "a.toml").write_text('[[stub]]\nmatch = { model = "only-one" }\nreply = "From a file."\n')
    return tmp_path / "mock.toml"


def due(server: MockServer) -> float:
    return float(server.last.data["timing"]["ttft_due"])


def test_how_requests_are_answered_holds_in_tests_and_what_a_deployment_is_does_not(config: Path) -> None:
    with MockServer(config=config) as server:
        assert b"From a file." in exchange(server.url, "POST", "/mine", BODY).body
        assert due(server) == 0
        assert [ask(server.url, "cerebras"), *(ask(server.url, "yandex") for _ in range(4))] == [
            404,
            200,
            200,
            200,
            429,
        ]
        assert exchange(server.url, "POST", "/v1/completions", {"model": "m", "prompt": "x"}).status == 200
        assert (server.last.dialect, server.last.edition) == ("friendli", "observed")
        assert exchange(server.url, "GET", "/_mockserver/stubs").status == 200
        given, usual = server.settings, Settings(log_level="warning")
        own = ("host", "workers", "log_level", "log_format", "tls_cert", "auth", "admin_token")
        assert [getattr(given, name) for name in own] == [getattr(usual, name) for name in own]
        assert (given.seed, given.journal, given.port, server.url.startswith("http://127.0.0.1:")) == (7, 5, 0, True)


def test_keywords_go_before_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config.parent)
    with MockServer(config="mock.toml", latency="ttft=10ms", seed=8, edition="documented", quota="off") as server:
        assert (server.settings.seed, server.settings.edition, server.settings.quota) == (8, "documented", ())
        exchange(server.url, "POST", "/mine", BODY)
        assert due(server) == pytest.approx(0.01)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("seed = 1\nlatncy = 1", r"mock\.toml, line 2: latncy: unknown key 'latncy'\. Did you mean 'latency'\?"),
        ("seed = 1\nlatency = 'soon'", r"mock\.toml, line 2: latency: 'soon'"),
        ("dialect = 'cerebra'", "dialect: unknown dialect 'cerebra'"),
        ("stubs = 'none'", "stubs: .*none does not exist"),
    ],
)
def test_a_mistake_is_told_as_on_the_command_line(config: Path, text: str, complaint: str) -> None:
    config.write_text(text)
    with pytest.raises(ConfigError, match=complaint):
        MockServer(config=config)


def test_a_file_that_is_not_there_and_one_that_says_nothing_are_refused(config: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file or directory"):
        MockServer(config=config.parent / "none.toml")
    with pytest.raises(ConfigError, match="give either settings=Settings"):
        MockServer(Settings(port=0), config=config)


def test_an_application_in_process_takes_settings_by_name_and_waits_for_nothing() -> None:
    settings = create_app(seed=7, edition="observed").settings
    assert (settings.seed, settings.edition, settings.latency) == (7, "observed", "off")
    settings = create_app(Settings(latency="fast"), speed=2).settings
    assert (settings.latency, settings.speed) == ("fast", 2)
    with pytest.raises(ConfigError, match=r"create_app: unknown setting 'sed'\. Did you mean 'seed'\?"):
        create_app(sed=7)
    for make in (create_app, MockServer):
        with pytest.raises(ConfigError, match=r"'mock.toml' is no Settings\(...\); name what you set, as in "):
            make("mock.toml")  # type: ignore[arg-type]
