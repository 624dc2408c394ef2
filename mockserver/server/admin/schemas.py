"""A small vocabulary of JSON Schema, and with it the notations of users: matches, replies, stubs, faults, latencies.

The admin API's document includes those notations that its operations accept, the schemas of files all of them. What is
defined in tables (kinds of faults, fields of a match, keys of a reply) is taken from there. A schema has the keys and
their values; only the readers know which keys can be combined.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

from mockserver.core.failures import FailureKind
from mockserver.core.generation import LONGEST_CHOICE, FinishReason
from mockserver.core.matching.requests import FIELDS
from mockserver.core.matching.values import MATCHERS
from mockserver.core.quotas import PERIODS
from mockserver.faults import rules
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.parse_faults import OTHER_WORDS, SCENARIOS
from mockserver.faults.rules import PLACE_KEYS, FaultSetting
from mockserver.latency.parse_latency import SETTINGS
from mockserver.latency.profiles import OFF, REALISTIC, presets
from mockserver.model.prepared import Counts
from mockserver.state.stubs.parse_replies import CHOICE_KEYS, REPLY_KEYS
from mockserver.state.stubs.parse_stubs import EXACT, EXHAUSTED
from mockserver.state.stubs.stub import WHERE

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean"}
ANY: Schema = {}
# What a dialect claims, and an OpenAPI document.
CONFORMANCE: Schema = {"type": "object", "required": ["dialect", "known", "sources", "claims", "deviations"]}
DOCUMENT: Schema = {"type": "object", "required": ["openapi", "info", "paths"]}


def reference(name: str) -> dict[str, str]:
    """A reference to a named schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def table(
    required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None, description: str = ""
) -> Schema:
    """An object with these required and optional keys; others are allowed."""
    properties = {**required, **(optional or {})}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return schema | ({"description": description} if description else {})


