"""Tool calls: which tools a model calls, and with which arguments.

In the mode `auto` a tool is called if the prompt is about it: if the last user message shares terms (stems of words, or
the concepts they stand for in any language of the corpus) with the tool's name, the first sentence of its description,
or the names of its parameters. A term of the name counts 3, a concept of the description 2, anything else 1; a tool
needs 2. Words that describe nearly every tool ("get", "data", "user") do not count. A tool whose name is in the prompt
is called. After the result of a tool nothing more is called in the mode `auto` until the next user message. If a call
is required nevertheless, it is of a tool without a result yet, or else of the last tool offered, which in agents takes
the final answer. A tool named like those of Pydantic AI or smolagents for the final answer is called instead of an
answer in words in the mode `auto` too, since some models do not support required calls.

So is a tool if the prompt states all of its required properties, two at least: "Jason is 25 years old" asks to fill a
form of a name and an age. A prompt that orders to use "the tool" gets the call of the best match, however weak, and one
that forbids to use any gets none. A search engine is asked what a question about the world asks.

Several tools are called if each of them explains something in the prompt that those before it do not, and one tool
several times if the prompt lists several things for it ("in Oslo, Bergen and Rome", "3 * 12 and 4 * 5"). The arguments
of each call come first from the clauses that speak of its tool ("the weather in Oslo, and the time in Tokyo").

The calls depend on the choice's key and the tool, not on how many choices, tokens or calls are allowed, so that a lower
limit gives a prefix of the same calls.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from mockserver.core.generation import (
    FinishReason,
    GenerationRequest,
    Message,
    Prompt,
    Stops,
    Tool,
    ToolCall,
    first_steps,
)
from mockserver.core.json_values import without_blanks
from mockserver.core.seeding import Draws, derive
from mockserver.generation import corpus, tokens
from mockserver.generation.corrections import corrected, refusals, settled
from mockserver.generation.filling.instances import accepting, is_told
from mockserver.generation.prompts.brief import brief
from mockserver.generation.prompts.wording import STRETCH, stretch_of
from mockserver.generation.prose.reports import asked, gist, results
from mockserver.generation.stops import cut_at_stop
from mockserver.generation.terms import ARITHMETIC, is_concept, is_operation, operations, place_of, terms
from mockserver.generation.tools.arguments import object_schema, write_arguments, write_input
from mockserver.generation.tools.clauses import clauses_about

# The names of the tools that take the final answer of an agent: those of Pydantic AI and smolagents.
_FINAL = ("final_result", "final_answer")
_NEEDED = 2
_MOST_CALLS = 8
_DESCRIPTION = 200

# Words that describe nearly every tool.
_GENERIC = terms(
    "get set use call function tool user users data info information value values return returns give given provide "
    "specified based request result results api string number name id input output type text new current currently "
    "key item object details option parameter argument field content language format unit units mode limit list the a "
    "an of for in on to and or by with from any all this that it is are be can when whether which need needs needed "
    "want wants asks asked получить получает вернуть возвращает данные информация инструмент функция пользователь "
    "пользователя текущий текущая текущую значение для по в на из или и с о об это который "
    "获取 返回 信息 数据 查询 当前 用户 指定 取得 情報 指定 現在 する 使用 정보 가져 조회 반환 현재 사용 지정"
)
_VERBS = terms("get set use call return give provide specify")
# Words for what many tools do: they distinguish tools only if their names have nothing else.
_WEAK = terms(
    "search find fetch send add create update delete remove check look lookup open query run web generate make write "
    "describe compare suggest"
)
# Stopwords of prompts that tell what a tool is for.
_TASKS = frozenset((
    "categorize", "classify", "convert", "define", "paraphrase", "rephrase", "rewrite", "summarise", "summarize",
    "translate",
))  # fmt: skip
# What the names of tools for searching the web consist of.
_ENGINES = terms(
    "search web internet online google bing tavily duckduckgo ddg brave serp wikipedia wiki tool engine run results "
    "json api query"
)
_SEARCHING = terms("search wikipedia wiki google bing tavily duckduckgo serp")
_USING = r"(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing)|использу[йя]\w*|используйте|вызови(?:те)?|вызывай(?:те)?|вызывая)"
_TOOLS = (
    r"(?: (?:the|a|an|any|all|your|my|this|that|these|those|one|of|provided|available|given|following|appropriate|"
    r"right|relevant|эту|этот|эти|свои|данный|данную|любые|никаких|никакие))*"
    r" (?:tools?|functions?|инструмент\w*|функци\w*)\b"
)
_ORDERED = re.compile(rf"\b{_USING}{_TOOLS}", re.IGNORECASE)
_FORBIDDEN = re.compile(
    rf"\b(?:(?:do not|don['’]t|never|without|avoid|must not|should not|not|не) {_USING}{_TOOLS}"
    r"|(?:without|no|без)(?: any)? (?:tools?|tool calls?|function calls?|инструментов)\b)",
    re.IGNORECASE,
)
# A question about the world, not about those who talk.
_WORLDLY = re.compile(
    r"\b(?:who|whose|what|when|where|which|how (?:many|much|old|long|tall|big|far|high)|кто|когда|где|сколько|какой"
    r"|какая|какие)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(r"\b(?:you|your|yours|i|me|my|mine|we|us|our|ты|вы|тебя|вас|твой|ваш\w*|я|мне|мой|меня)\b", re.I)


class _Terms(NamedTuple):
    """The terms of a tool: those of its name, and those of its description and its parameters' names."""

    name: frozenset[str]
    rest: frozenset[str]
    parameters: frozenset[str]


