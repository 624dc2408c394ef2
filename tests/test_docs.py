"""The README and the pages agree with the code: examples run, links have targets, and everything is listed."""

import gc
import io
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from inspect import signature
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import pytest
import yaml

import mockserver
from mockserver import MockServer
from mockserver.cli import main
from mockserver.cli.command import load_command, settings_of
from mockserver.core.dialects import Dialect, Model, Operation
from mockserver.core.failures import FailureKind
from mockserver.core.generation import GenerationRequest
from mockserver.core.installed import load_dialects
from mockserver.core.matching.values import MATCHERS
from mockserver.dialects.openai import variant as described
from mockserver.dialects.openai.replies import Flavour, body_reply
from mockserver.dialects.openai.variant import variant
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.parse_faults import SCENARIOS, read_faults
from mockserver.latency.parse_latency import SETTINGS
from mockserver.pytest_plugin import _OPTIONS as PYTEST_OPTIONS
from mockserver.state.context import lengths_of, profile_of
from mockserver.state.settings.checks import check_all
from mockserver.state.settings.config_file import from_toml
from mockserver.state.settings.options import OPTIONS, from_environment, from_names, settle, strange_variables
from mockserver.state.stubs.parse_replies import REPLY_KEYS, read_header_reply
from mockserver.state.stubs.parse_stubs import STUB_KEYS, check_names, read_stubs
from mockserver.state.verify import CHECKS
from mockserver.testing.handle import Handle
from mockserver.testing.verify import Verifier
from tests.clients.environments import javascript
from tests.support.http import exchange
from tests.support.pages import ABOUTS, ADDRESS, DOCS, PAGES, ROOT, TEXTS, Block, anchors, blocks, commands, links, page
from tests.support.suites import run, write_documented_cassette
from tests.tools import docs

pytest_plugins = ("pytester",)

CURLS = {block.page: [each.code for each in commands() if each.page == block.page] for block in commands()}
PYTHON = [block for block in blocks("python") if "def test_" not in block.code]
TESTS = sorted({block.page for block in blocks("python") if "def test_" in block.code})


def _first_words(block: Block) -> str:
    return f"{Path(block.page).stem}: {' '.join(block.code.split()[:4])}"


# --- examples ----------------------------------------------------------------------------------------------------


@pytest.fixture
def own_server() -> Iterator[MockServer]:
    """A server whose settings may be changed."""
    with MockServer() as running:
        yield running


@pytest.mark.parametrize("name", [name for name, codes in CURLS.items() if any(c.startswith("curl") for c in codes)])
def test_every_curl_example_is_answered(name: str, own_server: MockServer) -> None:
    asked = [code for code in CURLS[name] if code.startswith("curl")]
    statuses = {code: _ask(shlex.split(code), own_server) for code in asked}
    assert [code for code, status in statuses.items() if not 200 <= status < 300] == []


def _ask(words: list[str], server: MockServer) -> int:
    [url] = [word for word in words if word.startswith(ADDRESS)]
    told = [(flag, value) for flag, value in pairwise(words) if flag in ("-H", "-d", "-X")]
    headers = dict(value.lower().split(": ", 1) for flag, value in told if flag == "-H")
    body = next((value for flag, value in told if flag == "-d"), None)
    method = next((value for flag, value in told if flag == "-X"), "GET" if body is None else "POST")
    return exchange(server.url, method, url.removeprefix(ADDRESS), body and body.encode(), headers).status


@pytest.mark.parametrize("block", PYTHON, ids=_first_words)
@pytest.mark.filterwarnings("ignore")
def test_every_python_example_runs_and_prints_something(block: Block, server: MockServer) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(block.code.replace(ADDRESS, server.url), block.page, "exec"), {})
    # Examples close no clients: now is when nobody minds.
    gc.collect()
    assert len(printed.getvalue().strip()) > 3


@pytest.mark.parametrize("name", TESTS)
def test_every_example_of_a_test_passes(name: str, pytester: pytest.Pytester) -> None:
    modules = {
        f"test_{number}": block.code
        for number, block in enumerate(blocks("python"))
        if block.page == name and "def test_" in block.code
    }
    write_documented_cassette(pytester.path)
    expected = sum(len(re.findall(r"^def test_", code, re.MULTILINE)) for code in modules.values())
    run(pytester, **modules).assert_outcomes(passed=expected)