def closed(properties: Mapping[str, Schema]) -> Schema:
    """An object with no other keys than these, all of them optional."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


def either(*schemas: Schema) -> Schema:
    """A value that conforms to one of these schemas."""
    return {"anyOf": list(schemas)}


def rows(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def by_name(item: Schema, description: str = "") -> Schema:
    """An object whose keys are names."""
    return {"type": "object", "additionalProperties": item} | ({"description": description} if description else {})


def described(schema: Schema, text: str) -> Schema:
    """A schema with a description."""
    return {**schema, "description": text}


def one_of(words: Iterable[str]) -> Schema:
    """One of these strings."""
    return {"type": "string", "enum": list(words)}


def explained(words: Mapping[str, str]) -> Schema:
    """One of these strings, with the meaning of each in both keywords that editors read."""
    meanings = list(words.values())
    return {**one_of(words), "enumDescriptions": meanings, "x-taplo": {"docs": {"enumValues": meanings}}}


def maybe(schema: Schema) -> Schema:
    """A value, or null."""
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else {"anyOf": [schema, {"type": "null"}]}


_MATCHER_OF = {str: "TextMatcher", bool: "FlagMatcher", int: "NumberMatcher"}
# The schema of a value in a fault's table, by its type.
SCHEMA_OF: Mapping[type, Schema] = {str: TEXT, int: WHOLE, float: NUMBER}
# Where a fault is applied.
PLACES: Mapping[str, Schema] = {
    **{place: {**SCHEMA_OF[type], "minimum": 0} for place, type in PLACE_KEYS.items()},
    "after_event": either(COUNT, one_of((rules.RANDOM,))),
}
_WINDOW = {"from": "after how many seconds it begins", "for": "how many seconds it lasts"}
# The settings of a latency that have a unit, and are therefore strings.
_TIMES = ("network", "queue", "prefill", "prefill_per_token", "ttft", "itl", "stall")
_COUNTS = {
    "times": "how often it is applied at most",
    "every": "only every nth matching request",
    "skip": "how many matching requests it skips first",
}


def _matcher(value: Schema, own: str, words: Iterable[str]) -> Schema:
    """A matcher of values: one of them, or an object with keywords."""
    meanings: Mapping[str, Schema] = {
        "equals": value,
        "contains": described(TEXT, "a part that it contains"),
        "regex": described(TEXT, "a regular expression of Python, searched for in the whole text"),
        "one_of": {**rows(value), "minItems": 1},
        "at_least": NUMBER,
        "at_most": NUMBER,
        "exists": described(FLAG, "whether it is present"),
        "not": reference(own),
    }
    # An object always has keywords, and a list is only the value of one of them.
    plain = value or {"type": ["string", "number", "boolean", "null"]}
    table_of_words = closed({word: meanings[word] for word in MATCHERS if word in words})
    return either(plain, {**table_of_words, "minProperties": 1})


def match_with(more: Mapping[str, Schema] | None = None) -> Schema:
    """The criteria for a request, with `more` fields."""
    names = ", ".join(MATCHERS)
    about = f"A value must be equal; an object states other conditions: {names}. Combine with any, all, not."
    found: dict[str, Schema] = {
        name: described(reference(_MATCHER_OF[field.type]), field.summary) for name, field in FIELDS.items()
    }
    found["headers"] = by_name(reference("TextMatcher"), "matchers by header")
    found["query"] = by_name(reference("TextMatcher"), "matchers by parameter of the query")
    found["body"] = by_name(reference("AnyMatcher"), "matchers by place in the body, such as $.messages[0]")
    for key, text in (("any", "at least one of these"), ("all", "all of these"), ("not", "none of these")):
        found[key] = described(reference("Matches"), text)
    return described(closed({**found, **(more or {})}), about)


def _reply() -> Schema:
    chunk = closed({"text": TEXT, "delay": described(reference("Duration"), "the time before it")})
    called = either(TEXT, by_name(ANY))
    keys: dict[str, Schema] = {
        "text": described(TEXT, "the text that the model writes"),
        "chunks": described(
            {**rows(either(TEXT, chunk)), "minItems": 1}, "the same in pieces, each an event of a stream"
        ),
        "json": described(ANY, "a value that the model writes as JSON"),
        "refusal": described(TEXT, "the model declines in these words"),
        "tool_calls": described(
            {**rows({**closed({"name": TEXT, "arguments": called, "id": TEXT}), "required": ["name"]}), "minItems": 1},
            "the tools that the model calls",
        ),
        "reasoning": described(TEXT, "what the model thinks before, in dialects that show reasoning"),
        "finish_reason": described(one_of(get_args(FinishReason)), "the finish reason"),
        "usage": described(closed(dict.fromkeys(Counts._fields, COUNT)), "the usage that the answer states"),
        "embedding": described(
            {**rows(either(NUMBER, rows(NUMBER))), "minItems": 1},
            "the embedding of every text of a request for embeddings; or a list of them, one for each text",
        ),
        "scores": described({**rows(NUMBER), "minItems": 1}, "the scores of the documents of a request for a ranking"),
        "body": described(ANY, "a body as it is sent, a string or any JSON, in no vendor's format"),
        "body_base64": described(TEXT, "the same for bytes that are not text"),
        "file": described(TEXT, "the same from a file beside this one"),
        "status": described({"type": "integer", "minimum": 200, "maximum": 599}, "the status, with a body or alone"),
        "content_type": described(TEXT, "the content type of a body"),
        "event_times": described(
            either(TEXT, {**rows(reference("Duration")), "minItems": 1}),
            "when each event of a body is sent, after the request; or a file with a time per line",
        ),
        **_shared(),
        "template": described(
            FLAG, "fill {{ last_user }}, other fields of the request, and {{ groups.NAME }} of a regex into its strings"
        ),
    }
    choice = either(TEXT, closed({key: keys[key] for key in CHOICE_KEYS}))
    keys["choices"] = described(
        {**rows(choice), "minItems": 1},
        "the same for each choice (n); the last is that of all further ones",
    )
    return either(described(TEXT, "the text that the model writes"), closed({key: keys[key] for key in REPLY_KEYS}))


def _shared() -> dict[str, Schema]:
    """The keys that any answer can have."""
    return {
        "error": described(reference("ReplyError"), "the vendor's own error, by its neutral name"),
        "faults": described(reference("ReplyFaults"), "faults of the answer"),
        "latency": reference("Latency"),
        "output_tokens": reference("OutputTokens"),
        "seed": described(WHOLE, "the seed from which the answer is derived"),
        "headers": by_name(TEXT, "headers of the answer"),
    }


def _stub() -> Schema:
    step = either(reference("Reply"), closed({"match": reference("Match"), "reply": reference("Reply")}))
    several = {**rows(reference("Reply")), "minItems": 1}
    return closed(
        {
            "name": described(TEXT, "its name, in X-Mockserver-Rule and in the journal"),
            "match": described(
                {"if": {"type": "string"}, "then": {"const": EXACT}, "else": reference("Match")},
                "the requests that it answers; by default all; exact for the recorded request alone",
            ),
            "request": described(_recorded(), "the request that its answers were recorded for"),
            "reply": described(reference("Reply"), "the same answer every time"),
            "replies": described(several, "one answer after the other; by default the last one is repeated"),
            "script": described({**rows(step), "minItems": 1}, "one step after the other, each used once"),
            "exhausted": described(
                one_of(EXHAUSTED),
                "after its last answer: repeat it, cycle through all, refuse the request, or let it pass to others",
            ),
            "priority": described(WHOLE, "of several matching stubs the one with the highest answers; 0 by default"),
            "times": described({"type": "integer", "minimum": 1}, "the number of uses, after which it matches nothing"),
            **_shared(),
        }
    )


def _recorded() -> Schema:
    return closed(
        {
            **dict.fromkeys(WHERE, TEXT),
            "last_user": described(TEXT, "for people"),
            "query": TEXT,
            "body": described(ANY, "JSON, or its text"),
            "file": described(TEXT, "the body, from a file next to the stub file"),
            "volatile": described(
                rows(TEXT),
                "what may differ: $.seed, query.trace, or what a regular expression finds: $.input =~ [0-9]+",
            ),
        }
    )


def _latency() -> Schema:
    table = closed({name: TEXT if name in _TIMES else either(TEXT, NUMBER) for name in SETTINGS})
    text = {**TEXT, "examples": [OFF, REALISTIC, *presets()]}
    return described(either(text, table), "off, realistic, a preset, or settings: ttft=180ms, rate=50 tok/s")


def _quota() -> Schema:
    periods = "|".join(("s", "sec", "m", "min", "h", "d", *PERIODS))
    limit = {"type": "string", "pattern": f"^ *[0-9][0-9_.]*[kM]? */ *({periods}) *$"}
    limits = described(either(limit, rows(limit)), "30/min, 60k/min, 1M/day")
    keys = {
        "tier": described(TEXT, "off, vendor, or a tier of the dialect"),
        "requests": limits,
        "tokens": limits,
        "concurrent": described({"type": "integer", "minimum": 1}, "how many requests at once"),
        "dialect": TEXT,
        "model": TEXT,
        "key": described(TEXT, "the API key that it applies to"),
    }
    return either(described(TEXT, "off, vendor, a tier, or limits: requests=30/min, tokens=60k/min"), closed(keys))


def api_fault() -> Schema:
    """A fault as the admin API accepts it: with a name, and every key of any kind."""
    named = {"name": described(TEXT, "its name; by default its kind or scenario")}
    keys = {**named, **_fault_keys(FAULTS), **_chance_keys(), "scenario": _scenario(), "match": reference("RuleMatch")}
    return {**closed(keys), "anyOf": [{"required": ["kind"]}, {"required": ["scenario"]}]}


def _fault(known: Callable[[FaultKind], bool] = lambda kind: True, *, chosen: bool) -> Schema:
    """A fault in a file, with the keys of its kind; if it selects requests (`chosen`), it may also be a scenario."""
    kinds = {name: kind for name, kind in FAULTS.items() if known(kind)}
    rules = [_rule(name, kind, chosen=chosen) for name, kind in kinds.items()]
    keys = _fault_keys(kinds)
    if not chosen:
        return {**closed(keys), "required": ["kind"], "allOf": rules}
    keys = {**keys, **_chance_keys(), "scenario": _scenario(), "match": reference("RuleMatch")}
    acted = {"if": {"required": ["scenario"]}, "then": {"propertyNames": {"enum": ["scenario", *_WINDOW, "match"]}}}
    return {**closed(keys), "anyOf": [{"required": ["kind"]}, {"required": ["scenario"]}], "allOf": [*rules, acted]}


def _rule(name: str, kind: FaultKind, *, chosen: bool) -> Schema:
    """If a fault is of a kind, only the keys of that are allowed, with the settings' own schemas."""
    window = _WINDOW if kind.listens else (*_COUNTS, *_WINDOW, "share", "match")
    keys = ["kind", *kind.settings, *kind.places, *(window if chosen else ())]
    own = {key: _setting(setting) for key, setting in kind.settings.items()}
    then = {"propertyNames": {"enum": keys}, **({"properties": own} if own else {})}
    return {"if": {"properties": {"kind": {"const": name}}, "required": ["kind"]}, "then": then}


