"""Tool calls: which tools a model calls, and with which arguments.

In the mode `auto` a tool is called if the prompt is about it (`relevance`), or if it states all of the tool's required
properties, two at least: "Jason is 25 years old" asks to fill a form of a name and an age. A prompt that orders to use
"the tool" gets the call of the best match, however weak, and one that forbids to use any gets none (`orders`). A search
engine is asked what a question about the world asks. After the result of a tool nothing more is called until the next
user message.

If a call is required nevertheless, it is of a tool without a result yet, or else of the last tool offered, which in
agents takes the final answer. A tool named like those of Pydantic AI or smolagents for the final answer is called
instead of an answer in words in the mode `auto` too, since some models do not support required calls.

One tool is called several times if the prompt lists several things for it ("in Oslo, Bergen and Rome", "3 * 12 and
4 * 5"). The arguments of each call come first from the clauses that speak of its tool ("the weather in Oslo, and the
time in Tokyo").

The calls depend on the choice's key and the tool, not on how many choices, tokens or calls are allowed, so that a lower
limit gives a prefix of the same calls.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.generation import Constraint, GenerationRequest, Message, Prompt, Tool, ToolCall
from mockserver.core.json_values import without_blanks
from mockserver.core.seeding import Draws, derive
from mockserver.model import languages
from mockserver.model.extraction import accepting, filled, is_told, shape_of, texts_of
from mockserver.model.extraction.mentions import texts_for
from mockserver.model.extraction.narrowed import Schema, of_kind, type_of, wanted_items, with_items
from mockserver.model.intent import STRETCH, detect_intent
from mockserver.model.regex import write_match
from mockserver.model.schema import schema_fault, write_instance
from mockserver.model.terms import listed, names, operations, terms, words_in
from mockserver.model.tokens import fresh_phrase
from mockserver.model.tools import gist, results
from mockserver.model.tools.corrections import corrected, refusals, with_request
from mockserver.model.tools.orders import Order, forbids, order_in
from mockserver.model.tools.relevance import clauses_for, parameter_names, relevance_of, relevant, searches, terms_of

# The names of the tools that take the final answer of an agent: those of Pydantic AI and smolagents.
_FINAL = ("final_result", "final_answer")
_MOST_CALLS = 8

# A question about the world, not about those who talk.
_WORLDLY = re.compile(
    r"\b(?:who|whose|what|when|where|which|how (?:many|much|old|long|tall|big|far|high)|кто|когда|где|сколько|какой"
    r"|какая|какие)\b",
    re.IGNORECASE,
)
_PERSONAL = re.compile(r"\b(?:you|your|yours|i|me|my|mine|we|us|our|ты|вы|тебя|вас|твой|ваш\w*|я|мне|мой|меня)\b", re.I)


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
    prompt = with_request(prompt)
    if choice.mode == "auto" and forbids(prompt.topic[:STRETCH]):
        tools = [tool for tool in tools if _takes_final_answer(tool)]
    called = relevant(tools, prompt.topic)
    if not called and choice.mode == "required":
        called = [tools[-1] if answered else Draws(derive(key, "tool")).pick(tools)]
    elif not called:
        called = _suitable(tools, prompt.topic, key)
    # A request that names one tool gets only one call.
    single = not choice.parallel or choice.legacy or (choice.mode == "required" and len(choice.names) == 1)
    calls = [
        call
        for tool, clauses in zip(called, clauses_for(called, prompt.topic), strict=True)
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
    """The tools that a prompt asks for without being about them."""
    stated = [tool for tool in tools if _takes_final_answer(tool) or _is_stated(tool, topic)]
    if stated or not tools:
        return stated[:1]
    order = order_in(topic[:STRETCH])
    if order is not None:
        return _ordered(order, tools, topic, key)
    if (
        _WORLDLY.search(topic[:STRETCH])
        and not _PERSONAL.search(topic[:STRETCH])
        and detect_intent(topic).named_subject
    ):
        return [tool for tool in tools if searches(tool)][:1]
    return []


def _ordered(order: Order, tools: Sequence[Tool], topic: str, key: int) -> list[Tool]:
    """The tools that an order means: every one, or the one that matches best, however weakly."""
    named = [tool for tool in tools if order.word in words_in(tool.name)] if order.word else [*tools]
    if order.every or not named:
        return named
    best = max((relevance_of(tool, topic) for tool in named), key=lambda each: each.score)
    return [best.tool if best.score else Draws(derive(key, "tool")).pick(named)]


def _is_stated(tool: Tool, topic: str) -> bool:
    """Whether a prompt states all required properties of a function's arguments."""
    return tool.kind == "function" and isinstance(tool.parameters, Mapping) and is_told(tool.parameters, topic)


def _takes_final_answer(tool: Tool) -> bool:
    """Whether calls of a tool give an agent its final answer."""
    return tool.name.startswith(_FINAL)


def _final_answer(tool: Tool, found: Sequence[Message]) -> list[ToolCall]:
    """A call that gives an agent the gist of its tools' results; empty if the tool does not take one final text."""
    texts = [text for message in found if (text := gist(message.text))]
    if not (texts and _takes_final_answer(tool) and parameter_names(tool) == ("answer",)):
        return []
    arguments = {"answer": "; ".join(texts)}
    fits = accepting(object_schema(tool.parameters))(arguments)
    return [_call(tool, json.dumps(arguments, ensure_ascii=False))] if fits else []