@pytest.mark.parametrize("block", blocks("js"), ids=_first_words)
def test_every_javascript_example_runs_and_prints_something(block: Block, server: MockServer) -> None:
    printed = javascript(block.code.replace(ADDRESS, server.url))
    assert len(printed.strip()) > 4


def test_the_example_of_a_test_in_javascript_passes(own_server: MockServer) -> None:
    [code] = [block.code for block in blocks("js") if block.page.endswith("verify.md")]
    assert javascript(code.replace(ADDRESS, own_server.url)).startswith("It rains.\n200 {")


@pytest.mark.parametrize("block", blocks("toml"), ids=_first_words)
def test_every_example_of_a_config_file_is_valid(block: Block) -> None:
    check_all(settle(from_toml(block.code, block.page)), load_dialects())


@pytest.mark.parametrize("block", blocks("toml stubs"), ids=_first_words)
def test_every_example_of_a_stub_file_is_read(block: Block) -> None:
    for stub in read_stubs(tomllib.loads(block.code)["stub"], block.page):
        check_names(stub, load_dialects())


@pytest.mark.parametrize("block", [each for each in blocks("yaml") if "services:" in each.code], ids=_first_words)
def test_every_example_of_a_compose_file_sets_variables_that_there_are(block: Block) -> None:
    services = yaml.safe_load(block.code)["services"].values()
    told = [pair for service in services for pair in service.get("environment", {}).items()]
    ours = {name: value for name, value in told if name.startswith("MOCKSERVER_")}
    assert len(from_environment(ours)) == len(ours) > 0


MANIFESTS = [
    manifest for block in blocks("yaml") if "apiVersion:" in block.code for manifest in yaml.safe_load_all(block.code)
]


def of_kind(kind: str) -> Any:
    """The one manifest of a kind."""
    [found] = [manifest for manifest in MANIFESTS if manifest["kind"] == kind]
    return found


def test_the_deployment_asks_and_tells_what_there_is(own_server: MockServer) -> None:
    pod = of_kind("Deployment")["spec"]["template"]
    [container] = pod["spec"]["containers"]
    probes = [container[name]["httpGet"]["path"] for name in ("startupProbe", "livenessProbe", "readinessProbe")]
    figures = pod["metadata"]["annotations"]["prometheus.io/path"]
    assert [exchange(own_server.url, "GET", path).status for path in (*probes, figures)] == [200] * 4
    told = {each["name"]: each.get("value", "secret") for each in container["env"]}
    assert strange_variables(told) == []
    assert from_environment(told) == {"log_format": "json", "admin_token": "secret"}
    files = of_kind("ConfigMap")["data"]
    mount = container["volumeMounts"][0]
    assert told["MOCKSERVER_CONFIG"] in {f"{mount['mountPath']}/{name}" for name in files}
    for name, text in files.items():
        check_all(settle(from_toml(text, name)), load_dialects())


def test_the_deployment_is_reached_by_its_service_and_keeps_to_the_image() -> None:
    service, deployment = of_kind("Service")["spec"], of_kind("Deployment")["spec"]
    pod = deployment["template"]
    [container], [port] = pod["spec"]["containers"], service["ports"]
    assert service["selector"] == deployment["selector"]["matchLabels"] == pod["metadata"]["labels"]
    assert {"name": port["targetPort"], "containerPort": port["port"]} in container["ports"]
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == str(port["port"])
    assert f"EXPOSE {port['port']}\n" in (ROOT / "Dockerfile").read_text()
    assert container["image"].endswith(f"llm-mockserver:{mockserver.__version__}")
    assert (
        container["securityContext"]["readOnlyRootFilesystem"] is container["securityContext"]["runAsNonRoot"] is True
    )


@pytest.mark.parametrize("block", [each for each in blocks("yaml") if "jobs:" in each.code], ids=_first_words)
def test_every_command_of_a_job_is_one(block: Block) -> None:
    steps = [step for job in yaml.safe_load(block.code)["jobs"].values() for step in job["steps"]]
    ours = [shlex.split(step["run"])[1:] for step in steps if step.get("run", "").startswith("mockserver ")]
    assert [words[0] for words in ours] == ["check", "run"]
    for words in ours:
        before = words[: words.index("--")] if "--" in words else words
        assert load_command(before[0]).parser(before[0]).parse_args(before[1:]).config == Path("deploy/mock.toml")


