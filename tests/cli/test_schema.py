"""The command `mockserver schema`: its schemas accept and refuse the same config and stub files as the readers."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from mockserver.cli import main
from mockserver.cli.schema import FILES
from mockserver.core.installed import load_dialects
from mockserver.core.matching.requests import COMPOUND, FIELDS
from mockserver.core.matching.values import MATCHERS
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.parse_faults import SCENARIOS
from mockserver.faults.rules import PLACE_KEYS
from mockserver.latency.parse_latency import SETTINGS, NotationError, read_profile
from mockserver.latency.profiles import presets
from mockserver.server.admin import SCHEMAS
from mockserver.server.files import load_stubs
from mockserver.state.settings import ConfigError
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import OPTIONS
from mockserver.state.stubs.parse_replies import REPLY_KEYS
from mockserver.state.stubs.parse_stubs import STUB_KEYS, read_stubs
from mockserver.state.stubs.values import StubError
from mockserver.state.verify.selection import ANSWER_FIELDS

DIALECTS = load_dialects()
CONFIG, STUBS = (json.loads(json.dumps(FILES[name](load_dialects()))) for name in ("config", "stubs"))
# Tables whose keys are anybody's.
FREE = ("headers", "query", "body", "arguments", "json", "usage", "models")


def wrong(schema: Mapping[str, Any], document: object) -> list[str]:
    """What a schema complains of."""
    return [f"{error.json_path}: {error.message}" for error in Draft7Validator(schema).iter_errors(document)]


def toml_of(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {toml_of(item)}' for key, item in value.items())} }}"
    return f"[{', '.join(map(toml_of, value))}]" if isinstance(value, list) else json.dumps(value)


def refused(document: Mapping[str, Any]) -> bool:
    """Whether a config file with these settings is refused by the reader."""
    text = "\n".join(f"{json.dumps(key)} = {toml_of(value)}" for key, value in document.items())
    try:
        from_toml(text, "a.toml", lambda name: b"{}", dialects=DIALECTS)
    except ConfigError:
        return True
    return False


def whole(kind: FaultKind, name: str) -> dict[str, Any]:
    """A fault of a kind with all that can be said of it, but for places, of which there is one."""
    settings = {key: setting.default for key, setting in kind.settings.items() if setting.default is not None}
    window = {"from": 1, "for": 2.5}
    chance = {"times": 1, "every": 2, "skip": 0, "share": [0, 0.5], "match": {"model": "m", "header": "x-a: b"}}
    return {"kind": name, **settings, **window, **({} if kind.listens else chance)}


def takes(name: str, value: object) -> bool:
    """Whether a latency may have a setting of this value."""
    try:
        read_profile(f"{name}={value}")
    except NotationError:
        return False
    return True


MATCH = {
    **{name: {str: "x", bool: True, int: 3}[field.type] for name, field in FIELDS.items()},
    "dialect": "yandex",
    "operation": {"one_of": ["completions", "chat_completions"]},
    "prompt": {"contains": "a", "regex": "b", "not": {"equals": "c"}, "exists": True},
    "turn": {"at_least": 1, "at_most": 5, "not": 3},
    "stream": {"not": True},
    "headers": {"x-tenant": {"exists": False}, "x-a": "b"},
    "query": {"limit": "2", "after": {"exists": False}},
    "body": {"$.temperature": {"at_least": 1}, "$.messages[0].content": "x", "$.a": {"equals": ["b"]}},
    "any": [{"model": "a"}, {"model": "b", "not": {"stream": True}}],
    "all": {"model": "a"},
    "not": [{"key": "k"}],
}
REPLIES: tuple[Any, ...] = (
    "It rains.",
    {},
    {"text": "It rains.", "finish_reason": "length", "usage": {"prompt_tokens": 7}, "template": True},
    {"chunks": ["It ", {"text": "rains.", "delay": "200ms"}, {"text": "!", "delay": 0.5}], "latency": "off"},
    {"json": {"a": [1, 2]}, "headers": {"x-a": "b"}, "seed": 7},
    {"refusal": "No."},
    {"tool_calls": [{"name": "f", "arguments": {"city": "Oslo"}}, {"name": "g", "arguments": "{"}, {"name": "h"}]},
    {"body": {"any": "JSON"}, "status": 503},
    {"body_base64": "AAEC", "content_type": "image/png"},
    {"file": "a.json", "faults": "reset"},
    {"body": "data: 1\n\ndata: 2\n\n", "event_times": ["180ms", 0.25]},
    {"status": 204},
    {"error": "not_found"},
    {"error": {"error": "rate_limit", "retry_after": 0.5, "message": "slow down"}},
    {"text": "x", "faults": [{"kind": "cut", "after_event": 3}, {"kind": "stall"}]},
    {"text": "x", "latency": {"ttft": "2s", "rate": "50/s"}},
    {"text": "x", "faults": {"kind": "drip", "bytes_per_second": 10}},
)
# The settings of a latency that may stand alone: those of a duration as texts, all others as numbers too.
LATENCIES = [
    (name, value)
    for name in SETTINGS
    if not name.startswith("stall")
    for value in (1, "1", "1ms")
    if takes(name, value)
]
CONFIGS: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "its schema": {"$schema": "./mock.schema.json", "seed": 7},
    "words": {
        "host": "0.0.0.0",
        "port": 0,
        "edition": "observed",
        "ids": "unique",
        "writes": "single",
        "cors": "vendor",
    },
    "numbers": {"speed": 0.5, "created": 17.5, "max_body": 9, "journal": 0, "workers": 4, "strict": True, "port": 0},
    "texts": {"auth": ["a", "b"], "stubs": "stubs", "unmatched": "refuse", "tls_cert": "a", "log_level": "debug"},
    "names": {"dialect": "ovms", "bare": "friendli", "models": {"cerebras": ["a"]}, "auth": "off"},
    "latency": {"latency": {"ttft": "lognormal(180ms, 0.35)", "rate": 50, "jitter": "0.2"}},
    "quota": {"quota": {"tier": "free", "tokens": ["30k/min", "1M/day"], "concurrent": 2, "dialect": "cerebras"}},
    "quotas": {"quota": ["vendor", {"requests": "2.5k/hour", "key": "k", "model": "m"}]},
    "route": {
        "route": [
            {
                "path": "/a",
                "dialect": "friendli",
                "operation": "completions",
                "edition": "observed",
                "latency": "slow, jitter=0.3",
                "seed": 1,
                "faults": [{"kind": "reset", "share": 0.1}],
            }
        ]
    },
    "faults as texts": {"fault": "{ kind = 'cut', after_event = 2 }"},
    "one fault": {"fault": {"kind": "cut"}},
    "match": {"stub": [{"match": MATCH, "reply": "x"}]},
    "script": {"stub": [{"script": ["a", {"match": {"turn": 2}, "reply": {"text": "b"}}, {"error": "timeout"}]}]},
    "stub": {"stub": [{"name": "n", "priority": -1, "times": 2, "replies": list(REPLIES), "headers": {"a": "b"}}]},
    "stub of faults": {"stub": [{"faults": [{"kind": "reset"}], "latency": "realistic", "seed": 3}]},
    "stub of an error": {"stub": [{"error": {"error": "overloaded"}, "match": {"attempt": {"at_most": 2}}}]},
    **{f"reply {number}": {"stub": [{"reply": reply}]} for number, reply in enumerate(REPLIES)},
    **{f"latency {name} as {value}": {"latency": {name: value}} for name, value in LATENCIES},
    **{f"preset {name}": {"latency": name} for name in ("off", "realistic", *presets())},
    **{f"fault {name}": {"fault": [whole(kind, name)]} for name, kind in FAULTS.items()},
    **{
        f"fault {name} {place}": {"fault": [{"kind": name, place: 1}]}
        for name, kind in FAULTS.items()
        for place in kind.places
    },
    **{f"scenario {name}": {"fault": [{"scenario": name, "from": 1, "match": {"model": "m"}}]} for name in SCENARIOS},
}


@pytest.mark.parametrize("schema", [CONFIG, STUBS], ids=list(FILES))
def test_a_schema_is_one(schema: Mapping[str, Any]) -> None:
    Draft7Validator.check_schema(schema)


def test_what_the_reader_takes_the_schema_takes() -> None:
    assert [name for name, told in CONFIGS.items() if refused(told) or wrong(CONFIG, told)] == []


def misspelt(value: Any, place: str = "$") -> Iterator[tuple[str, Any]]:
    """A document once for each of its keys, where that is misspelt; with the place of it."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from ((where, [*value[:number], bad, *value[number + 1 :]]) for where, bad in misspelt(item, place))
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{place}.{key}", {(f"{each}q" if each == key else each): old for each, old in value.items()}
            if key not in FREE:
                inner = misspelt(item, f"{place}.{key}")
                yield from ((where, {**value, key: bad}) for where, bad in inner)