def _fault_keys(kinds: Mapping[str, FaultKind]) -> dict[str, Schema]:
    """The keys of faults of these kinds; one that several kinds have accepts what any of them accepts."""
    shapes_of_key: dict[str, list[Schema]] = {}
    for kind in kinds.values():
        for key, setting in kind.settings.items():
            shape = described(_setting(setting), setting.summary)
            if shape not in shapes_of_key.setdefault(key, []):
                shapes_of_key[key].append(shape)
    settings = {key: shapes[0] if len(shapes) == 1 else either(*shapes) for key, shapes in shapes_of_key.items()}
    return {"kind": explained({name: kind.summary for name, kind in kinds.items()}), **settings, **PLACES}


def _chance_keys() -> dict[str, Schema]:
    share = {"type": "number", "minimum": 0, "maximum": 1}
    pair = {"type": "array", "items": share, "minItems": 2, "maxItems": 2}
    return {
        **{key: described({**COUNT, "minimum": int(key != "skip")}, text) for key, text in _COUNTS.items()},
        **{key: described(NUMBER, text) for key, text in _WINDOW.items()},
        "share": described(either(share, pair), "a probability, or two between which it moves"),
    }


def _scenario() -> Schema:
    return explained({name: scenario.summary for name, scenario in SCENARIOS.items()})


