"""The JSON of the admin API as JSON Schemas, by name, to which the document of `openapi` refers.

What is defined in tables (options, kinds of faults, fields of a match, keys of a stub) is taken from there; the rest is
written by hand, and a test checks the server's answers against it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import get_args

from mockserver.core.dialects import EDITIONS
from mockserver.core.failures import FailureKind
from mockserver.faults.catalogue import FAULTS
from mockserver.faults.values import PLACE_KEYS
from mockserver.server.admin.json_schema import (
    ANY,
    FLAG,
    NUMBER,
    TEXT,
    WHOLE,
    Schema,
    by_name,
    closed,
    described,
    either,
    maybe,
    one_of,
    reference,
    rows,
    table,
)
from mockserver.server.admin.notation_schemas import SCHEMA_OF, TAKEN, api_fault, match_with
from mockserver.state.configuration.options import LIVE, OPTIONS, OWN
from mockserver.state.settings import Settings
from mockserver.state.strikes import Origin
from mockserver.state.verify.checks import CHECKS
from mockserver.state.verify.conduct import JUDGES
from mockserver.state.verify.declarations import Handling, Outcome


def _settings(names: Iterable[str]) -> Schema:
    """Settings by name, as strings or other values that their options accept."""
    helps = {option.name: option.help for option in OPTIONS}
    properties = {name: {"description": helps.get(name, "")} for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _shown_settings() -> Schema:
    """All settings in force, without secrets."""
    helps = {option.name: option.help for option in OPTIONS}
    helps["traces"] = "the recordings that latencies may use"
    shown = {item.name: ({"description": helps[item.name]} if item.name in helps else ANY) for item in fields(Settings)}
    return table(shown)


_DIFFERENCE = table({"field": TEXT, "wanted": TEXT, "found": TEXT})
_STRUCK = table(
    {"by": described(one_of(get_args(Origin)), "where it was set"), "fault": reference("Fault")},
    {"rule": described(TEXT, "the name of the armed rule")},
)
_DECISION = table(
    {"by": one_of(("generation", "answer", "refusal", "denial")), "faults": rows(described(TEXT, "a kind of fault"))},
    {
        "kind": described(TEXT, "why it was refused: the failure's neutral name"),
        "message": TEXT,
        "struck": described(rows(_STRUCK), "in a whole exchange: the same faults as tables"),
        "rule": described(maybe(TEXT), "the stub that decided the answer"),
        "attempt": WHOLE,
        "unmatched": described(FLAG, "whether there were stubs, but none matched"),
        "nearest": rows(table({"name": TEXT, "differences": rows(_DIFFERENCE)})),
        "handler_error": described(TEXT, "the exception that a stub's function raised"),
    },
)
_TIMING = table(
    {},
    {
        **dict.fromkeys(("queue", "prefill", "decode", "ttft_due", "end_due", "waited"), NUMBER),
        "position": WHOLE,
        "ttft": maybe(NUMBER),
        "latency": described(TEXT, "the latency in force"),
        "speed": described(NUMBER, "the setting by which its times are divided"),
    },
    "In seconds after arrival, as planned (`..._due`) and as it was.",
)
_OUTCOME = table(
    {
        "closed_by": described(maybe(one_of(("server", "client"))), "null while the exchange is open"),
        "events_sent": WHOLE,
        "tokens_sent": WHOLE,
        "seconds": NUMBER,
    }
)
_USAGE = table(
    {"prompt_tokens": WHOLE, "completion_tokens": WHOLE},
    {"cached_tokens": described(WHOLE, "those of the prompt that came from the prompt cache, if any did")},
)
_TOOL_CALLS = rows(table({"name": TEXT, "arguments": TEXT}))
_EXCHANGE_KEYS: Mapping[str, Schema] = {
    "number": described(WHOLE, "its number within the namespace, from 1"),
    "namespace": TEXT,
    "at": described(NUMBER, "Unix seconds"),
    "arrived": described(NUMBER, "seconds on the namespace's clock"),
    "ahead": described(NUMBER, "how far that clock had been advanced"),
    "method": TEXT,
    "path": TEXT,
    "question": described(FLAG, "whether a model was asked"),
    "status": WHOLE,
    "decision": reference("Decision"),
    "timing": reference("Timing"),
    "outcome": reference("Outcome"),
}
_EXCHANGE_MORE: Mapping[str, Schema] = {
    "dialect": TEXT,
    "operation": maybe(TEXT),
    "edition": one_of(EDITIONS),
    "seed": WHOLE,
    "streamed": FLAG,
    "model": TEXT,
    "prompt": TEXT,
    "usage": described(_USAGE, "if anything of the answer was sent; completion tokens are those that were sent"),
    "finish_reasons": described(rows(TEXT), "of the choices whose end was sent"),
    "tool_calls": described(_TOOL_CALLS, "those that were sent completely"),
    "planned": described(
        table({"usage": _USAGE, "finish_reasons": rows(TEXT), "tool_calls": _TOOL_CALLS}),
        "the same as the model generated it, even if not all was sent",
    ),
}
_BODY: Mapping[str, Schema] = {
    "body": described(ANY, "JSON, or a text"),
    "body_text": described(
        TEXT, "JSON as it arrived, if it has numbers that a parser might round, or a layout to keep"
    ),
    "body_base64": described(TEXT, "bytes that are not text"),
}
_EVENT = table(
    {"due": NUMBER, "sent": described(maybe(NUMBER), "null: never"), "tokens": WHOLE},
    {"data": ANY, "data_text": TEXT, "data_base64": TEXT},
)
_REQUEST = table({"headers": by_name(TEXT, "secrets masked"), "query": TEXT, "credentials": TEXT}, _BODY)
_ANSWER = table(
    {"status": WHOLE, "headers": by_name(TEXT)},
    {
        "events": rows(_EVENT),
        "ending": described(maybe(TEXT), "how the connection was broken off"),
        "finished": described(FLAG, "whether the end of the stream was sent to the client, or a plain body"),
        **_BODY,
    },
)

_OPERATION = table(
    {
        "name": TEXT,
        "method": TEXT,
        "paths": rows(TEXT),
        "summary": TEXT,
        "generates": FLAG,
        "streams": FLAG,
        "edition": maybe(one_of(EDITIONS)),
    }
)
_CLIENTS = table(
    {
        "native": described(TEXT, "what the base URL of the vendor's own client has after the dialect's URL"),
        "openai": described(TEXT, "the same for the openai client"),
        "urls": described(rows(TEXT), "environment variables of the vendor's base URL"),
        "keys": described(rows(TEXT), "environment variables of the API key"),
        "more": by_name(TEXT, "further variables that only need to be set"),
        "bases": by_name(TEXT, "variables of frameworks' base URLs, with what these have after the dialect's URL"),
    }
)
_DIALECT = table(
    {
        "name": TEXT,
        "title": TEXT,
        "realistic": described(TEXT, "its latency preset"),
        "keyed": described(FLAG, "whether it needs an API key"),
        "models": rows(TEXT),
        "operations": rows(_OPERATION),
        "clients": _CLIENTS,
    }
)
_NAMED = table({"name": TEXT, "summary": TEXT})
_PRESET = table({"name": TEXT, "summary": TEXT, "latency": described(TEXT, "the same as settings")})
_KIND_SETTING = table({"name": TEXT, "type": TEXT, "default": ANY, "summary": TEXT, "choices": rows(TEXT)})
_KIND = table(
    {
        "kind": TEXT,
        "summary": TEXT,
        "settings": rows(_KIND_SETTING),
        "places": rows(one_of(PLACE_KEYS)),
        "streams": described(FLAG, "whether it strikes only streams"),
        "listens": described(FLAG, "whether it is the listener that fails"),
        "model": described(FLAG, "whether it changes what a model says"),
    }
)
_ARMED = table(
    {
        "name": TEXT,
        "kind": one_of(FAULTS),
        "settings": by_name(ANY),
        "place": table({place: maybe(SCHEMA_OF[type]) for place, type in PLACE_KEYS.items()}),
        "chance": table(
            {name: maybe(NUMBER) for name in ("times", "every", "skip", "share", "share_end", "start", "seconds")}
        ),
        "match": described(TEXT, "in words"),
        "matched": described(WHOLE, "how many requests it applied to"),
        "struck": described(WHOLE, "how many of them it has struck"),
        "undecided": described(
            WHOLE, "requests for which its match could not be decided, because a regular expression took too long"
        ),
    }
)
_LISTED_STUB = table(
    {
        "name": TEXT,
        "origin": described(TEXT, "`added`, or where it comes from"),
        "used": WHOLE,
        "most": described(maybe(WHOLE), "how often it can be used; null if unlimited"),
        "used_up": FLAG,
        "match": ANY,
        "table": described(ANY, "as it was written"),
    }
)
_LIMIT = table(
    {
        "dialect": TEXT,
        "key": TEXT,
        "model": TEXT,
        "limit": described(TEXT, "such as `tokens per minute`"),
        "amount": WHOLE,
        "remaining": WHOLE,
        "reset": described(NUMBER, "seconds until it is full again"),
    }
)
_OF_ANSWERS: Mapping[str, Schema] = {
    "status": described(reference("NumberMatcher"), "the answer's status"),
    "rule": described(reference("TextMatcher"), "the stub that decided the answer"),
    "fault": described(reference("TextMatcher"), "a kind of fault that has struck it"),
    "closed_by": described(reference("TextMatcher"), "server or client"),
    "finish_reason": described(reference("TextMatcher"), "why a choice ended"),
}
_BOUNDS = either(WHOLE, FLAG, closed({"at_least": WHOLE, "at_most": WHOLE}))
_DECLARED: Schema = closed(
    {
        "handles": one_of(get_args(Handling)),
        "outcome": one_of(get_args(Outcome)),
        "patience": described(NUMBER, "the longest silence that a client should endure, in seconds; 60 by default"),
        "least_attempts": described(WHOLE, "a call with fewer was given up too early; 3 by default"),
        "most_attempts": described(WHOLE, "a call with more is a storm; 10 by default"),
    }
)
_WANTED: Mapping[str, Schema] = {
    "calls": described(_BOUNDS, "this many requests match"),
    "never": described(FLAG, "none does"),
    "spaced_at_least": described(NUMBER, "this many seconds lie between each answer and the next request"),
    "in_order": described(rows(reference("CheckMatch")), "requests that match came one after the other"),
    "concurrency": described(WHOLE, "no more than this many requests were open at once"),
    "tokens": described(NUMBER, "prompts and answers have no more than this many tokens"),
    "cached_tokens": described(WHOLE, "at least this many tokens of the prompts came from the prompt cache"),
    "cost": described(NUMBER, "prompts and answers cost no more than this, at the prices"),
    "tool_called": described(TEXT, "an answer called this tool, with the arguments"),
    "tool_answered": described(TEXT, "a request brought this tool's result"),
    "schema": described(either(by_name(ANY), FLAG), "all bodies conform to this JSON Schema"),
    "contract": described(FLAG, "all bodies conform to the vendor's contract"),
    "cancelled": described(_BOUNDS, "the client left this many answers before their end"),
    "all_used": described(FLAG, "every stub was used"),
    "all_matched": described(FLAG, "every request was matched by a stub"),
    "resilience": described(either(FLAG, reference("Declared")), "the client behaved well: the verdict"),
}
_CHECK: Schema = described(
    closed(
        {
            **{name: _WANTED[name] for name in CHECKS},
            "match": described(reference("CheckMatch"), "the requests that are checked; by default all to a model"),
            "prices": by_name(
                rows(NUMBER),
                "by model (* for all others): the prices of a million prompt and completion tokens, and optionally of "
                "cached prompt tokens",
            ),
            "arguments": by_name(ANY, "of a tool's call"),
            "result": described(ANY, "of a tool"),
        }
    ),
    "One check with its arguments, and the requests that are checked.",
)
_CALL = table(
    {
        "attempts": rows(described(WHOLE, "the number of an exchange")),
        "statuses": rows(WHOLE),
        "faults": rows(rows(TEXT)),
        "waits": rows(described(NUMBER, "seconds")),
        "succeeded": FLAG,
    }
)
_VERDICT = table(
    {
        "clean": FLAG,
        "findings": rows(table({"fault": TEXT, "message": TEXT, "exchanges": rows(WHOLE)})),
        "calls": rows(_CALL),
        "unjudged": rows(table({"fault": TEXT, "why": TEXT})),
    },
    description=f"The verdict covers: {', '.join(JUDGES)}.",
)

SCHEMAS: Mapping[str, Schema] = {
    "Error": table({"error": table({"message": TEXT, "type": one_of(("mockserver_admin",))})}),
    "Decision": _DECISION,
    "Timing": _TIMING,
    "Outcome": _OUTCOME,
    "Forgotten": table({"exchanges": WHOLE, "questions": described(WHOLE, "how many of them asked a model")}),
    "Exchange": table(_EXCHANGE_KEYS, _EXCHANGE_MORE),
    "WholeExchange": table({**_EXCHANGE_KEYS, "request": _REQUEST, "answer": _ANSWER}, _EXCHANGE_MORE),
    **TAKEN,
    "ListedStub": _LISTED_STUB,
    "StubFile": table(
        {"stubs": rows(reference("Stub"))},
        {"$comment": described(rows(TEXT), "the stubs that a file cannot hold, each with the reason")},
    ),
    "Fault": api_fault(),
    "ArmedFault": _ARMED,
    "CheckMatch": match_with(_OF_ANSWERS),
    "Check": _CHECK,
    "Declared": described(_DECLARED, "What correct handling is, and what the application made of the answer."),
    "Verdict": _VERDICT,
    "Settings": _shown_settings(),
    "Changes": _settings(LIVE),
    "OwnSettings": _settings(OWN),
    "Catalogue": table(
        {
            "dialects": rows(_DIALECT),
            "editions": rows(one_of(EDITIONS)),
            "faults": rows(_KIND),
            "scenarios": rows(_NAMED),
            "failures": rows(one_of(FailureKind)),
            "presets": rows(_PRESET),
        }
    ),
    "Delivery": table(
        {
            "number": described(WHOLE, "its number within the namespace, from 1 on"),
            "at": described(NUMBER, "when it began on the namespace's clock, in Unix seconds"),
            "dialect": TEXT,
            "message": described(TEXT, "the id of what was delivered"),
            "attempt": described(WHOLE, "how many attempts there were before"),
            "method": TEXT,
            "url": TEXT,
            "headers": described(by_name(TEXT), "their names in lower case"),
            "body": TEXT,
            "status": described(maybe(WHOLE), "of the application's answer; null if there is none"),
            "error": described(TEXT, "why there is none"),
            "answer": described(TEXT, "the body of the answer"),
            "seconds": described(NUMBER, "how long it took on the namespace's clock"),
            "ended": FLAG,
        },
        description="A request that a dialect has made to an application by itself.",
    ),
    "Quotas": table({"limits": rows(_LIMIT), "running": rows(table({"dialect": TEXT, "key": TEXT, "running": WHOLE}))}),
}
