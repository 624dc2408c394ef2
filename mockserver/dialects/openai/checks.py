"""Which chats OpenAI accepts, and which it refuses though they keep to the contract; and what other endpoints share."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.dialects import Model, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.core.http import Call
from mockserver.dialects.contracts import Contract
from mockserver.dialects.openai.models import UNKNOWN, Endpoint, Family, family_of
from mockserver.dialects.openai.read import Body, json_object, sent_json, unanswered
from mockserver.dialects.openai.refusals import (
    LONGEST_ECHO,
    explain,
    image_refusal,
    mentions_json,
    misplaced,
    refused,
    supported_efforts,
    unknown_model,
    unsupported,
    unsupported_value,
    with_known_members,
)
from mockserver.dialects.openai.strict_schemas import schema_refusal

# Why a model refuses a body, None if it does not.
Check = Callable[[Body, Family, str], Refusal | None]
# Checks, each with the fields that it is about: most requests have few.
Checks = Sequence[tuple[set[str], Check]]
# Of a vendor that differs a little: puts a valid body into OpenAI's words, or refuses it; and makes of a body, and of
# the request that it would be of OpenAI, its own request.
Translate = Callable[[Body], Body | Refusal]
Adapt = Callable[[Body, GenerationRequest], GenerationRequest | Refusal]


class RequestRules(NamedTuple):
    """By what requests are read: a contract, and in what a vendor differs a little, such as its families of models, or
    whether the type of a body
    matters, and whether a chat must say "json" to be answered with a JSON object."""

    contract: Contract
    family_of: Callable[[str], Family] = family_of
    translate: Translate | None = None
    adapt: Adapt | None = None
    typed: bool = True
    json_word: bool = True


def accept(
    call: Call, scope: RequestScope, endpoint: Endpoint, rules: RequestRules, checks: Checks
) -> tuple[Body, Model, Family] | Refusal:
    """The body of a call, in OpenAI's words, the model that it asks, and the model's family; or why it is refused: for
    its form, its model or its fields."""
    asked = sent_json(call) if rules.typed else json_object(call.body)
    if isinstance(asked, Refusal):
        return asked
    if "name" in scope.variables:
        # A deployment of Azure's stands for the model, whatever the body says.
        asked["model"] = scope.variables["name"]
    body: Body = asked
    if not rules.contract.accepts(body):
        name = body.get("model")
        # Models that do not reason ignore unknown members of objects.
        lenient = isinstance(name, str) and not rules.family_of(name).efforts
        body = with_known_members(asked) if lenient else asked
        if not (lenient and rules.contract.accepts(body)):
            return explain(rules.contract.violations(asked))
    if rules.translate is not None:
        translated = rules.translate(body)
        if isinstance(translated, Refusal):
            return translated
        if not isinstance(translated, Mapping):
            raise TypeError(f"translate must give the body in OpenAI's words, not {translated!r:.80}")
        body = translated
    model = scope.model(body["model"])
    if model is None:
        return unknown_model(body["model"], endpoint)
    family = rules.family_of(model.id)
    return conflict(endpoint, checks, body, family, model.id) or (body, model, family)


def conflict(endpoint: Endpoint, checks: Checks, body: Body, family: Family, model: str) -> Refusal | None:
    """Why a body that keeps to the contract is refused all the same: its model is not served at the endpoint, or the
    first check that finds something."""
    if endpoint not in family.endpoints:
        return misplaced(family, endpoint, model)
    for fields, check in checks:
        if not fields.isdisjoint(body):
            refusal = check(body, family, model)
            if refusal is not None:
                return refusal
    return None


# --- prompts that do not fit -------------------------------------------------------------------------------------


def too_long(tokens: int, model: Model, family: Family, endpoint: Endpoint, wanted: int = 0) -> Refusal | None:
    """The refusal of a prompt of so many tokens, None if it fits; completions also need room for the `wanted` tokens of
    the answer."""
    narrow = family.max_input
    if tokens + wanted <= min(model.context, narrow or model.context):
        return None
    if endpoint == "responses":
        words = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return Refusal(FailureKind.CONTEXT_LENGTH, words, "input")
    if endpoint != "chat":
        return refused(
            f"This model's maximum context length is {model.context} tokens, however you requested {tokens + wanted} "
            f"tokens ({tokens} in your prompt; {wanted} for the completion). Please reduce your prompt; or completion "
            "length."
        )
    words = (
        f"Input tokens exceed the configured limit of {narrow} tokens. Your messages"
        if narrow is not None
        else f"This model's maximum context length is {model.context} tokens. However, your messages"
    )
    words += f" resulted in {tokens} tokens. Please reduce the length of the messages."
    return Refusal(FailureKind.CONTEXT_LENGTH, words)


# --- chats -------------------------------------------------------------------------------------------------------


def effort_asked(body: Body, family: Family) -> str | None:
    """The effort of a chat or a response, in the vendor's word: the family's default if none is asked for; None for a
    family that does not reason."""
    asked: str | None = body.get("reasoning_effort") or (body.get("reasoning") or {}).get("effort")
    return asked or (family.efforts[0] if family.efforts else None)


def reasons(body: Body, family: Family) -> bool:
    """Whether a model reasons for a chat or a response."""
    return bool(family.efforts) and effort_asked(body, family) != "none"


def _effort(body: Body, family: Family, model: str) -> Refusal | None:
    asked = body.get("reasoning_effort")
    if asked is None or family is UNKNOWN or asked in family.efforts:
        return None
    if not family.efforts:
        return refused("Unrecognized request argument supplied: reasoning_effort")
    return unsupported_value("reasoning_effort", f"'{asked}'", f" Supported values are: {supported_efforts(family)}.")


def _lengths(body: Body, family: Family, model: str) -> Refusal | None:
    old, new = body.get("max_tokens"), body.get("max_completion_tokens")
    if old is not None and new is not None:
        words = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        return refused(words, "max_tokens", "invalid_parameter_combination")
    if old is not None and family.efforts:
        return unsupported("max_tokens", " Use 'max_completion_tokens' instead.")
    asked = new if old is None else old
    if asked is None or family is UNKNOWN or asked <= family.max_output:
        return None
    name = "max_completion_tokens" if old is None else "max_tokens"
    words = f"{name} is too large: {asked}. This model supports at most {family.max_output} completion tokens, whereas"
    return refused(f"{words} you provided {asked}.", name, "invalid_value")


_NOT_WHILE_REASONING = ("top_p", "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "top_logprobs")


def _sampling(body: Body, family: Family, model: str) -> Refusal | None:
    if not family.stops and body.get("stop") is not None:
        return unsupported("stop")
    if not reasons(body, family):
        return None
    temperature = body.get("temperature")
    if temperature is not None and temperature != 1:
        return unsupported_value("temperature", temperature, " Only the default (1) value is supported.")
    # Clients send false for "no log-probabilities".
    sent = (name for name in _NOT_WHILE_REASONING if body.get(name) is not None and body[name] is not False)
    name = next(sent, None)
    return None if name is None else unsupported(name)


def _biases(body: Body, family: Family, model: str) -> Refusal | None:
    biased = body.get("logit_bias")
    wrong = next((key for key in biased if not (key.isascii() and key.isdecimal())), None) if biased else None
    if wrong is None:
        return None
    words = f"Invalid key in 'logit_bias': {wrong[:LONGEST_ECHO]}. You should only be submitting non-negative integers."
    return refused(words, "logit_bias")


# Fields that need another one, and how the refusal says so.
_ENABLED = "The '{0}' parameter is only allowed when '{1}' is enabled."
_SPECIFIED = "Invalid value for '{0}': '{0}' is only allowed when '{1}' are specified."
_NEEDS = (
    ("stream_options", "stream", _ENABLED),
    ("top_logprobs", "logprobs", _ENABLED),
    ("tool_choice", "tools", _SPECIFIED),
    ("parallel_tool_calls", "tools", _SPECIFIED),
    ("function_call", "functions", _SPECIFIED),
)


def _dependent(body: Body, family: Family, model: str) -> Refusal | None:
    for name, other, words in _NEEDS:
        if body.get(name) is not None and not body.get(other):
            return refused(words.format(name, other), name)
    return None


def _tools(body: Body, family: Family, model: str) -> Refusal | None:
    tools, older = body.get("tools") or (), body.get("functions") or ()
    if not (tools or older):
        return None
    if body.get("parallel_tool_calls") is not None and not family.parallel:
        return unsupported("parallel_tool_calls")
    functions = bool(older) or any(tool["type"] == "function" for tool in tools)
    if functions and family.chat_tools != "always":
        words = f"Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions."
        if family.chat_tools == "only_none" and reasons(body, family):
            advice = "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
            return refused(f"{words} {advice}", "reasoning_effort")
        if family.chat_tools == "never" or reasons(body, family):
            return refused(f"{words} Please use /v1/responses instead.", "reasoning_effort")
    named = [
        *((tool["function"], f"tools[{n}].function") for n, tool in enumerate(tools) if tool["type"] == "function"),
        *((function, f"functions[{n}]") for n, function in enumerate(older)),
    ]
    found = next(filter(None, (schema_refusal(function, f"{where}.parameters") for function, where in named)), None)
    if found is not None:
        return found
    if functions and isinstance(body.get("function_call"), dict):
        name = body["function_call"]["name"]
        if all(function["name"] != name for function in older):
            words = f"no function named {name[:LONGEST_ECHO]} was specified in the 'functions' parameter."
            return refused(f"Invalid value for 'function_call': {words}", "function_call")
    choice = body.get("tool_choice")
    if not isinstance(choice, dict):
        return None
    allowed = choice.get("allowed_tools", {}).get("tools", [choice])
    offered = {(tool["type"], tool[tool["type"]]["name"]) for tool in tools}
    for each in allowed:
        name = each[each["type"]]["name"]
        if (each["type"], name) not in offered:
            words = f"no {each['type']} named {name[:LONGEST_ECHO]} was specified in the 'tools' parameter."
            return refused(f"Invalid value for 'tool_choice': {words}", "tool_choice")
    return None


def _form(body: Body, family: Family, model: str) -> Refusal | None:
    form = body.get("response_format")
    return schema_refusal(form["json_schema"], "response_format") if form and form["type"] == "json_schema" else None


def without_json_word(body: Body) -> Refusal | None:
    """The refusal of a chat that shall be answered with a JSON object, but does not say "json"."""
    form = body.get("response_format")
    if not form or form["type"] != "json_object" or mentions_json(body["messages"]):
        return None
    words = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    return refused(words, "messages")


def _services(body: Body, family: Family, model: str) -> Refusal | None:
    if body.get("service_tier") == "scale":
        words = "Invalid service_tier argument: The requested service tier is not allowed for this project."
        return refused(words, "service_tier")
    if body.get("web_search_options") is not None and family is not UNKNOWN and not family.searches:
        return refused("Web search options not supported with this model.", "web_search_options")
    if "audio" in (body.get("modalities") or ()):
        return unsupported_value("modalities", "'audio'", " Supported values are: 'text'.")
    if body.get("prediction") is not None and family.efforts:
        return unsupported("prediction")
    if body.get("verbosity") in ("low", "high") and not family.efforts and family is not UNKNOWN:
        return unsupported_value("verbosity", f"'{body['verbosity']}'", " Supported values are: 'medium'.")
    if body.get("prompt_cache_retention") == "in_memory" and "in_memory" not in family.cache_retentions:
        return unsupported_value("prompt_cache_retention", "'in_memory'", " Supported values are: '24h'.")
    if body.get("prompt_cache_options") is not None and not family.cache_options and family is not UNKNOWN:
        return unsupported("prompt_cache_options")
    return None


def _history(body: Body, family: Family, model: str) -> Refusal | None:
    """The refusal of a message without a content, of calls without results, of results without calls, or with another
    result (recorded, as in agno-agi/agno#5116)."""
    # The calls of the last message that is no result, and which messages answer them.
    called: dict[str, None] = {}
    answered: dict[str, int] = {}
    for place, message in enumerate(body["messages"]):
        role, where = message["role"], f"messages.[{place}]"
        if role in ("system", "developer") and not family.instructed:
            return unsupported_value(f"messages[{place}].role", f"'{role}'")
        if role != "function" and message.get("content") is None and not _speaks_otherwise(message):
            return refused("Invalid value for 'content': expected a string, got null.", f"{where}.content")
        if role == "tool":
            id_ = message.get("tool_call_id")
            if id_ is None:
                words = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'."
                return refused(words, f"{where}.tool_call_id")
            if id_ not in called:
                words = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                return refused(f"Invalid parameter: {words}", f"{where}.role")
            if id_ in answered:
                both = f"messages[{answered[id_]}] and messages[{place}]"
                words = f"Invalid parameter: Duplicate value for 'tool_call_id' of '{id_}', in {both}."
                return refused(words, f"{where}.tool_call_id")
            answered[id_] = place
            continue
        if len(answered) < len(called):
            return _unanswered(called, answered, f"{where}.role")
        calls = message.get("tool_calls")
        called, answered = dict.fromkeys(call["id"] for call in calls) if calls else {}, {}
    return _unanswered(called, answered, "messages") if len(answered) < len(called) else None


def _unanswered(called: Iterable[str], answered: Collection[str], param: str) -> Refusal:
    return refused(unanswered(id_ for id_ in called if id_ not in answered), param)


def _speaks_otherwise(message: Mapping[str, Any]) -> bool:
    return any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))