def test_a_misspelt_key_is_refused_by_reader_and_schema() -> None:
    schema = Draft7Validator(CONFIG)
    cases = {name: list(misspelt(told)) for name, told in CONFIGS.items() if told}
    assert all(cases.values())
    misread = [
        f"{name}: {place}"
        for name, documents in cases.items()
        for place, document in documents
        if not refused(document) or schema.is_valid(document)
    ]
    assert misread == []


@pytest.mark.parametrize(
    "document, complaint",
    [
        ({"port": 70_000}, "$.port: 70000 is greater than the maximum of 65535"),
        ({"edition": "today"}, "$.edition: 'today' is not one of ['documented', 'observed']"),
        ({"dialect": "nobody"}, "$.dialect: 'nobody' is not one of ["),
        ({"strict": "perhaps"}, "$.strict: 'perhaps' is not of type 'boolean'"),
        ({"latency": {"ttft": 2}}, "$.latency.ttft: 2 is not of type 'string'"),
        ({"quota": {"requests": "30/fortnight"}}, "$.quota.requests: '30/fortnight' does not match"),
        ({"fault": [{"kind": "rst"}]}, "$.fault[0].kind: 'rst' is not one of ["),
        ({"fault": [{"kind": "cut", "retry_after": 1}]}, "$.fault[0]: 'retry_after' is not one of ['kind', "),
        ({"fault": [{"kind": "error", "error": "rate_limited"}]}, "$.fault[0].error: 'rate_limited' is not one of ["),
        ({"fault": [{"scenario": "outage", "times": 2}]}, "$.fault[0]: 'times' is not one of ['scenario', "),
        ({"route": [{"path": "a", "dialect": "ovms", "operation": "models"}]}, "$.route[0].path: 'a' does not match"),
        ({"route": [{"path": "/a", "dialect": "ovms"}]}, "$.route[0]: 'operation' is a required property"),
        ({"stub": [{"reply": {"faults": [{"kind": "refuse"}]}}]}, "$.stub[0].reply.faults[0].kind: 'refuse' is not"),
        ({"stub": [{"reply": {"faults": [{"kind": "cut", "times": 1}]}}]}, "faults[0]: Additional properties"),
        ({"stub": [{"reply": {"finish_reason": "done"}}]}, "$.stub[0].reply.finish_reason: 'done' is not one of ["),
        ({"stub": [{"reply": "x", "match": {"turn": "2"}}]}, "$.stub[0].match.turn: '2' is not of type 'integer'"),
        ({"stub": [{"reply": "x", "match": {"model": {}}}]}, "$.stub[0].match.model: {} "),
        ({"stub": [{"reply": {"status": 99}}]}, "$.stub[0].reply.status: 99 is less than the minimum of 200"),
        ({"stub": {"reply": "x"}}, "$.stub: {'reply': 'x'} is not of type 'array'"),
    ],
)  # fmt: skip
def test_what_the_reader_refuses_the_schema_refuses_by_its_place(document: dict[str, Any], complaint: str) -> None:
    assert refused(document)
    assert any(complaint in each for each in wrong(CONFIG, document)), wrong(CONFIG, document)


