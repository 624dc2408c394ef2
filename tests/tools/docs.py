"""Writes the parts of `mockserver/docs/*.md` that are generated from the code: tables of options, faults, and so on.

    python -m tests.tools.docs

A part is between `<!-- made by tests/tools/docs.py: NAME -->` and `<!-- end -->`; NAME is a key of `PARTS`. Everything
else in the pages is written by hand. A test fails if a part is not up to date.
"""

import json
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from mockserver import MockServer
from mockserver.core.dialects import EDITIONS, Clients, Dialect
from mockserver.core.failures import FailureKind
from mockserver.core.installed import load_dialects
from mockserver.core.matching.requests import FIELDS
from mockserver.core.quotas import Limit
from mockserver.dialects.documents import DEGREES, conformance_document
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.parse_faults import SCENARIOS, Act
from mockserver.faults.rules import PLACE_KEYS, FaultSetting
from mockserver.latency.profiles import presets as known_presets
from mockserver.server.admin import admin_document
from mockserver.state.settings import Settings
from mockserver.state.settings.options import LIVE, OPTIONS, OWN
from tests.tools.conformance import RESULTS

PAGES = Path(__file__).parents[2] / "mockserver" / "docs"
PART = re.compile(r"(<!-- made by tests/tools/docs\.py: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Row = Iterable[object]


def main() -> None:
    """Rewrite every page that is not up to date."""
    for page in sorted(PAGES.glob("*.md")):
        before = page.read_text(encoding="utf-8")
        after = made(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.name}: written")


def made(page: str) -> str:
    """The page with its parts generated from the current code."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", page)


def table(heads: Iterable[str], rows: Iterable[Row]) -> str:
    """A table in Markdown."""
    lines = [list(heads)]
    lines.append(["---"] * len(lines[0]))
    lines += [[_cell(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("|  |", "| |")


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def code(value: object) -> str:
    """A value as inline code; empty for None and for an empty text."""
    return f"`{value}`" if value not in (None, "") else ""


def codes(values: Iterable[object]) -> str:
    """Values as inline code, separated by commas."""
    return ", ".join(map(code, values))


# --- settings ----------------------------------------------------------------------------------------------------


def options() -> str:
    """Every option with its environment variable, its default, and where it may be changed."""
    defaults = Settings()
    rows = (
        (
            code(option.flag),
            code(option.variable),
            code(_default(getattr(defaults, option.name))),
            option.help,
            ", ".join(_changes(option.name)),
        )
        for option in OPTIONS
    )
    return table(("option", "variable", "default", "meaning", "may change"), rows)


def _default(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value in (None, ()) else value


def _changes(name: str) -> Iterator[str]:
    if name in LIVE:
        yield "at run time"
    if name in OWN:
        yield "per namespace"


# --- dialects ----------------------------------------------------------------------------------------------------


def dialects() -> str:
    """Every dialect with a link to its page and its endpoints, each with its first path; the page lists the others."""
    rows = (
        (
            f"[`{dialect.name}`](../dialects/{dialect.name}/about.md)",
            dialect.title,
            codes(f"{it.method} {it.paths[0]}" for it in dialect.operations),
        )
        for dialect in load_dialects().values()
    )
    return table(("dialect", "vendor", "endpoints, under the dialect's name or at the vendor's host"), rows)


def clients() -> str:
    """The base URLs, environment variables and hosts by which clients of each dialect are redirected."""
    rows = (
        (
            code(dialect.name),
            code(f"/{dialect.name}{dialect.clients.native}"),
            code(f"/{dialect.name}{dialect.clients.openai}"),
            codes(_variables(dialect.clients)),
            codes(dialect.hosts),
        )
        for dialect in load_dialects().values()
    )
    heads = ("dialect", "base URL for the vendor's client", "for the openai client", "variables", "hosts")
    return table(heads, rows)


def _variables(clients: Clients) -> tuple[str, ...]:
    return (*clients.urls, *clients.bases, *clients.roots, *clients.keys, *clients.more)


# What a script of `tests/clients/frameworks.py` has seen, as people say it; the rest are vendors.
_SEEN = {
    "plain": "chats", "streamed": "streams", "tool": "tools", "agent": "an agent", "structured": "structured output",
    "responses": "responses", "embeddings": "embeddings", "azure": "Azure", "anthropic": "Anthropic",
    "cerebras": "Cerebras", "friendli": "FriendliAI", "ovms": "OpenVINO Model Server",
}  # fmt: skip


def frameworks() -> str:
    """The frameworks that have passed `make frameworks`, with their versions, what was tried, and when."""
    passed = json.loads((PAGES.parents[1] / "tests" / "clients" / "frameworks.json").read_text(encoding="utf-8"))
    rows = (
        (
            row["title"],
            codes(f"{package} {version}" for package, version in row["versions"].items()),
            ", ".join(dict.fromkeys(_SEEN[word] for key in row["seen"] for word in key.split())),
            "in the code" if row["in_code"] else "the environment",
            row["date"],
        )
        for row in passed.values()
    )
    return table(("framework", "packages", "tried", "takes its URL from", "on"), rows)


def models() -> str:
    """The models that each dialect lists; requests for any other model are answered too."""
    rows = (
        (code(dialect.name), code(model.id), f"{model.context:,}", "" if model.max_output is None else model.max_output)
        for dialect in load_dialects().values()
        for model in dialect.models
    )
    return table(("dialect", "model", "context", "longest answer"), rows)


def conformance() -> str:
    """How well what each dialect claims is known; then, for each, its sources and what each of them says."""
    found = [(dialect, claimed) for dialect in load_dialects().values() if (claimed := conformance_document(dialect))]
    heads = ("dialect", *DEGREES)
    total = table(heads, ((code(it.name), *claimed["known"].values()) for it, claimed in found))
    return "\n\n".join([total, *(_claimed(dialect, claimed) for dialect, claimed in found)])


def suites() -> str:
    """What the last run of each suite of others gave."""
    told = json.loads(RESULTS.read_text(encoding="utf-8"))
    rows = (
        (it["title"], code(it["dialect"]), it["passed"], it["failed"] or "", " ".join(it["reasons"]), it["date"])
        for it in told.values()
    )
    return table(("suite", "dialect", "pass", "fail", "why", "date"), rows)


def _claimed(dialect: Dialect, claimed: Mapping[str, Any]) -> str:
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for claim in claimed["claims"]:
        edition = "" if claim["editions"] == EDITIONS else claim["editions"][0]
        groups.setdefault((claim["subject"], claim["source"], claim["test"], edition), []).append(claim["name"])
    rows = (
        (subject, _names(subject, names), edition, code(source), code(test.rpartition("::")[2]))
        for (subject, source, test, edition), names in groups.items()
    )
    guesses = len(claimed["deviations"]["guesses"])
    sources = ((code(name), *it.values()) for name, it in claimed["sources"].items() if it["date"])
    return "\n\n".join(
        (
            f"## {dialect.title}",
            f"Where it deviates, and its {guesses} guesses: [its page](../dialects/{dialect.name}/about.md).",
            table(("source", "what it is", "known from", "date"), sources),
            table(("claim", "of", "edition", "source", "test"), rows),
        )
    )


def _names(subject: str, names: Sequence[str]) -> str:
    """The names of claims; fields of one schema in one phrase."""
    if subject == "other":
        return " ".join(names)
    if subject != "field":
        return codes(names)
    schemas: dict[str, list[str]] = {}
    for name in names:
        schema, _, field = name.partition(".")
        schemas.setdefault(schema, []).append(field)
    return ", ".join(
        codes(f"{schema}.{field}" for field in fields) if len(fields) < 4 else f"{code(schema)} ({len(fields)} fields)"
        for schema, fields in schemas.items()
    )


# --- faults ------------------------------------------------------------------------------------------------------


def faults() -> str:
    """The catalogue of faults."""
    rows = (
        (code(name), kind.summary, _applies_to(kind), "<br>".join(_key(key, it) for key, it in kind.settings.items()))
        for name, kind in FAULTS.items()
    )
    return table(("kind", "what happens", "for", "its own keys, with their defaults"), rows)


def _applies_to(kind: FaultKind) -> str:
    if kind.listens:
        return "the listener"
    whom = "answers that call a tool" if kind.calls else "what a model says" if kind.says else "any answer"
    whom = "streams" if kind.streams else whom
    if kind.removes:
        whom = "streams that have it"
    if kind.places == tuple(PLACE_KEYS):
        return f"{whom}, placed"
    return f"{whom}, {codes(kind.places)}" if kind.places else whom


def _key(name: str, setting: FaultSetting) -> str:
    default = code(json.dumps(setting.default)) if setting.default not in (None, "") else "none"
    words = f" ({codes(setting.choices)})" if 0 < len(setting.choices) < 5 else ""
    return f"`{name}` ({default}): {setting.summary}{words}"


def scenarios() -> str:
    """The scenarios with their acts."""
    rows = (
        (
            code(name),
            it.summary,
            "its counts" if it.seconds is None else f"{it.seconds:g} s",
            "<br>".join(map(_act, it.acts)),
        )
        for name, it in SCENARIOS.items()
    )
    return table(("scenario", "what happens", "ends after", "acts (`from` and `for` are shares of the duration)"), rows)


def _act(act: Act) -> str:
    return code("{ " + ", ".join(f"{key} = {json.dumps(value)}" for key, value in act.items()) + " }")


def failures() -> str:
    """The status of each vendor's answer to each failure, in both editions."""
    known = list(load_dialects().values())
    rows = ((code(kind), *(_statuses(dialect, kind) for dialect in known)) for kind in FailureKind)
    return table(("failure", *(code(dialect.name) for dialect in known)), rows)


def _statuses(dialect: Dialect, kind: FailureKind) -> str:
    documented, observed = (dialect.error(edition, kind).status for edition in ("documented", "observed"))
    return str(documented) if documented == observed else f"{documented}, observed {observed}"


# --- latency, stubs, quotas --------------------------------------------------------------------------------------


def presets() -> str:
    """The latency presets."""
    known = load_dialects().values()
    used = {name: [it.name for it in known if it.realistic == name] for name in known_presets()}
    for dialect in known:
        for model in dialect.models:
            named = _realistic(dialect, model.id)
            used[named] += [model.id] if named != dialect.realistic else []
    rows = ((code(name), preset.summary, codes(used[name])) for name, preset in known_presets().items())
    return table(("preset", "how it behaves", "`realistic` for the dialect, or the models"), rows)


def _realistic(dialect: Dialect, model: str) -> str:
    return dialect.realistic if dialect.preset_of is None else dialect.preset_of(model)


def fields() -> str:
    """The fields of a match."""
    rows = [(code(name), field.summary) for name, field in FIELDS.items()]
    rows.append(("`headers`", 'a table of headers: `{ x-tenant = "a" }`'))
    rows.append(("`query`", 'a table of parameters of the query: `{ limit = "20" }`'))
    rows.append(
        (
            "`body`",
            'a table of places in the body: `{ "$.messages[0].content" = { contains = "x" } }`; `[*]` is any item',
        )
    )
    return table(("field", "meaning"), rows)


def tiers() -> str:
    """The vendors' tiers of quotas."""
    rows = (
        (code(dialect.name), code(name), ", ".join(map(_limit, tier.limits)), tier.concurrent or "")
        for dialect in load_dialects().values()
        if dialect.quotas is not None
        for name, tier in dialect.quotas.tiers.items()
    )
    return table(("dialect", "tier", "limits", "at once"), rows)


def _limit(limit: Limit) -> str:
    return f"{limit.amount:,} {limit.measure} per {limit.period}"


# --- the admin API -----------------------------------------------------------------------------------------------


def admin() -> str:
    """Every operation of the admin API, by subject."""
    document = _document()
    subjects: dict[str, list[Row]] = {}
    for path, operations in document["paths"].items():
        short = path.removeprefix("/_mockserver")
        if not short.startswith("/ns/{namespace}"):
            for method, operation in operations.items():
                many = method in document["paths"].get(f"/_mockserver/ns/{{namespace}}{short}", {})
                subjects.setdefault(operation["tags"][0], []).append(_operation(method, path, operation, many=many))
    heads = ("operation", "per namespace", "what it does", "parameters", "responses")
    return "\n\n".join(f"### {tag.capitalize()}\n\n{table(heads, rows)}" for tag, rows in sorted(subjects.items()))


def _operation(method: str, path: str, operation: Mapping[str, Any], *, many: bool) -> Row:
    query = [f"`?{it['name']}=` {it['description']}" for it in operation.get("parameters", ()) if it["in"] == "query"]
    body = [_shown(content["schema"]) for content in operation.get("requestBody", {}).get("content", {}).values()]
    answers = [
        f"{status}: {_shown(content['schema']) if kind == 'application/json' else kind}"
        for status, response in operation["responses"].items()
        for kind, content in (response.get("content") or {"none": {}}).items()
        if int(status) < 400 or "Error" not in str(content)
    ]
    yes = "yes" if many else ""
    return code(f"{method.upper()} {path}"), yes, operation["summary"], "<br>".join(body + query), "<br>".join(answers)


def schemas() -> str:
    """The JSON that the admin API accepts and returns, key by key."""
    known = _document()["components"]["schemas"]
    return "\n\n".join(f"### {name}\n\n{_schema(schema)}" for name, schema in known.items())


def _schema(schema: Mapping[str, Any]) -> str:
    lines = [schema["description"]] if schema.get("description") else []
    if "properties" not in schema:
        return "\n\n".join([*lines, f"{_shown(schema)}."])
    required = schema.get("required", ())
    rows = (
        (code(name), "yes" if name in required else "", _shown(it), it.get("description", ""))
        for name, it in schema["properties"].items()
    )
    return "\n\n".join([*lines, table(("key", "always", "type", "meaning"), rows)])


def _shown(schema: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_shown, schema["anyOf"])))
    if "enum" in schema:
        few = schema["enum"] if len(schema["enum"]) < 8 else [*schema["enum"][:3], "..."]
        return " or ".join("null" if word is None else code(word) if word != "..." else word for word in few)
    if schema.get("type") == "array":
        return f"list of {_shown(schema['items'])}"
    if "properties" in schema:
        return "{ " + ", ".join(f"{code(name)}: {_shown(it)}" for name, it in schema["properties"].items()) + " }"
    kinds = schema.get("type", "any JSON")
    return " or ".join(kinds) if isinstance(kinds, list) else kinds