# What messages of a role may consist of, beside the images of a user.
_PARTS = {"user": ("text", "file"), "assistant": ("text", "refusal")}


def _media(body: Body, family: Family, model: str) -> Refusal | None:
    for place, message in enumerate(body["messages"]):
        content = message.get("content")
        for number, part in enumerate(content if isinstance(content, list) else ()):
            found = _part_fault(part, message["role"], place, number, family)
            if found is not None:
                return found
    return None


def _part_fault(part: Body, role: str, place: int, number: int, family: Family) -> Refusal | None:
    kind, where, known = part["type"], f"messages[{place}]", family is not UNKNOWN
    if kind != "image_url":
        heard = kind == "input_audio" and role == "user" and family.hears
        if not known or heard or kind in _PARTS.get(role, ("text",)):
            return None
        words = f"Invalid '{where}'. Content blocks are expected to be either text or image_url type."
        return refused(words, where, "invalid_value")
    # Models that reason are reported to accept those of tools.
    if known and role != "user" and not (role == "tool" and family.efforts):
        words = f"but this message with role '{role}' contains an image URL."
        words = f"Invalid '{where}'. Image URLs are only allowed for messages with role 'user', {words}"
        return refused(words, where, "invalid_value")
    if not family.sees:
        words = "Invalid content type. image_url is only supported by certain models."
        return refused(words, f"messages.[{place}].content.[{number}].type")
    return image_refusal(part["image_url"]["url"], f"{where}.content[{number}].image_url.url")


# --- which fields are checked by what ----------------------------------------------------------------------------

SERVICES: tuple[set[str], Check] = (
    {
        *("service_tier", "web_search_options", "modalities", "prediction", "verbosity"),
        *("prompt_cache_retention", "prompt_cache_options"),
    },
    _services,
)
# Of completions too.
SHARED_CHECKS: Checks = (({"logit_bias"}, _biases), ({name for name, _, _ in _NEEDS}, _dependent))
CHAT_CHECKS: Checks = (
    ({"reasoning_effort"}, _effort),
    ({"max_tokens", "max_completion_tokens"}, _lengths),
    ({"stop", "temperature", *_NOT_WHILE_REASONING}, _sampling),
    *SHARED_CHECKS,
    SERVICES,
    ({"tools", "functions"}, _tools),
    ({"messages"}, _history),
    ({"messages"}, _media),
    ({"response_format"}, _form),
)