def test_every_key_that_there_is_has_its_place() -> None:
    defined = CONFIG["definitions"]
    keys = {option.name for option in OPTIONS} | {"$schema", "models", "route", "stub"}
    assert CONFIG["properties"].keys() == keys
    assert defined["Stub"]["properties"].keys() == set(STUB_KEYS)
    assert defined["Reply"]["properties"].keys() == set(REPLY_KEYS)
    assert defined["Match"]["properties"].keys() == {*FIELDS, *COMPOUND}
    assert defined["AnyMatcher"]["properties"].keys() == set(MATCHERS)
    assert defined["Fault"]["properties"]["kind"]["enum"] == list(FAULTS)
    assert set(PLACE_KEYS) < defined["Fault"]["properties"].keys()


def test_editors_are_told_what_each_key_of_a_config_file_means() -> None:
    assert [key for key, schema in CONFIG["properties"].items() if not schema.get("description")] == []


@pytest.mark.parametrize(
    "text",
    [
        '{"$schema": "../stubs.schema.json", "stubs": [{"reply": "x"}]}',
        '{"$schema": "../stubs.schema.json", "stub": [{"reply": "x"}]}',
        '{"$schema": "../stubs.schema.json", "match": {"model": "m"}, "reply": {"text": "x"}}',
        '[{"reply": "x"}]',
    ],
)
def test_a_stub_file_in_json_may_name_its_schema(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert len(load_stubs(tmp_path, DIALECTS)) == 1
    assert wrong(STUBS, json.loads(text)) == []


def test_a_stub_file_in_toml_may_name_its_schema(tmp_path: Path) -> None:
    text = '#:schema ../stubs.schema.json\n"$schema" = "../stubs.schema.json"\n[[stub]]\nreply = "x"\n'
    (tmp_path / "a.toml").write_text(text)
    assert len(load_stubs(tmp_path, DIALECTS)) == 1
    assert wrong(STUBS, tomllib.loads(text)) == []


@pytest.mark.parametrize(
    "document",
    [{"stubs": [], "reply": "x"}, {"stub": [], "stubs": []}, {"reply": "x", "mach": {}}, [{"replly": "x"}], 7],
)
def test_a_stub_file_is_one_list_or_one_stub(tmp_path: Path, document: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(ConfigError):
        load_stubs(tmp_path, DIALECTS)
    assert wrong(STUBS, document)


STUB_TABLES = [stub for told in CONFIGS.values() for stub in told.get("stub", ())]


def told_by_the_api(table: object) -> list[str]:
    """What the admin API's own document complains of in a stub."""
    components = {"components": {"schemas": json.loads(json.dumps(SCHEMAS))}}
    whole_document = {**components, "$ref": "#/components/schemas/Stub"}
    return [error.message for error in Draft202012Validator(whole_document).iter_errors(table)]


@pytest.mark.parametrize("table", STUB_TABLES, ids=lambda table: ",".join(table))
def test_the_admin_api_says_the_same_of_a_stub(table: dict[str, Any]) -> None:
    assert told_by_the_api(table) == []
    for place, document in misspelt(table):
        with pytest.raises(StubError):
            read_stubs([document], "stub", lambda name: b"{}")
        assert told_by_the_api(document), place


def test_the_admin_api_says_of_a_check_what_its_match_may_ask_of_answers() -> None:
    assert SCHEMAS["CheckMatch"]["properties"].keys() == {*FIELDS, *COMPOUND, *ANSWER_FIELDS}


@pytest.mark.parametrize("name", FILES)
def test_the_command_prints_a_schema(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", name]) == 0
    assert json.loads(capsys.readouterr().out) == {"config": CONFIG, "stubs": STUBS}[name]


def test_the_command_writes_a_schema_and_says_how_to_name_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", "stubs", "--out", str(tmp_path / "s.json")]) == 0
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8")) == STUBS
    assert capsys.readouterr().out == (
        f"Written: {tmp_path / 's.json'}. Refer to it in files beside it:\n"
        "in TOML by the first line #:schema ./s.json\n"
        'in JSON by the key "$schema": "./s.json"\n'
    )
    assert main(["schema", "stubs", "--out", str(tmp_path)]) == 2
    assert f"{tmp_path}: Is a directory" in capsys.readouterr().err


def test_the_command_knows_which_files_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "stub"]) == 2
    assert (
        capsys.readouterr().err
        == "mockserver: schema: unknown kind of file 'stub'. Did you mean 'stubs'? Known: config, stubs\n"
    )


def test_check_takes_a_folder_of_stub_files_and_a_file_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text('{"stubs": [{"reply": {"file": "_b/c.txt"}}, {"name": "x", "reply": "y"}]}')
    (tmp_path / "d.toml").write_text('[[stub]]\nreply = "z"\n')
    (tmp_path / "_b").mkdir()
    (tmp_path / "_b" / "c.txt").write_text("body")
    assert main(["check", str(tmp_path)]) == 0
    assert main(["check", str(tmp_path / "a.json")]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: valid, with 3 stubs\n{tmp_path / 'a.json'}: valid, with 2 stubs\n"


@pytest.mark.parametrize(
    "name, text, complaint",
    [
        ("a.json", '{"match": {"dialect": "nobody"}, "reply": "x"}', "a.json: stub[0].match.dialect: "),
        ("a.toml", '[[stub]]\nreply = "x"\n\n[[stub]]\nreplly = "x"\n', "a.toml, line 5: "),
        ("a.json", '[{"name": "n", "reply": "x"}, {"name": "n", "reply": "x"}]', "two stubs are named 'n'"),
        ("a.json", "{", "a.json: Expecting property name"),
    ],
)
def test_check_says_what_is_wrong_in_a_folder_of_stub_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, complaint: str
) -> None:
    (tmp_path / name).write_text(text)
    assert main(["check", str(tmp_path)]) == 2
    assert complaint in capsys.readouterr().err


def test_check_says_that_a_file_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none.json")]) == 2
    assert "none.json does not exist" in capsys.readouterr().err