class CutCalls(NamedTuple):
    """Calls cut by limits and stops, with their finish reason, and the stop that ended them, if any."""

    calls: tuple[ToolCall, ...]
    finish_reason: FinishReason
    stop: str | int | None = None


class _Match(NamedTuple):
    tool: Tool
    points: Mapping[str, int]  # by shared term

    @property
    def score(self) -> int:
        return sum(self.points.values())


def decide(request: GenerationRequest, prompt: Prompt, key: int) -> tuple[ToolCall, ...]:
    """The calls that answer a prompt, in order; none if it is answered in words."""
    choice = request.tool_choice
    tools = [tool for tool in request.tools if not choice.names or tool.name in choice.names]
    # Results of tools that are not offered belong to another agent, which has handed over to this one.
    found = results(prompt.messages)
    answered = {message.answers for message in found} & {tool.name for tool in request.tools}
    refused = _last_refused(found) & answered
    if choice.mode == "auto" and answered:
        tools = [tool for tool in tools if _takes_final_answer(tool) or tool.name in refused]
    if not tools or choice.mode == "none":
        return ()
    if answered and choice.mode == "required":
        tools = [tool for tool in tools if tool.name in refused or tool.name not in answered] or tools[-1:]
    prompt = prompt._replace(topic=asked(prompt)) if found else settled(prompt)
    if choice.mode == "auto" and _FORBIDDEN.search(prompt.topic[:STRETCH]):
        tools = [tool for tool in tools if _takes_final_answer(tool)]
    called = _relevant(tools, prompt.topic)
    if not called and choice.mode == "required":
        called = [tools[-1] if answered else Draws(derive(key, "tool")).pick(tools)]
    elif not called:
        called = _suitable(tools, prompt.topic, key)
    # A request that names one tool gets only one call.
    single = not choice.parallel or choice.legacy or (choice.mode == "required" and len(choice.names) == 1)
    calls = [
        call
        for tool, clauses in zip(called, _clauses_about(called, prompt.topic), strict=True)
        for call in _final_answer(tool, found) or _calls(tool, prompt, key, clauses)
    ]
    if refused:
        calls = _corrected(calls, tools, found, refused, must=choice.mode == "required")
    kept = calls[: 1 if single else _MOST_CALLS]
    return tuple(map(_compact, kept) if choice.compact else kept)


def _last_refused(found: Sequence[Message]) -> set[str]:
    """The tools whose last call was refused."""
    last = {message.answers: message for message in found if message.answers is not None}
    return {name for name, message in last.items() if refusals([message], name)}