def _calls(tool: Tool, prompt: Prompt, key: int, clauses: str) -> list[ToolCall]:
    """The call of a tool, or several calls if the part of the prompt that speaks of it lists several things."""
    own = derive(key, "call", tool.name)
    if tool.kind == "custom":
        return [_call(tool, write_input(tool, prompt._replace(topic=clauses), own))]
    terms_of_tool = terms_of(tool)
    about = frozenset().union(*terms_of_tool)
    sums = [each.text for each in operations(prompt.topic[:STRETCH]) if each.names & terms_of_tool.name]
    if sums:
        texts = [text for each in sums for text in write_arguments(tool, prompt._replace(topic=each), own, about, each)]
        return [_call(tool, text) for text in dict.fromkeys(texts)]
    return [_call(tool, text) for text in write_arguments(tool, prompt, own, about, clauses)]


def _call(tool: Tool | ToolCall, text: str) -> ToolCall:
    return ToolCall(tool.name, *fresh_phrase(text), tool.kind)


def _compact(call: ToolCall) -> ToolCall:
    """The call as models write it that put no white space into arguments; a custom tool's input is unchanged."""
    return call if call.kind == "custom" else _call(call, without_blanks(call.arguments))


# --- arguments -------------------------------------------------------------------------------------------------------

_LONGEST_INPUT = 400


def write_arguments(tool: Tool, prompt: Prompt, key: int, about: frozenset[str], clauses: str) -> list[str]:
    """The arguments of a function's calls: of one call, or of one for each item of a list that a property takes.

    `about` are the tool's own terms, which are no names. `clauses` are the part of the prompt that speaks of the tool;
    what they do not state is taken from the whole prompt.
    """
    topic = prompt.topic
    schema = of_kind(object_schema(tool.parameters), topic)
    intent, sized = detect_intent(topic), with_items(schema, wanted_items(topic))
    base: Any = json.loads(write_instance(sized, derive(key, "arguments"), intent.language, intent.subject))
    if not isinstance(base, dict):
        # To draft 7 the type beside a reference says nothing, and the reference may lead to another one.
        return ["{}"]
    rest = filled(base, schema, topic, about, guessing=True)
    if clauses != topic:
        rest = filled(rest, schema, clauses, about, guessing=True)
    source = clauses if names(clauses, about) else topic
    things = listed(source, names(source, about))
    taking = _taking(schema, source, about, things, base)
    if taking is None:
        return [_text(rest, schema)]
    accepts = accepting(schema)
    calls = [_text({**rest, taking: thing}, schema) for thing in things if accepts({**rest, taking: thing})]
    # Another property may forbid every one of the things: then a single call is made without them.
    return calls or [_text(rest, schema)]


def write_input(tool: Tool, prompt: Prompt, key: int) -> str:
    """The input of a custom tool: a text that matches the tool's pattern, if it has one."""
    form = tool.parameters
    if isinstance(form, Constraint) and form.kind == "regex":
        return write_match(str(form.schema), Draws(key))
    if "#code" in terms(f"{tool.name} {tool.description}"):
        return _code(tool, prompt, key)
    return next(texts_for("input", prompt.topic))[:_LONGEST_INPUT]


def object_schema(parameters: object) -> Schema:
    """The schema of a function's arguments, which are an object; an empty one if there are no parameters."""
    if not isinstance(parameters, Mapping) or not parameters:
        return {"type": "object", "additionalProperties": False}
    return parameters if "type" in parameters else {"type": "object", **parameters}


def arguments_fault(parameters: Schema) -> str | None:
    """Why no arguments can be written for parameters; None if they can."""
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return "must be a schema of type 'object'"
    reason = schema_fault(object_schema(parameters))
    return f"is no schema that arguments could satisfy: {reason}" if reason else None


def _taking(
    schema: Schema, topic: str, about: frozenset[str], things: Sequence[str], base: Mapping[str, Any]
) -> str | None:
    """The property that takes one of several things; None if no property does, or only one that takes them all."""
    if len(things) < 2:
        return None
    for name, own, *_ in shape_of(schema).parts:
        if type_of(own) == "string" and "enum" not in own and things[0] in texts_of(name, own, topic, about):
            taken = {**base, name: things[0]}
            return name if accepting(schema)(taken) else None
    return None


def _text(value: Mapping[str, Any], schema: Schema) -> str:
    """The arguments as JSON, with properties in the order of the schema."""
    return json.dumps(shape_of(schema).ordered(value), ensure_ascii=False)


def _code(tool: Tool, prompt: Prompt, key: int) -> str:
    """A code snippet in the language that the tool or the prompt names, or else in Python."""
    wanted = f"{tool.name} {tool.description} {prompt.topic[:STRETCH]}".lower()
    language = next((name for name in languages.code() if re.search(rf"(?<![^\W_]){name}(?![^\W_])", wanted)), "python")
    return Draws(key).pick(languages.code()[language]).replace("{name}", "solve")