WISHES: dict[str, Callable[[str], object]] = {
    "X-Mockserver-Fault": read_faults,
    "X-Mockserver-Latency": lambda text: profile_of(text, "fast"),
    "X-Mockserver-Output-Tokens": lengths_of,
    "X-Mockserver-Reply": read_header_reply,
    "X-Mockserver-Seed": int,
}
PLAIN = [Block(block.page, line) for block in blocks("") for line in block.code.splitlines()]


@pytest.mark.parametrize("line", [each for each in PLAIN if each.code.startswith("X-Mockserver-")], ids=_first_words)
def test_every_example_of_a_header_is_a_wish(line: Block) -> None:
    name, _, value = line.code.partition(": ")
    WISHES[name](value)


@pytest.mark.parametrize("line", [each for each in PLAIN if each.code.startswith("--")], ids=_first_words)
def test_every_example_of_an_option_is_read(line: Block) -> None:
    words = shlex.split(line.code)
    known = {option.flag: option.name for option in OPTIONS}
    told = [(known[flag], value) for flag, value in zip(words[::2], words[1::2], strict=True)]
    assert all(from_names({name: value}, line.page) for name, value in told)


@pytest.mark.parametrize("line", [each for each in PLAIN if each.code.startswith("MOCKSERVER_")], ids=_first_words)
def test_every_example_of_a_variable_is_read(line: Block) -> None:
    name, _, value = line.code.partition("=")
    assert from_environment({name: value})


OWN = [block for block in commands() if re.match(r"(\w+=\S+ )*mockserver ", block.code)]


@pytest.mark.parametrize("block", OWN, ids=lambda block: block.code)
def test_every_command_of_the_examples_is_one(block: Block) -> None:
    words = shlex.split(block.code)
    arguments = words[words.index("mockserver") + 1 :]
    command = load_command(arguments[0])
    own = arguments[1 : arguments.index("--")] if "--" in arguments else arguments[1:]
    options = command.parser(arguments[0]).parse_args(own)
    if command.takes_settings:
        options.config = None
        check_all(settings_of(options), load_dialects())


def test_every_other_command_of_the_examples_is_known() -> None:
    known = ("curl ", "mockserver ", "make ", "pip install ", "docker ", "pytest", "python ")
    strange = [block for block in commands() if not re.sub(r"^(\w+=\S+ )+", "", block.code).startswith(known)]
    assert strange == []