def _corrected(
    calls: Sequence[ToolCall], tools: Sequence[Tool], found: Sequence[Message], refused: set[str], *, must: bool
) -> list[ToolCall]:
    """The calls as the refusals of those before ask for; one that stays as it was is left out unless it `must` be."""
    kept = []
    for call in calls:
        better = call
        if call.name in refused and call.kind == "function":
            parameters = next(tool.parameters for tool in tools if tool.name == call.name)
            arguments = json.loads(call.arguments)
            changed = corrected(arguments, refusals(found, call.name), accepting(object_schema(parameters)))
            if changed != arguments:
                better = _call(call, json.dumps(changed, ensure_ascii=False))
        if must or better != call or call.name not in refused:
            kept.append(better)
    return kept


def _suitable(tools: Sequence[Tool], topic: str, key: int) -> list[Tool]:
    """The tool that a prompt asks for without being about it, if it asks for one."""
    stated = [tool for tool in tools if _takes_final_answer(tool) or _is_stated(tool, topic)]
    if stated or not tools:
        return stated[:1]
    if _ORDERED.search(topic[:STRETCH]):
        best = max(matches := [_match(tool, topic) for tool in tools], key=lambda match: match.score)
        return [best.tool if best.score else Draws(derive(key, "tool")).pick(matches).tool]
    if _WORLDLY.search(topic[:STRETCH]) and not _PERSONAL.search(topic[:STRETCH]) and brief(topic).names_subject:
        return [tool for tool in tools if _searches(tool)][:1]
    return []


def _searches(tool: Tool) -> bool:
    """Whether a tool searches the web, by its name."""
    own = terms(tool.name)
    return tool.kind == "function" and own <= _ENGINES and not own.isdisjoint(_SEARCHING)


def _is_stated(tool: Tool, topic: str) -> bool:
    """Whether a prompt states all required properties of a function's arguments."""
    return tool.kind == "function" and isinstance(tool.parameters, Mapping) and is_told(tool.parameters, topic)


def _takes_final_answer(tool: Tool) -> bool:
    """Whether calls of a tool give an agent its final answer."""
    return tool.name.startswith(_FINAL)


def _final_answer(tool: Tool, found: Sequence[Message]) -> list[ToolCall]:
    """A call that gives an agent the gist of its tools' results; empty if the tool does not take one final text."""
    texts = [text for message in found if (text := gist(message.text))]
    if not (texts and _takes_final_answer(tool) and _parameter_names(tool) == ("answer",)):
        return []
    arguments = {"answer": "; ".join(texts)}
    fits = accepting(object_schema(tool.parameters))(arguments)
    return [_call(tool, json.dumps(arguments, ensure_ascii=False))] if fits else []


def cut_calls(calls: Sequence[ToolCall], limit: int, stops: Stops, *, legacy: bool) -> CutCalls:
    """Calls cut by a limit (in decoding steps) and by stops, which end them in the middle of the arguments."""
    kept = first_steps(calls, limit)
    for place, call in enumerate(kept):
        stopped = cut_at_stop(call.ids, call.texts, stops)
        if stopped is not None:
            cut = call._replace(ids=stopped.ids, texts=stopped.texts)
            return CutCalls((*kept[:place], cut), "stop", stopped.stop)
    if sum(call.steps for call in calls) > limit:
        return CutCalls(kept, "length")
    return CutCalls(kept, "function_call" if legacy else "tool_calls")


def _relevant(tools: Sequence[Tool], topic: str) -> list[Tool]:
    """The tools that the prompt is about: the best match first, then those that explain other terms of the prompt."""
    order = [name for each in operations(topic[:STRETCH]) for name in each.names]
    matches = sorted((_match(tool, topic) for tool in tools), key=lambda match: (-match.score, _turn(match, order)))
    explained: set[str] = set()
    found = []
    for match in matches:
        if sum(points for term, points in match.points.items() if term not in explained) >= _NEEDED:
            found.append(match.tool)
            explained |= match.points.keys()
    return found


def _turn(match: _Match, order: Sequence[str]) -> int:
    """When the first operation of a tool comes, if it has one."""
    return next((place for place, name in enumerate(order) if name in match.points), len(order))