@cache
def _document() -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(json.dumps(admin_document()))
    return document


# --- metrics -----------------------------------------------------------------------------------------------------


def metrics() -> str:
    """The metrics, as exposed by a server that has answered various requests."""
    text = _metrics_served()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (\S+) (.+)$", text, re.MULTILINE))
    rows = ((code(name), kind, codes(_labels(text, name)), helps[name]) for name, kind in kinds.items())
    return table(("metric", "type", "labels", "meaning"), rows)


def _labels(text: str, name: str) -> list[str]:
    found = re.findall(rf"^{name}(?:_bucket|_sum|_count)?{{(.*?)}} ", text, re.MULTILINE)
    return sorted({label for each in found for label in re.findall(r'(\w+)="', each)} - {"le"})


@cache
def _metrics_served() -> str:
    with MockServer(quota="concurrent=9", latency="ttft=1ms, slots=4") as server:
        for more in ({"stream": True}, {"stream": False}, {"prompt": 7}):
            _ask(server, {"model": "llama3.1-8b", "prompt": "hi", "max_tokens": 3, **more})
        server.next().error("rate_limit")
        _ask(server, {"model": "llama3.1-8b", "prompt": "hi"})
        # A request that is still being answered, so that the gauges have values.
        server.next().latency("ttft=60s")
        with socket.create_connection(("127.0.0.1", urlsplit(server.url).port or 80)) as connection:
            body = b'{"model": "llama3.1-8b", "prompt": "hi"}'
            head = f"content-type: application/json\r\nauthorization: Bearer any-key\r\ncontent-length: {len(body)}"
            connection.sendall(
                f"POST /cerebras/v1/completions HTTP/1.1\r\nhost: localhost\r\n{head}\r\n\r\n".encode() + body
            )
            server.wait_for_requests(5)
            with urlopen(f"{server.url}/_mockserver/metrics") as answer:
                text: str = answer.read().decode()
                return text


def _ask(server: MockServer, body: Mapping[str, object]) -> None:
    headers = {"authorization": "Bearer any-key", "content-type": "application/json"}
    request = Request(f"{server.url}/cerebras/v1/completions", json.dumps(body).encode(), headers)
    try:
        urlopen(request).read()
    except HTTPError as refusal:
        refusal.close()


PARTS: Mapping[str, Callable[[], str]] = {
    part.__name__: part
    for part in (
        *(options, dialects, clients, frameworks, models, conformance, suites, faults, scenarios, failures),
        *(presets, fields, tiers, admin, schemas, metrics),
    )
}


if __name__ == "__main__":
    main()
