"""What the chat template of a model refuses: the server answers 400 with the text of the template's exception.

Each row of the table at the end has the rules of one family of models, found by a part of their names. The rules are
those of the templates that the server tests with and recommends, and of the models' own (vendor note 6); where these
merely fail, as at the null in place of a text, the exception is that of Jinja.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mockserver.core.json_values import read_json
from mockserver.dialects.ovms.errors import ROLES_ALTERNATE
from mockserver.dialects.ovms.models import by_name

Message = Mapping[str, Any]
# What a template raises for a conversation; whether tools are on offer.
Raise = Callable[[Sequence[Message], bool], str | None]

_AFTER_SYSTEM = f"After the optional system message, c{ROLES_ALTERNATE[1:]}"
_TOOL_ROLES = ("tool", "tool_results")
# What Python says of a null in place of a text.
_NO_TEXT = 'can only concatenate str (not "NoneType") to str'
_NO_PARTS, _NO_LENGTH = "'NoneType' object is not iterable", "object of type 'NoneType' has no len()"
_RESERVED = ("messages", "tools", "bos_token", "eos_token")


def variables_fault(variables: Mapping[str, Any], *, tools: bool) -> str | None:
    """What is wrong with the `chat_template_kwargs` of a request, which become variables of the template."""
    if not isinstance(variables.get("add_generation_prompt", True), bool):
        return "add_generation_prompt accepts values true or false"
    taken = next((name for name in variables if name in _RESERVED and (tools or name != "tools")), None)
    given_twice = "jinja2.environment.Template.render() got multiple values for keyword argument"
    return None if taken is None else f"{given_twice} {taken!r}"


# --- rules -----------------------------------------------------------------------------------------------------------


def _each(check: Callable[[Message], str | None]) -> Raise:
    """A template that writes message after message, and raises at the first which fails a check."""
    return lambda messages, tools: next(filter(None, map(check, messages)), None)


def _after_system(messages: Sequence[Message]) -> Sequence[Message]:
    return messages[1:] if messages[0]["role"] == "system" else messages


def _alternate(messages: Iterable[Message]) -> bool:
    return all((message["role"] == "user") == (place % 2 == 0) for place, message in enumerate(messages))


def _mistral(messages: Sequence[Message], tools: bool) -> str | None:
    """Turns alternate, except for calls and their results; ids have nine characters."""
    rest = _after_system(messages)
    if not _alternate(each for each in rest if each["role"] not in _TOOL_ROLES and "tool_calls" not in each):
        return _AFTER_SYSTEM
    for message in rest:
        role, ids = message["role"], [call.get("id") for call in message.get("tool_calls", ())]
        if role in _TOOL_ROLES:
            ids.append(message.get("tool_call_id"))
        if role == "user":
            if message["content"] is None:
                return _NO_TEXT
        elif any(not isinstance(id_, str) or len(id_) != 9 for id_ in ids):
            return "Tool call IDs should be alphanumeric strings with length 9!"
        elif not ids and role != "assistant":
            return (
                "Only user and assistant roles are supported, with the exception of an initial optional system message!"
            )
    return None


def _mistral_3(messages: Sequence[Message], tools: bool) -> str | None:
    """The same for the models since December 2025, which take any ids, and want something in each message."""
    rest = _after_system(messages)
    spoken = ("user", "assistant")
    if not _alternate(each for each in rest if each["role"] in spoken and not _calls(each)):
        return (
            "After the optional system message, conversation roles must alternate user and assistant roles except for "
            "tool calls and results."
        )
    for message in rest:
        role, content = message["role"], message["content"]
        if role == "assistant" and not content and "tool_calls" not in message:
            return "Assistant message must have a string or a list of chunks in content or a list of tool calls."
        if role in spoken and content is None:
            return _NO_LENGTH
        if role not in (*spoken, "tool"):
            return f"Only user, assistant and tool roles are supported, got {role}."
    return None


def _calls(message: Message) -> bool:
    return message["role"] == "assistant" and "tool_calls" in message


def _devstral(message: Message) -> str | None:
    role = message["role"]
    if role not in ("user", "system", "assistant", *_TOOL_ROLES):
        return "Only user, system, assistant and tool roles are supported in the custom template made by Unsloth!"
    if message["content"] is not None or role in _TOOL_ROLES:
        return None
    return _NO_PARTS if role == "user" else "None has no element 0"


def _mistral_small(message: Message) -> str | None:
    known = message["role"] in ("user", "system", "assistant")
    return None if known else "Only user, system and assistant roles are supported!"


def _parts(*roles: str) -> Raise:
    """Of messages of these roles, a content that is no text is taken for a list of parts."""
    return _each(lambda message: _NO_PARTS if message["content"] is None and message["role"] in roles else None)


def _llama_3(messages: Sequence[Message], tools: bool) -> str | None:
    """One call in a message; tools are described in the first message after that of the system."""
    if tools and not _after_system(messages):
        return "Cannot put tools in the first user message when there's no first user message!"
    described = _after_system(messages)[1:] if tools else messages
    single = all(len(each["tool_calls"]) == 1 for each in described if "tool_calls" in each)
    return None if single else "This model only supports single tool-calls at once!"


def _turns(*, system: bool = True, nulls: bool = True) -> Raise:
    """User and others alternate, after a system message if there may be one; a text may be null, or not."""

    def rules(messages: Sequence[Message], tools: bool) -> str | None:
        if messages[0]["role"] == "system" and not system:
            return "System role not supported"
        for place, message in enumerate(_after_system(messages)):
            if (message["role"] == "user") != (place % 2 == 0):
                return ROLES_ALTERNATE
            if message["content"] is None and not nulls:
                return "Invalid content type"
        return None

    return rules


def _qwen_3_5(messages: Sequence[Message], tools: bool) -> str | None:
    """Someone asks something, the system speaks first or not at all, and there are no further roles."""
    if not any(each["role"] == "user" and not _is_tool_response(each["content"] or "") for each in messages):
        return "No user query found in messages."
    for place, message in enumerate(messages):
        role = message["role"]
        if role == "system" and place:
            return "System message must be at the beginning."
        if role == "assistant" and (fault := _arguments_fault(message)) is not None:
            return fault
        if role not in ("system", "user", "assistant", "tool"):
            return "Unexpected message role."
    return None


def _is_tool_response(content: str) -> bool:
    text = content.strip()
    return text.startswith("<tool_response>") and text.endswith("</tool_response>")


_NO_OBJECT = "Can only get item pairs from a mapping."


def _arguments_fault(message: Message) -> str | None:
    """What fails where a template goes through the arguments of calls, which the server has read if they are JSON."""
    for call in message.get("tool_calls", ()):
        arguments = call["function"].get("arguments", {})
        try:
            arguments = read_json(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            return _NO_OBJECT
        if not isinstance(arguments, dict):
            return _NO_OBJECT
    return None


def _qwen_3_coder(message: Message) -> str | None:
    """The template itself reads the JSON of calls; the content of all other messages but results is a text."""
    if message["role"] != "assistant" or "tool_calls" not in message:
        return _NO_TEXT if message["content"] is None and message["role"] != "tool" else None
    for call in message["tool_calls"]:
        try:
            arguments = read_json(call["function"].get("arguments", "{}"))
        except (TypeError, ValueError) as error:
            return str(error)
        if not isinstance(arguments, dict):
            return _NO_OBJECT
    return None


_TAGS = ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>")


def _gpt_oss(messages: Sequence[Message], tools: bool) -> str | None:
    """A result follows a call, and nothing of the harmony format stands in a text."""
    called = False
    for message in messages[1:] if messages[0]["role"] in ("system", "developer") else messages:
        role, content, calls = message["role"], message["content"], "tool_calls" in message
        if role == "assistant":
            for name in ("content", "reasoning_content"):
                if any(tag in (message.get(name) or "") for tag in _TAGS):
                    return (
                        f"You have passed a message containing <|channel|> tags in the {name} field. Instead of doing "
                        "this, you should pass analysis messages (the string between '<|message|>' and '<|end|>') in "
                        "the 'reasoning_content' field, and final messages (the string between '<|message|>' and "
                        "'<|end|>') in the 'content' field."
                    )
            called = calls
        if role == "tool" and not called:
            return "Message has tool role, but there was no previous assistant message with a tool call!"
        if content is None and role in ("user", "assistant", "tool") and not (role == "assistant" and calls):
            return _NO_TEXT
    return None


# The rules of a model's template; None if it refuses nothing.
template_of: Callable[[str], Raise | None] = by_name(
    None,
    (r"ministral-?3|devstral-(?:small-)?2-|mistral-(?:small-4|large-3|medium-3\.[5-9])", _mistral_3),
    (r"devstral", _each(_devstral)),
    (r"mistral-(?:small|large)-.*(?:2411|2501|2503|2506)", _each(_mistral_small)),
    (r"mi[sx]tral|codestral|mathstral|magistral", _mistral),
    (r"gpt-?oss", _gpt_oss),
    (r"qwen-?3\.[5-9]|qwen-?[4-9](?![0-9]*b)", _qwen_3_5),
    (r"qwen-?3-?coder", _each(_qwen_3_coder)),
    (r"qwen-?3-?vl", _parts("user", "assistant", "tool")),
    (r"lfm-?2\.5", _parts("assistant")),
    (r"lfm-?2", _parts("system", "user", "assistant", "tool", "developer")),
    (r"gemma-?3|medgemma", _turns(nulls=False)),
    (r"gemma-?(?:2|1\.1|7b)(?![0-9])", _turns(system=False)),
    (r"llama-?3[._-][1-9](?![0-9]*b)", _llama_3),
    (r"llama-?2(?![0-9])|codellama", _turns()),
)