def _match(tool: Tool, topic: str) -> _Match:
    own = _terms_of(tool)
    points = {term: _points(term, own) for term in _topic_terms(topic) & (own.name | own.rest | own.parameters)}
    if place_of(tool.name, topic) is not None:
        points[f"={tool.name}"] = _NEEDED
    return _Match(tool, points)


def _points(term: str, own: _Terms) -> int:
    if term in own.name:
        return 3
    # If a name has no terms of its own, the description counts more.
    return 2 if term in own.rest and (is_concept(term) or not own.name) else 1


def _terms_of(tool: Tool) -> _Terms:
    return _tool_terms(tool.name, tool.description[:_DESCRIPTION], _parameter_names(tool))


@lru_cache(maxsize=1024)
def _tool_terms(name: str, description: str, parameters: tuple[str, ...]) -> _Terms:
    words = terms(name)
    own = words - _GENERIC - _WEAK or words - _GENERIC or words - _VERBS
    if words - _GENERIC <= _WEAK:
        own = words - _VERBS - _WEAK or own  # "create_user" is about users, though many tools are
    first_sentence = re.split(r"[.!?。！？\n]", description, maxsplit=1)[0]
    rest = terms(first_sentence) - _GENERIC - _WEAK
    if is_operation(own):  # a tool that adds does not multiply, though both calculate
        own, rest = own - {ARITHMETIC}, rest - {ARITHMETIC}
    return _Terms(own, rest - own, terms(" ".join(parameters)) - _GENERIC - _WEAK - own - rest)


def _topic_terms(topic: str) -> frozenset[str]:
    stretch = stretch_of(topic)
    return _stretch_terms(stretch, brief(topic).language)


@lru_cache(maxsize=256)
def _stretch_terms(stretch: str, language: str) -> frozenset[str]:
    return terms(stretch, corpus.stopwords(language) - _TASKS)


def _parameter_names(tool: Tool) -> tuple[str, ...]:
    properties: Any = tool.parameters.get("properties") if isinstance(tool.parameters, Mapping) else None
    return tuple(map(str, properties)) if isinstance(properties, Mapping) else ()


def _clauses_about(tools: Sequence[Tool], topic: str) -> list[str]:
    """The part of the prompt that speaks of each tool, by what distinguishes it from the others; else the whole prompt.

    Of a single tool only a question tells apart what is asked from what is merely stated.
    """
    points = [_match(tool, topic).points.keys() for tool in tools]
    own = [frozenset(each - set().union(*(other for other in points if other is not each))) for each in points]
    found = clauses_about(topic, own) if any(own) else [""] * len(own)
    single = len(tools) == 1
    return [topic if single and not text.endswith(("?", "？")) else text or topic for text in found]


def _calls(tool: Tool, prompt: Prompt, key: int, clauses: str) -> list[ToolCall]:
    """The call of a tool, or several calls if the part of the prompt that speaks of it lists several things."""
    own = derive(key, "call", tool.name)
    if tool.kind == "custom":
        return [_call(tool, write_input(tool, prompt._replace(topic=clauses), own))]
    terms_of_tool = _terms_of(tool)
    about = frozenset().union(*terms_of_tool)
    sums = [each.text for each in operations(prompt.topic[:STRETCH]) if each.names & terms_of_tool.name]
    if sums:
        texts = [text for each in sums for text in write_arguments(tool, prompt._replace(topic=each), own, about, each)]
        return [_call(tool, text) for text in dict.fromkeys(texts)]
    return [_call(tool, text) for text in write_arguments(tool, prompt, own, about, clauses)]


def _call(tool: Tool | ToolCall, text: str) -> ToolCall:
    ids = tokens.encode(text)
    return ToolCall(tool.name, ids, tokens.texts(ids), tool.kind)


def _compact(call: ToolCall) -> ToolCall:
    """The call as models write it that put no white space into arguments; a custom tool's input is unchanged."""
    if call.kind == "custom":
        return call
    ids = tokens.encode(without_blanks(call.arguments))
    return call._replace(ids=ids, texts=tokens.texts(ids))
