"""What cannot be: a match that no operation meets, an answer or a fault that none of those it is for can have.

An answer must be possible in an edition that is in force.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from mockserver.core.dialects import EDITIONS, Dialect, Edition, Operation
from mockserver.core.generation import Measures
from mockserver.core.matching.requests import FieldMatcher, RequestMatcher, all_of
from mockserver.core.matching.values import ValueMatcher
from mockserver.core.messages import MISSPELT
from mockserver.faults.catalogue import FAULTS, FaultKind
from mockserver.faults.rules import Fault
from mockserver.model.prepared import ScriptedOutput
from mockserver.state.settings import Settings
from mockserver.state.stubs.parse_stubs import check_names
from mockserver.state.stubs.stub import WHERE, Prepared, Raw, Stub
from mockserver.state.stubs.values import StubError

# An operation of a dialect, by name, in an edition.
_Place = tuple[str, Operation, Edition]
_MOST_NAMED = 4
_VARIABLE = re.compile(r"{\w+}")
# What an answer can have, as people say it.
_WORDS = {
    "tool_calls": "calls tools",
    "reasoning": "shows reasoning",
    "text": "generates text",
    "embedding": "embeds",
    "scores": "ranks",
}


def check_stub(stub: Stub, dialects: Mapping[str, Dialect], settings: Settings, place: str = "") -> None:
    """Raise StubError if a stub matches what does not exist (`check_names`), or if no request that it matches could get
    one of its answers, and say which could."""
    check_names(stub, dialects, place)
    for step in stub.steps:
        complaint = _complaint(all_of(stub.criteria, step.criteria), step.prepared, dialects, settings)
        if complaint is not None:
            raise StubError(f"stub {stub.name!r}: {complaint}" if stub.name else f"stub: {complaint}")


def _complaint(
    criteria: RequestMatcher, prepared: Prepared, dialects: Mapping[str, Dialect], settings: Settings
) -> str | None:
    """The error message for an answer that no request of these criteria could get; None if one could."""
    complaint = complaint_of(criteria, prepared.faults, dialects, settings)
    if complaint is not None:
        return complaint
    where, content = _where(criteria), prepared.content
    matched = [*_places(where, dialects, settings)]
    needs_no_model = isinstance(content, Raw) or callable(content) or (content is None and bool(prepared.faults))
    if not matched and not needs_no_model:
        return _nowhere(where, dialects)
    asks_model = any(operation.handler is None for _, operation, _ in matched)
    if not asks_model and prepared.output_tokens is not None:
        return "output_tokens: no model answers what the stub matches"
    if not asks_model and prepared.latency is not None:
        delay = 'faults = [ { kind = "stall", seconds = 1 } ], in Python fault("stall", seconds=1)'
        return f"latency: no model answers what the stub matches. For a delay write {delay}"
    for need in _needs(prepared):
        if not any(_is_able(each[1], need, each[2]) and _is_reached(each, settings) for each in matched):
            return f"{need}: {_explained(need, matched, _places((), dialects, settings))}"
    return None


def complaint_of(
    criteria: RequestMatcher, faults: Sequence[Fault], dialects: Mapping[str, Dialect], settings: Settings
) -> str | None:
    """The error message for criteria that no request can meet, wherever it goes, and for a fault that cannot be applied
    where they hold; None without any."""
    where = _where(criteria)
    matched = [*_places(where, dialects, settings)]
    if not matched:
        if not _is_elsewhere(where, dialects, settings):
            return _nowhere(where, dialects)
        # There no model is asked, and no stream is known as one.
        unfit = (fault.kind for fault in faults if FAULTS[fault.kind].streams or FAULTS[fault.kind].says is not None)
        return next(
            (f"{kind!r} needs an answer of a model, but no operation has {_said(where)}" for kind in unfit), None
        )
    said = [each.matcher for each in criteria.fields if each.field == "stream"]
    may_stream = all(_asks_function(each) or each.holds((True,)) for each in said)
    for fault in faults:
        kind = FAULTS[fault.kind]
        if kind.streams and not may_stream:
            return f"{fault.kind!r} needs a stream, but the match excludes streams"
        if not any(_is_open_to(operation, kind) for _, operation, _ in matched):
            return f"{fault.kind!r} cannot be applied to what the match is for ({_listed(matched)})"
    return None


def _where(criteria: RequestMatcher) -> list[FieldMatcher]:
    """What criteria say of where a request goes, without alternatives."""
    return [each for each in criteria.fields if each.field in WHERE]


def _nowhere(where: Sequence[FieldMatcher], dialects: Mapping[str, Dialect]) -> str:
    hint = _hint(where, dialects)
    if hint is None:
        hint = "; `mockserver routes` lists all. Elsewhere a stub has to give a body: { body = {...} }, in Python raw()"
    return f"match: no operation has {_said(where)}{hint}"


def _said(where: Sequence[FieldMatcher]) -> str:
    return " and ".join(f"{each.label} {each.matcher.wanted}" for each in where)


def _is_elsewhere(where: Sequence[FieldMatcher], dialects: Mapping[str, Dialect], settings: Settings) -> bool:
    """Whether criteria that no operation meets name a path, and one that is not just misspelt."""
    fields, at = {each.field for each in where}, [each for each in where if each.field == "dialect"]
    return (
        "path" in fields
        and "operation" not in fields
        and next(_places(at, dialects, settings), None) is not None
        and _hint(where, dialects) is None
    )


def _hint(where: Sequence[FieldMatcher], dialects: Mapping[str, Dialect]) -> str | None:
    """What a path is probably meant to be that no operation has; None if it resembles none of those that one has."""
    served = {path for dialect in dialects.values() for operation in dialect.operations for path in operation.paths}
    for path in (str(value) for each in where if each.field == "path" for value in each.matcher.equal_to):
        if name := next((name for name in dialects if path.startswith(f"/{name}/")), None):
            return f". A dialect's own path has no /{name} in front; name the dialect instead"
        if path not in served and (near := get_close_matches(path, served, 1, MISSPELT)):
            return f". Did you mean {near[0]!r}? `mockserver routes` lists all"
        if path not in served and (variable := _VARIABLE.search(path)):
            pattern = f"^{'[^/]+'.join(map(re.escape, _VARIABLE.split(path)))}$"
            return f". Where nothing is served, {variable[0]} stands for no id; write path = {{ regex = '{pattern}' }}"
    return None


def _is_open_to(operation: Operation, kind: FaultKind) -> bool:
    """Whether a fault may be applied to answers of an operation."""
    streams = operation.schemas.chunk is not None or not kind.streams
    says = (operation.handler is None and operation.generates) or kind.says is None
    return streams and says and (operation.supports_tools or not kind.calls)


def _is_able(operation: Operation, need: str, edition: Edition) -> bool:
    """Whether an operation's answers can have something in an edition."""
    if operation.handler is not None or need in operation.lacks.get(edition, ()):
        return False
    if need == "text":
        return operation.generates
    # No vendor shows reasoning where tools cannot be called.
    return operation.supports_tools if need in ("tool_calls", "reasoning") else operation.measure == need