@pytest.fixture
def built(tmp_path: Path) -> Callable[..., str]:
    """Runs Python where the dialects of a page are installed, as packages of anybody's would be."""
    text = page("new-dialect")
    files = dict(re.findall(r"^```\w+ ((?:acme|birch)/\S+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    [project] = re.findall(r"^```toml pyproject.toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    table = tomllib.loads(project)
    [(group, points)] = table["project"]["entry-points"].items()
    # What the package would not contain is not there.
    setup = table["tool"]["setuptools"]
    kept = {f"{folder}/{pattern}" for folder, patterns in setup["package-data"].items() for pattern in patterns}
    assert setup["packages"] == [*points]
    assert [name for name in files if not name.endswith(".py") and not any(map(PurePath(name).match, kept))] == []
    information = {
        "acme-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n",
        "acme-1.0.dist-info/entry_points.txt": f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()),
    }
    for name, content in {**files, **information, "acme/__init__.py": "", "birch/__init__.py": ""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-W", "error", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=True, capture_output=True, text=True
        ).stdout

    return run


def test_a_dialect_of_openais_wire_is_one_short_file(built: Callable[..., str]) -> None:
    code = re.findall(r"^```python birch/dialect.py\n(.*?)^```$", page("new-dialect"), re.DOTALL | re.MULTILINE)[0]
    assert len(code.splitlines()) <= 60
    plain, *rest = built("birch/try_it.py").splitlines()
    answer = json.loads(plain)
    assert list(answer) == ["id", "object", "created", "model", "choices", "usage", "tokens_per_second"]
    assert (answer["model"], answer["usage"]["completion_tokens"]) == ("birch-1", 5)
    *events, refusal, limited = [line for line in rest if line]
    chunks = [json.loads(event.removeprefix("data: ")) for event in events[:-1]]
    assert events[-1] == "data: [DONE]"
    said = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
    assert len(said) > 0
    assert [list(chunk) for chunk in (chunks[0], chunks[-1])] == [[*answer][:5], [*answer]]
    words = "Invalid type for 'top_k': expected an integer, but got a string instead."
    assert (refusal[:4], json.loads(refusal[4:])["says"]) == ("422 ", words)
    assert limited.startswith('429 {"problem":"slow_down","says":"Rate limit reached for birch-1')
    assert "/birch/v1/chat/completions " in built("-m", "mockserver", "routes")
    # What is changed of the operations that there are.
    changed = """
import json, birch.dialect, birch.more, urllib.request
birch.dialect.BIRCH = birch.more.BIRCH
from mockserver import MockServer
def kept(path):
    data = json.dumps({"model": "birch-1", "messages": [{"role": "user", "content": "Say hello"}]}).encode()
    request = urllib.request.Request(server.url + "/birch" + path, data, {"authorization": "Bearer k"})
    with urllib.request.urlopen(request) as answer:
        return answer.headers["cache-control"]
with MockServer(dialect="birch") as server:
    print(json.dumps([*map(kept, ("/v1/chat/completions", "/v2/chat"))]))
"""
    assert json.loads(built("-c", changed)) == ["no-store"] * 2


def test_what_a_dialect_is_told_to_set_can_be_set() -> None:
    settable = {
        *Dialect._fields,
        *Operation._fields,
        *Flavour._fields,
        *GenerationRequest._fields,
        *signature(variant).parameters,
    }
    text = re.sub(r"```.*?```", "", page("new-dialect"), flags=re.DOTALL)
    told = dict(re.findall(r"`((\w+)=[^`]+)`", text))
    assert {*told.values()} <= settable
    # Each has an example that works, and so have the kinds of failures.
    names = {name: getattr(described, name) for name in described.__all__}
    names |= {"re": re, "account": lambda call, scope: body_reply({"credits": 12})}
    for example, name in told.items():
        if "..." not in example and name in {*signature(variant).parameters, *Dialect._fields, *Flavour._fields}:
            usual = {"title": "Birch", "models": (Model("birch-embed"),)}
            variant("birch", **{**usual, **eval(f"dict({example})", names)})
    shown = {*told.values(), *re.findall(r"(\w+)=", page("new-dialect")), *re.findall(r"`(\w+)[`(]", text)}
    parts = {*signature(variant).parameters, *Dialect._fields, *Flavour._fields}
    assert parts - shown == {"members"}
    assert {*FailureKind} - {*re.findall(r"`(\w+)`", text)} == {FailureKind.CHAT_TEMPLATE}
    # What the values have that its functions are given.
    values = re.findall(r"^\| `([A-Z]\w+)`[^|]*\| (.+) \|$", text, re.MULTILINE)
    assert len(values) > 10
    for owner, members in values:
        # Those in parentheses are members of the member.
        found = re.findall(r"`(\w+)`", re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", members))
        kind = names[owner]
        known = {*kind._fields, *vars(kind), *names}
        assert [each for each in found if each not in known] == [], owner
    assert {*described.__all__} - {*re.findall(r"\w+", page("new-dialect"))} == set()


def test_a_dialect_with_an_api_of_its_own_works(built: Callable[..., str]) -> None:
    whole, *rest = built("acme/try_it.py").splitlines()
    assert re.fullmatch(r'{"output":".+","ended":"length","tokens":{"in":4,"out":5}}', whole)
    lines = [line for line in rest if line]
    parts = lines[:6]
    assert [line.startswith('data: {"part":"') for line in parts] == [True] * 5 + [False]
    assert lines[6] == """400 {"problem":"invalid_request","says":"input: 7 is not of type 'string'"}"""
    assert lines[7] == '429 {"problem":"rate_limit","says":"rate limit"}'
    assert lines[8:-1] == [parts[0], *parts[2:]]
    assert lines[-1] == "[200, 200, 400, 429, 200]"
    finishing = re.compile(built("-c", "from acme.dialect import ACME; print(ACME.finishes.pattern.decode())").strip())
    assert [bool(finishing.search(line)) for line in parts] == [False] * 5 + [True]
    assert "/acme/v1/complete " in built("-m", "mockserver", "routes")
    assert "acme: 60 tokens/s after some 80 ms" in built("-m", "mockserver", "presets")


# --- links -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_every_link_leads_somewhere(name: str) -> None:
    here, lost = (PAGES | ABOUTS)[name], []
    for link in links(TEXTS[name]):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        file = (here.parent / target).resolve() if target else here
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            lost.append(link)
    assert lost == []


def test_every_page_is_in_the_index_and_the_index_in_the_readme() -> None:
    named = {link for link in links(page("index")) if link.endswith(".md")}
    assert named == {path.name for path in DOCS.glob("*.md")} - {"index.md"}
    assert "mockserver/docs/index.md" in links(TEXTS["README.md"])


def test_a_page_of_the_package_leads_to_nothing_outside_of_it() -> None:
    inside = [name for name in TEXTS if name.startswith("mockserver/")]
    outside = [
        (name, link)
        for name in inside
        for link in links(TEXTS[name])
        if "://" not in link
        and (ROOT / name).parent.joinpath(link.partition("#")[0]).resolve().parts[: len(ROOT.parts)]
        and not (ROOT / name).parent.joinpath(link.partition("#")[0]).resolve().is_relative_to(ROOT / "mockserver")
    ]
    assert outside == []


def test_every_file_that_the_architecture_names_is_there() -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)`", page("architecture"))
    assert len(named) > 10
    missing = [name for name in named if not (ROOT / "mockserver" / name).is_file() and not (ROOT / name).is_file()]
    assert missing == []


# --- everything has its line -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda path: path.stem)
def test_what_is_made_from_the_code_is_up_to_date(path: Path) -> None:
    """If not: python -m tests.tools.docs."""
    text = path.read_text(encoding="utf-8")
    assert docs.made(text) == text


def test_every_part_that_can_be_made_stands_on_a_page() -> None:
    placed = [name for text in TEXTS.values() for _, name, _ in docs.PART.findall(text)]
    assert sorted(placed) == sorted(docs.PARTS)


def test_every_option_fault_and_scenario_has_its_line() -> None:
    config, faults = page("config"), page("faults")
    assert [option.flag for option in OPTIONS if f"\n| `{option.flag}` | `{option.variable}` |" not in config] == []
    assert [name for name, kind in FAULTS.items() if f"\n| `{name}` | {kind.summary} |" not in faults] == []
    assert [name for name, it in SCENARIOS.items() if f"\n| `{name}` | {it.summary} |" not in faults] == []


def test_every_setting_of_latency_has_its_line() -> None:
    [table] = re.findall(r"^\| setting \| meaning \|\n(.*?)\n\n", page("latency"), re.DOTALL | re.MULTILINE)
    assert [name for name in SETTINGS if f"`{name}`" not in table] == []


def test_every_key_of_a_stub_and_every_matcher_has_its_line() -> None:
    stubs = page("stubs")
    [replies] = re.findall(r"^\| a reply \| what it is \|\n(.*?)\n\n", stubs, re.DOTALL | re.MULTILINE)
    assert [key for key in REPLY_KEYS if f"`{key}`" not in replies] == []
    assert [key for key in (*STUB_KEYS, *MATCHERS) if not re.search(rf"`{key}`|^{key} = ", stubs, re.MULTILINE)] == []


def test_every_check_has_its_line() -> None:
    assert [name for name in CHECKS if f'{{"{name}": ' not in page("verify")] == []


def test_every_word_of_the_fixture_has_its_line() -> None:
    named = page("tests") + page("verify")
    words = [name for name in (*vars(Handle), *vars(Verifier)) if not name.startswith("_")]
    assert [word for word in words if not re.search(rf"[`.]{word}\b", named)] == []
    assert [name for name in mockserver.__all__ if not re.search(rf"\b{name}\b", named) and name[0] != "_"] == []
    assert [name for name in (*PYTEST_OPTIONS, "strict") if f"`--mockserver-{name}`" not in named] == []


def test_every_dialect_has_its_line_in_the_readme() -> None:
    for dialect in load_dialects().values():
        assert f"\n| [`{dialect.name}`](mockserver/dialects/{dialect.name}/about.md) | " in TEXTS["README.md"]


def test_every_command_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    found = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert found
    told: Any = "\n".join(TEXTS.values())
    assert [command for command in found if f"mockserver {command}" not in told] == []
    assert [command for command in found if f"\nmockserver {command}" not in page("config")] == []
