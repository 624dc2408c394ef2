"""Stubs in text form: the tables of a stub file, of `[[stub]]` in a config file, of the admin API and of the fixture.

    name = "weather"                                                           # default: its number
    match = { dialect = "yandex", last_user = { contains = "weather" } }       # default: every request
    reply = { tool_calls = [ { name = "get_weather", arguments = { city = "Oslo" } } ] }

The page on stubs explains what can be written, and `server/admin/schemas.py` has the schema. A stub has a `reply`, or
`replies`, or a `script` of STEPs: a REPLY (`parse_replies.py`), or { match = {...}, reply = REPLY }, which waits for a
request that matches. What any answer can have (SHARED) may also be set in the stub itself, for all of its replies.

A stub that was made of a recording also has the `request` that was recorded. With `match = "exact"` it answers that
request alone; otherwise the answer to a request that differs is marked as stale. The `last_user` of such a request is
for people.

A mistake raises `StubError`, which names the place and what would have been valid.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import get_args

import orjson

from mockserver.core.dialects import Dialect
from mockserver.core.http import joined
from mockserver.core.json_values import is_shallow
from mockserver.core.matching.requests import RequestMatcher, group_names, read_criteria, unknown_name_in
from mockserver.core.matching.values import CriteriaError
from mockserver.core.matching.whole_requests import whole_request, without_secrets
from mockserver.core.messages import short_repr, unknown_name
from mockserver.core.regexes import renew_time_budget
from mockserver.state.stubs.parse_replies import SHARED, Files, read_prepared, read_shared, with_files
from mockserver.state.stubs.stub import WHERE, Exhausted, Prepared, RecordedRequest, Step, Stub
from mockserver.state.stubs.values import MOST, StubError, Table, json_of, list_of, table_of, text_of, whole_of

_ANSWERS = ("reply", "replies", "script")
_REQUEST = 'request = { dialect = "cerebras", operation = "completions", body = {...} }'
# Keys of a stub file that are for editors and people.
NOTES = ("$schema", "$comment")
STUB_KEYS = ("name", "match", "request", *_ANSWERS, "priority", "times", "exhausted", *SHARED)
_REQUEST_KEYS = (*WHERE, "last_user", "query", "body", "file", "volatile")
EXHAUSTED: tuple[Exhausted, ...] = get_args(Exhausted)
EXACT = "exact"


def read_stub(value: object, place: str = "stub", files: Files | None = None, origin: str = "") -> Stub:
    """A stub from its table; `files` reads the files that its replies name. Raises StubError."""
    table = table_of(value, place, STUB_KEYS, '{ match = { model = "m" }, reply = "It rains." }')
    given = [key for key in _ANSWERS if key in table]
    if len(given) > 1:
        raise StubError(f"{place}: can have only one of {', '.join(_ANSWERS)}, not both {' and '.join(given)}")
    if "script" in table and "times" in table:
        raise StubError(f"{place}.times: cannot be combined with a script, whose steps are used once each")
    criteria, recorded = _matched(table, place, files)
    shared = read_shared(table, place)
    if not given and shared == Prepared():
        raise StubError(f"{place}: has no answer; add reply, replies, script, or one of {', '.join(SHARED)}")
    steps = tuple(_steps(table, place, files, criteria))
    # A function may leave the answer to the model.
    contents = [step.prepared.content for step in steps]
    if shared.output_tokens is not None and not any(each is None or callable(each) for each in contents):
        raise StubError(f"{place}.output_tokens: is for generated answers, but every reply here has its own content")
    return Stub(
        name=_name(table.get("name", ""), place),
        criteria=criteria,
        steps=tuple(_with_shared(step, shared) for step in steps),
        exhausted=_exhausted(table, place),
        priority=whole_of(table.get("priority", 0), f"{place}.priority", least=-MOST),
        times=whole_of(table["times"], f"{place}.times", least=1) if "times" in table else None,
        table=table,
        origin=origin,
        recorded=recorded,
    )


def read_stubs(tables: object, place: str, files: Files | None = None, origin: str = "") -> tuple[Stub, ...]:
    """The stubs of a list of tables; those without a name are named after the `origin`, if any. Raises StubError."""
    if not isinstance(tables, list | tuple):
        raise StubError(f"{place}: must be a list of tables; in TOML, write each as [[stub]]")
    stubs = [read_stub(table, f"{place}[{number}]", files, origin) for number, table in enumerate(tables)]
    named = tuple(
        each if each.name or not origin else each._replace(name=f"{origin}-{n}") for n, each in enumerate(stubs, 1)
    )
    check_unique(named)
    return named


def check_unique(stubs: Sequence[Stub]) -> None:
    """Raise StubError if two stubs have the same name."""
    seen: dict[str, Stub] = {}
    for stub in stubs:
        if stub.name and stub.name in seen:
            places = " and ".join(dict.fromkeys(each.origin for each in (seen[stub.name], stub) if each.origin))
            raise StubError(f"two stubs are named {stub.name!r}{f' ({places})' if places else ''}")
        seen[stub.name] = stub


def check_names(stub: Stub, dialects: Mapping[str, Dialect], place: str = "") -> None:
    """Raise StubError, which names the `place`, or else the stub, if it matches a dialect or an operation that does not
    exist."""
    prefix = f"stub {stub.name!r}: " if stub.name and not place else f"{place or 'stub'}."
    for criteria in (stub.criteria, *(step.criteria for step in stub.steps)):
        complaint = unknown_name_in(criteria, dialects)
        if complaint is not None:
            raise StubError(f"{prefix}{complaint}")


def _steps(table: Table, place: str, files: Files | None, criteria: RequestMatcher) -> tuple[Step, ...]:
    if "script" in table:
        return tuple(
            _scripted(each, f"{place}.script[{number}]", files, criteria)
            for number, each in enumerate(list_of(table["script"], f"{place}.script"))
        )
    groups = group_names(criteria)
    if "replies" in table:
        replies = list_of(table["replies"], f"{place}.replies")
        return tuple(
            Step(read_prepared(each, f"{place}.replies[{number}]", files, groups))
            for number, each in enumerate(replies)
        )
    return (Step(read_prepared(table.get("reply", {}), f"{place}.reply", files, groups)),)


def _scripted(value: object, place: str, files: Files | None, criteria: RequestMatcher) -> Step:
    """A step of a script: a reply, or a reply that waits for a matching request."""
    if not isinstance(value, Mapping) or not value.keys() & {"match", "reply"}:
        return Step(read_prepared(value, place, files, group_names(criteria)))
    table = table_of(value, place, ("match", "reply"), "{ match = {...}, reply = ... }")
    own = _criteria(table.get("match", {}), f"{place}.match")
    groups = (*group_names(criteria), *group_names(own))
    return Step(read_prepared(table.get("reply", {}), f"{place}.reply", files, groups), own)


def _with_shared(step: Step, shared: Prepared) -> Step:
    """The step with its stub's shared fields; its own take precedence."""
    own = step.prepared
    both = own._replace(
        faults=(*shared.faults, *own.faults),
        latency=shared.latency if own.latency is None else own.latency,
        output_tokens=shared.output_tokens if own.output_tokens is None else own.output_tokens,
        seed=shared.seed if own.seed is None else own.seed,
        headers=joined(own.headers, shared.headers),
    )
    return Step(both, step.criteria)