def _needs(prepared: Prepared) -> Iterator[str]:
    content = prepared.content
    if isinstance(content, Measures):
        yield content.kind
    elif isinstance(content, ScriptedOutput):
        yield "text"
        if any(choice.calls for choice in content.choices):
            yield "tool_calls"
        if any(choice.reasoning for choice in content.choices):
            yield "reasoning"


def _places(where: Iterable[FieldMatcher], dialects: Mapping[str, Dialect], settings: Settings) -> Iterator[_Place]:
    """The operations to which requests may go as criteria say."""
    of_dialect = [each.matcher for each in where if each.field == "dialect"]
    further = [each for each in where if each.field != "dialect"]
    for name, dialect in dialects.items():
        if not all(_meets(name, matcher) for matcher in of_dialect):
            continue
        for operation in dialect.operations:
            if all(_may_go(name, operation, each, settings) for each in further):
                for edition in (operation.edition,) if operation.edition is not None else EDITIONS:
                    yield name, operation, edition


def _may_go(name: str, operation: Operation, criterion: FieldMatcher, settings: Settings) -> bool:
    """Whether requests to an operation of a dialect may have such a path, method or name of the operation."""
    if criterion.field == "path":
        routes = (each.path for each in settings.routes if (each.dialect, each.operation) == (name, operation.name))
        return any(_meets(path, criterion.matcher) for path in (*operation.paths, *routes))
    return _meets(operation.method if criterion.field == "method" else operation.name, criterion.matcher)


def _meets(value: str, matcher: ValueMatcher) -> bool:
    """Whether a value meets a criterion; a path with variables stands for all that have any text there.

    A function of the user's is not called: whether it accepts a request is for it to say when there is one.
    """
    if _asks_function(matcher) or matcher.holds((_VARIABLE.sub("x", value) if "{" in value else value,)):
        return True
    if "{" not in value:
        return False
    pattern = ".+".join(map(re.escape, _VARIABLE.split(value)))
    return re.fullmatch(pattern, str(matcher.operand), re.DOTALL) is not None


def _asks_function(matcher: ValueMatcher) -> bool:
    inner = matcher.operand if isinstance(matcher.operand, tuple) else (matcher.operand,)
    return matcher.word == "function" or any(_asks_function(each) for each in inner if isinstance(each, ValueMatcher))


def _is_reached(place: _Place, settings: Settings) -> bool:
    """Whether requests are answered in an edition: the operation's only one, the server's, or that of a route."""
    name, operation, edition = place
    routes = (route for route in settings.routes if (route.dialect, route.operation) == (name, operation.name))
    return edition in (operation.edition, settings.edition, *(route.edition for route in routes))


def _explained(need: str, matched: Sequence[_Place], everywhere: Iterable[_Place]) -> str:
    """Why an answer is impossible, and what would work."""
    able = [each for each in matched if _is_able(each[1], need, each[2])]
    nothing = f"nothing that the stub matches {_WORDS[need]} ({_listed(matched)})"
    if able:
        editions = ", ".join(dict.fromkeys(edition for *_, edition in able))
        return f"in this edition {nothing}; with the edition {editions} some does"
    if all(operation.handler is not None for _, operation, _ in matched):
        return f"{nothing}. A body can be answered there: {{ body = {{...}} }}, in Python raw({{...}})"
    others = [place for place in everywhere if _is_able(place[1], need, place[2])]
    return f"{nothing}. Possible with: {_listed(others)}"


def _listed(places: Sequence[_Place]) -> str:
    names = list(dict.fromkeys(f"{name}'s {operation.name}" for name, operation, _ in places))
    return f"{', '.join(names[:_MOST_NAMED])}{', ...' if len(names) > _MOST_NAMED else ''}"
