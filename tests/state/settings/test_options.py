"""Settings: their sources, which of these takes precedence, and the errors for invalid ones."""

from pathlib import Path

import pytest

from mockserver.core.installed import load_dialects
from mockserver.faults.parse_faults import read_faults
from mockserver.state.settings import ConfigError, RouteSettings, Settings
from mockserver.state.settings.checks import check_all
from mockserver.state.settings.config_file import from_toml, line_of
from mockserver.state.settings.options import OPTIONS, checked, from_environment, from_names, settle

LATENCY = "ttft=lognormal(180ms, 0.35), rate=1800 tok/s"
FILE = """
seed = 7
latency = "off"
auth = ["one", "two"]
bare = "friendli"

[models]
cerebras = ["llama3.1-8b"]

[[route]]
path = "/mine"
dialect = "friendli"
operation = "completions"
edition = "observed"
latency = { ttft = "lognormal(180ms, 0.35)", rate = "1800 tok/s" }
"""


def test_a_config_file_says_all_that_settings_can_say() -> None:
    assert settle(from_toml(FILE, "mock.toml")) == Settings(
        seed=7,
        latency="off",
        auth=("one", "two"),
        bare="friendli",
        models={"cerebras": ("llama3.1-8b",)},
        routes=(RouteSettings("/mine", "friendli", "completions", "observed", LATENCY),),
    )


def test_the_command_line_beats_the_environment_and_that_the_file() -> None:
    layers = (
        from_toml('seed = 1\nport = 1\nlatency = "slow"', "mock.toml"),
        from_environment({"MOCKSERVER_SEED": "2", "MOCKSERVER_PORT": "2", "HOME": "/"}),
        from_names({"seed": "3"}, "option"),
    )
    settings = settle(*layers)
    assert (settings.seed, settings.port, settings.latency, settings.host) == (3, 2, "slow", "127.0.0.1")


@pytest.mark.parametrize(
    "place, line",
    [
        ("seed", 1),
        ("route", 3),
        ("route[0].latency", 5),
        ("route[0].faults", 3),
        ("route[1]", 7),
        ("route[1].foo", 9),
        ("stub[0].match.prompt", 12),
        ("stub[0].reply.text", 13),
        ("stub[1].reply.faults", 15),
        ("models.cerebras", 18),
        ("nothing", None),
    ],
)
def test_the_line_of_a_place_is_that_of_its_key_or_of_what_it_is_in(place: str, line: int | None) -> None:
    text = """seed = 3

[[route]]
path = "/a"
latency = "off"

[[route]]  # seed = 5
path = "/b"
foo = 3

[[stub]]
match.prompt = "x"
reply = { text = "y" }
[[ stub ]]
reply.faults = [3]

[models]
cerebras = ["a"]
"""
    assert line_of(text, place) == line


def test_a_route_that_cannot_be_is_told_with_its_line() -> None:
    text = '[[route]]\npath = "/a"\ndialect = "cerebras"\noperation = "completions"\n'
    settings = settle(from_toml(text + text.replace("/a", "/b").replace("completions", "completion"), "mock.toml"))
    with pytest.raises(ConfigError, match=r"mock\.toml, line 5: route /b: operation: unknown operation 'completion'"):
        check_all(settings, load_dialects())


@pytest.mark.parametrize(
    "settings, complaint",
    [
        (Settings(port="x"), "Settings: port: 'x' is not a whole number from 0 to 65535"),  # type: ignore[arg-type]
        (Settings(latency="of"), "Settings: latency: 'of': column 1: unknown preset 'of'."),
        (Settings(created=1e30), "Settings: created: 1e+30 is not a Unix time, such as 1700000000"),
        (Settings(writes="x"), "Settings: writes: unknown value 'x'. Known: joined, single"),
    ],
)
def test_settings_made_in_python_are_checked_too(settings: Settings, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        checked(settings)
    assert complaint in str(raised.value)


@pytest.mark.parametrize("said, speed", [("10", 10), ("0.5", 0.5), (2, 2), (2.5, 2.5), ("1e3", 1000)])
def test_a_speed_is_said_alike_everywhere(said: object, speed: float) -> None:
    assert from_names({"speed": said}, "option") == {"speed": speed}
    assert from_environment({"MOCKSERVER_SPEED": str(said)}) == {"speed": speed}
    assert from_toml(f"speed = {said}", "mock.toml") == {"speed": speed}
    assert checked(Settings(speed=said)).speed == speed  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [0, "0", -1, "nan", "inf", "fast", 9_999_999, 10**400, "1e-9", True, None, [10], ""])