def _setting(setting: FaultSetting) -> Schema:
    if setting.choices:
        more = [word for word, meant in OTHER_WORDS.items() if meant in setting.choices]
        return one_of((*setting.choices, *more))
    shape = SCHEMA_OF[setting.type]
    return shape if shape is TEXT else {**shape, "minimum": setting.least}


def _reply_error() -> Schema:
    """A failure by its name, or a table with the other settings of the fault `error`."""
    names = one_of((*FailureKind, *OTHER_WORDS))
    kind = FAULTS["error"]
    keys = {key: described(_setting(setting), setting.summary) for key, setting in kind.settings.items()}
    return either(names, {**closed({**keys, "kind": one_of(("error",))}), "required": ["error"]})


def _one_or_more(name: str) -> Schema:
    return either(reference(name), rows(reference(name)), TEXT)


# The notations in requests of any program and in files.
TAKEN: Mapping[str, Schema] = {
    "TextMatcher": _matcher(TEXT, "TextMatcher", ("equals", "contains", "regex", "one_of", "exists", "not")),
    "NumberMatcher": _matcher(WHOLE, "NumberMatcher", ("equals", "one_of", "at_least", "at_most", "exists", "not")),
    "FlagMatcher": _matcher(FLAG, "FlagMatcher", ("equals", "one_of", "exists", "not")),
    "AnyMatcher": _matcher(ANY, "AnyMatcher", MATCHERS),
    "Match": match_with(),
    "Matches": either(reference("Match"), {**rows(reference("Match")), "minItems": 1}),
    "RuleMatch": match_with({"header": described(TEXT, "a header that is there, or `name: value`")}),
    "Duration": either({"type": "number", "minimum": 0}, described(TEXT, "seconds, or 200ms")),
    "Latency": _latency(),
    "OutputTokens": described(
        either(TEXT, {"type": "number", "minimum": 1, "maximum": LONGEST_CHOICE}),
        "how many tokens a generated answer in prose has: off, 128, or a distribution: normal(128, 20)",
    ),
    "ReplyFault": _fault(lambda kind: not kind.listens, chosen=False),
    "ReplyFaults": _one_or_more("ReplyFault"),
    "ReplyError": _reply_error(),
    "Reply": _reply(),
    "Stub": _stub(),
}
NOTATIONS: Mapping[str, Schema] = {
    **TAKEN,
    "Fault": _fault(chosen=True),
    "Faults": _one_or_more("Fault"),
    "RouteFault": _fault(lambda kind: not kind.listens, chosen=True),
    "RouteFaults": _one_or_more("RouteFault"),
    "Quota": _quota(),
}