def _matched(table: Table, place: str, files: Files | None) -> tuple[RequestMatcher, RecordedRequest | None]:
    """The criteria of a stub, and the request that was recorded for it."""
    match = table.get("match", {})
    if isinstance(match, str) and match != EXACT:
        raise StubError(f"{place}.match: {short_repr(match)} is neither a table of fields nor {EXACT!r}")
    if "request" not in table:
        if match == EXACT:
            raise StubError(f"{place}.match: {EXACT!r} needs the request that was recorded: {_REQUEST}")
        return _criteria(match, f"{place}.match"), None
    where = f"{place}.request"
    given = with_files(table_of(table["request"], where, _REQUEST_KEYS, _REQUEST), where, files)
    # What is no text is compared as its base64.
    body, query = given.get("body_base64", given.get("body", "")), text_of(given.get("query", ""), f"{where}.query")
    body = text_of(body, f"{where}.body") if isinstance(body, str) else json_of(body, f"{where}.body")
    with suppress(orjson.JSONDecodeError):
        value = orjson.loads(body)
        # A request that nests as deeply is compared as a text, too.
        body = without_secrets(value) if is_shallow(value) else body
    listed = list_of(given.get("volatile", ()), f"{where}.volatile", least=0)
    volatile = tuple(text_of(each, f"{where}.volatile") for each in listed)
    renew_time_budget()
    try:
        text, with_ids = (whole_request(body, query, volatile, with_ids=with_ids) for with_ids in (False, True))
    except CriteriaError as error:
        raise StubError(f"{where}.{error}") from None
    recorded = RecordedRequest(text, with_ids, volatile, is_exact=match == EXACT)
    if match != EXACT:
        return _criteria(match, f"{place}.match"), recorded
    return _criteria({key: given[key] for key in WHERE if key in given}, where), recorded


def _exhausted(table: Table, place: str) -> Exhausted:
    """What happens after the last answer."""
    usual: Exhausted = "pass" if "script" in table or "times" in table else "repeat"
    given: Exhausted = table.get("exhausted", usual)
    if given not in EXHAUSTED:
        raise StubError(f"{place}.exhausted: {unknown_name('value', given, EXHAUSTED)}")
    if given in ("repeat", "cycle") and "times" in table:
        raise StubError(f"{place}.times: cannot be combined with exhausted = {given!r}")
    return given


def _criteria(table: object, place: str) -> RequestMatcher:
    try:
        return read_criteria(table, place)
    except CriteriaError as error:
        raise StubError(str(error)) from None


def _name(value: object, place: str) -> str:
    text = text_of(value, f"{place}.name")
    if not text.isprintable() or text != text.strip() or len(text) > 200:
        raise StubError(f"{place}.name: {short_repr(text)} must be a name on one line")
    return text