def test_a_speed_that_cannot_be_meant_is_told_what_would_be(said: object) -> None:
    with pytest.raises(ConfigError) as raised:
        from_names({"speed": said}, "option")
    assert str(raised.value) == (
        f"option speed: {said} is not a number from 0.000001 to 1000000, such as 10 for ten times as fast"
    )


def test_texts_in_settings_made_in_python_are_read() -> None:
    made = checked(Settings(auth="one, two", fault="crlf, bom"))  # type: ignore[arg-type]
    assert (made.auth, [fault.kind for fault in made.fault]) == (("one", "two"), ["crlf", "bom"])
    assert from_names({"stubs": Path("a/b"), "tls_key": "k.pem"}, "MockServer") == {"stubs": "a/b", "tls_key": "k.pem"}
    with pytest.raises(ConfigError, match=r"stubs: \[\] is not a path"):
        from_names({"stubs": []}, "MockServer")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("mock.toml", "mock.toml: Expected '=' after a key in a key/value pair (at line 1, column 5)"),
        ("mock.yaml", "(at line 1, column 5); config files are written in TOML"),
    ],
)
def test_a_config_in_another_format_is_told_that_it_must_be_toml(name: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        from_toml("seed: 1", name)
    assert str(raised.value).endswith(complaint)


@pytest.mark.parametrize(("said", "keys"), [("a", ("a",)), ("a, b ,", ("a", "b")), ("any", "any"), ("off", "off")])
def test_keys_are_separated_by_commas_and_none_is_empty(said: str, keys: object) -> None:
    assert from_names({"auth": said}, "option") == {"auth": keys}


@pytest.mark.parametrize(
    ("said", "host"), [("[::1]", "::1"), ("::", "::"), ("localhost", "localhost"), ("2001:db8::1", "2001:db8::1")]
)
def test_an_address_of_ipv6_may_have_the_brackets_of_urls(said: str, host: str) -> None:
    assert from_names({"host": said}, "option") == {"host": host}


def test_what_the_command_line_says_no_route_of_a_file_undoes() -> None:
    assert settle({"seed": 1}, {"pinned": frozenset({"seed"})}).pinned == {"seed"}


def test_every_option_has_its_environment_variable() -> None:
    assert {option.variable for option in OPTIONS} >= {"MOCKSERVER_HOST", "MOCKSERVER_PORT", "MOCKSERVER_ADMIN_TOKEN"}
    assert all(option.name in Settings.__dataclass_fields__ for option in OPTIONS)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("latency = off", "mock.toml: Invalid value (at line 1, column 11); a text needs quotes"),
        ("sed = 1", "mock.toml, line 1: sed: unknown key 'sed'. Did you mean 'seed'?"),
        ("\nport = 70000", "mock.toml, line 2: port: 70000 is not a whole number from 0 to 65535"),
        (
            'latency = "fsat"',
            "mock.toml, line 1: latency: 'fsat': column 1: unknown preset 'fsat'. Did you mean 'fast'?",
        ),
        ('latency = {ttft = "1 hour"}', "latency: 'ttft=1 hour': column 6: '1 hour' is not a duration such as '180ms'"),
        ("latency = 3", "mock.toml, line 1: latency: 3 is not a latency such as 'off', 'slow' or 'ttft=180ms"),
        (
            "output_tokens = true",
            "output_tokens: 'True': column 1: 'True' is not a number of tokens up to 131072. Write",
        ),
        ("edition = 3", "mock.toml, line 1: edition: unknown value 3. Known: documented, observed"),
        ("[[route]]\npath = '/x'", "mock.toml, line 1: route[0]: dialect is missing or not a string"),
        ("[[route]]\npath = 'x'\ndialect='d'\noperation='o'", "route[0].path: 'x' must start with /"),
        ("[[route]]\npth = '/x'", "mock.toml, line 2: route[0].pth: unknown key 'pth'. Did you mean 'path'?"),
        (
            "[[fault]]\nkind = 'cut'\n[[fault]]\nkind = 'cut'\nafter_evnt = 3",
            "mock.toml, line 5: fault[1]: cut: unknown key 'after_evnt'. Did you mean 'after_event'?",
        ),
        (
            "[[quota]]\ntier = 'free'\n\n[[quota]]\nrequests = '3'",
            "mock.toml, line 4: quota[1]: requests: '3' is not a limit",
        ),
        (
            "[[stub]]\nreply = 'a'\n\n[[stub]]\nname = 'b'\nrepli = 'c'",
            "mock.toml, line 6: stub[1]: unknown key 'repli'. Did you mean 'replies'?",
        ),
        (
            "[[route]]\npath = '/x'\ndialect = 'ovms'\noperation = 'o'\nfaults = ['cut', 'refuse']",
            "mock.toml, line 5: route[0].faults: 'refuse' affects all connections, so it can only be set for",
        ),
        ("route = 3", "mock.toml, line 1: route: must be tables, each written as [[route]]"),
        ("bare = 3", "mock.toml, line 1: bare: 3 "),
        ("models = 3", "mock.toml, line 1: models: must be a table, such as [models]"),
        ("models = {cerebras = 'x'}", "mock.toml, line 1: models: cerebras: 'x' is not a list of strings"),
        ("seed = ", "mock.toml: "),
        ("strict = 'perhaps'", "mock.toml, line 1: strict: 'perhaps' must be true or false"),
    ],
)
def test_a_mistake_in_a_file_names_its_place_and_what_would_be_valid(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        from_toml(text, "mock.toml")
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ('seed = 1\ndialect = "cerebra"', "line 2: dialect: unknown dialect 'cerebra'"),
        ("[models]\novms = ['m']\ncerebra = ['m']", "line 3: models: unknown dialect 'cerebra'"),
        ("seed = 1\nbare = 'ovs'", "line 2: bare: unknown dialect 'ovs'"),
        (
            "fault = ['cut',\n  { kind = 'cut', match = { dialect = 'ovs' } }]",
            "line 2: fault.match.dialect: unknown dialect 'ovs'",
        ),
        (
            "[[fault]]\nkind = 'cut'\n[[fault]]\nkind = 'cut'\n[fault.match]\noperation = 'complete'",
            "line 6: fault.match.operation: unknown operation 'complete'",
        ),
        (
            "\n[[route]]\npath = '/x'\ndialect = 'ovms'\noperation = 'completions'\n"
            "faults = [{ kind = 'cut', match = { dialect = 'x' } }]",
            "line 2: route /x: fault.match.dialect: unknown dialect 'x'",
        ),
        (
            "[[stub]]\nreply = 'a'\n[[stub]]\nname = 'b'\nreply = 'c'\nmatch = { dialect = 'ovs' }",
            "line 6: stub[1].match.dialect: unknown dialect 'ovs'",
        ),
        ("seed = 1\nquota = ['free', 'fre']", "line 2: quota: tier: unknown tier 'fre'. Did you mean 'free'?"),
        (
            "[[route]]\npath = '/x'\ndialect = 'ovms'\noperation = 'completions'\n"
            "[[route]]\npath = '/ns/x'\ndialect = 'ovms'\noperation = 'completions'",
            "line 5: route /ns/x: /ns/<name> at the beginning names a namespace",
        ),
    ],
)
def test_a_name_in_a_file_that_nothing_has_is_told_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        from_toml(text, "mock.toml", dialects=load_dialects())
    assert str(raised.value).startswith(f"mock.toml, {complaint}")


@pytest.mark.parametrize(
    "settings, complaint",
    [
        (Settings(dialect="cerebas"), "dialect: unknown dialect 'cerebas'. Did you mean 'cerebras'?"),
        (Settings(bare="open"), "bare: unknown dialect 'open'. "),
        (Settings(models={"ovmss": ()}), "models: unknown dialect 'ovmss'"),
        (
            Settings(routes=(RouteSettings("/x", "cerebras", "completion"),)),
            "route /x: operation: unknown operation 'completion'. Did you mean 'completions'?",
        ),
        (
            Settings(routes=(RouteSettings("/x", "cerebras", "model"),)),
            "route /x: a path of cerebras's model must contain {id}",
        ),
        (
            Settings(fault=read_faults('{ kind = "cut", match = { dialect = "ovs" } }')),
            "fault.match.dialect: unknown dialect 'ovs'",
        ),
        (
            Settings(fault=read_faults('{ kind = "cut", match = { operation = "chat" } }')),
            "fault.match.operation: unknown operation 'chat'. ",
        ),
    ],
)
def test_a_dialect_or_operation_that_does_not_exist_is_named(settings: Settings, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_all(settings, load_dialects())
    assert complaint in str(raised.value)
