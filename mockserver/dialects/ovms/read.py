"""Completions and chats become requests to a model, or are refused (vendor notes 2 and 6)."""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mockserver.core.dialects import EDITIONS, Edition, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Effort, GenerationRequest, Limits, Output, Prompt, Sampling, Stops, ToolChoice
from mockserver.core.http import Call
from mockserver.dialects.openai.read import chat_prompt, image_urls, stop_texts, with_images
from mockserver.dialects.ovms.chat_templates import template_of, variables_fault
from mockserver.dialects.ovms.checks import ENGINE_CHECKS, IGNORE_EOS_LIMIT, checks_of, sampled
from mockserver.dialects.ovms.endpoints import Admitted, Check, Fields, enter, first_fault, without_nulls
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.guided_generation import TOOLS, Function, offered, read_choice, read_format, read_tools
from mockserver.dialects.ovms.models import EFFORTS, sees, thinking
from mockserver.model.tokens import token_count


def read_completion(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """A completion, or why the server or its graph refuses it."""
    accepted = accept(call, scope, _COMPLETION_CHECKS[scope.edition])
    if isinstance(accepted, Refusal):
        return accepted
    text, most = accepted.fields["prompt"], accepted.fields.get("max_tokens")
    # "/completions adds the BOS token at tokenising; no chat template".
    return _request(accepted, Prompt(text, text, token_count(text) + 1), most, scope.edition)


def read_chat(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """A chat, or why the server or its graph refuses it."""
    accepted = accept(call, scope, _CHAT_CHECKS)
    if isinstance(accepted, Refusal):
        return accepted
    fields, messages = accepted.fields, accepted.fields["messages"]
    most = fields.get("max_completion_tokens", fields.get("max_tokens"))
    return read_conversation(accepted, as_templated(messages), messages, most)


# --- the messages of a chat ------------------------------------------------------------------------------------------

Message = Mapping[str, Any]
# The members of a message that are passed on beside its content and its calls; all of them texts.
_KEPT = ("role", "tool_call_id", "name", "reasoning_content")
_PLAIN = {"role", "content"}
# The tokens of an image: the server's vision models differ, and state none.
_IMAGE_TOKENS = 256
# How the server marks an image for its models.
_IMAGE_TAG = "<ov_genai_image_"
_REMOTE = re.compile(r"(?:https?|s?ftp)://")


def _messages_fault(model: str, fields: Fields) -> str | None:
    """What is wrong with the first invalid message; unknown members are ignored."""
    if "messages" not in fields:
        return "Messages missing in request"
    messages = fields["messages"]
    if not isinstance(messages, list):
        return "Messages are not an array"
    if not messages:
        return "Messages array cannot be empty"
    for message in messages:
        if not isinstance(message, dict):
            return "Message is not a JSON object"
        content, calls = message.get("content"), message.get("tool_calls")
        for part in content if isinstance(content, list) else ():
            if (fault := _part_fault(part)) is not None:
                return fault
        if not isinstance(message.get("role"), str):
            return "Every message must have 'role' field"
        for call in calls if isinstance(calls, list) else ():
            if not isinstance(call, dict):
                return "Each tool_call must be an object"
            if not isinstance(call.get("function"), dict):
                return "Each tool_call must have a 'function' object"
    return None


def _part_fault(part: object) -> str | None:
    if not isinstance(part, dict):
        return "Invalid message structure - content array should contain objects"
    kind = part.get("type")
    if not isinstance(kind, str):
        return "Invalid message structure - content object type missing"
    if kind == "text":
        return None if isinstance(part.get("text"), str) else "Invalid message structure - content text missing"
    if kind not in _MEDIA:
        return "Unsupported content type"
    member, missing, invalid = _MEDIA[kind]
    medium = part.get(kind)
    if not isinstance(medium, dict):
        return f"Invalid message structure - {missing}"
    fit = isinstance(medium.get(member), str)
    return None if fit else f"Invalid message structure - {kind} does not have {invalid}"


# The member of each medium that has it, and what is said if the medium or the member is missing.
_MEDIA: Mapping[str, tuple[str, str, str]] = {
    "image_url": ("url", "content image_url missing", "url field"),
    "input_audio": ("data", "input_audio object missing", "a valid data field"),
}


def pictures_fault(messages: Sequence[Message], fields: Fields) -> str | None:
    """What is wrong with the images of messages whose form is checked: the model reads only text, or the URL is not
    allowed. Texts for a vision model must not mark the place of an image."""
    if sees(fields["model"]):
        if any(_IMAGE_TAG in text for message in messages for text in _texts(message.get("content"))):
            return "Message contains restricted <ov_genai_image> tag"
        return next(filter(None, map(_address_fault, image_urls(messages))), None)
    for message in messages:
        if isinstance(message.get("content"), list) and image_urls((message,)):
            return "This servable supports only text input, but image_url has been provided"
    return None


def _texts(content: object) -> Sequence[str]:
    if isinstance(content, list):
        return [part["text"] for part in content if isinstance(part.get("text"), str)]
    return (content,) if isinstance(content, str) else ()


def _address_fault(url: str) -> str | None:
    """Without allowed domains, the server only accepts images within the request."""
    _, marked, data = url.partition("base64,")
    if not marked:
        remote = "Given url does not match any allowed domain from allowed_media_domains"
        return remote if _REMOTE.match(url) else "Loading images from local filesystem is disabled."
    try:
        b64decode(data, validate=True)
    except ValueError:
        return "Invalid base64 string in request"
    return None


def as_templated(messages: Sequence[Message]) -> list[Message]:
    """The messages as a chat template gets them: a role, a text or null, and of the rest what it may read.

    Several texts are joined with line ends; an empty list of parts is null, and an empty list of calls is none.
    """
    templated = []
    for message in messages:
        content, calls = message.get("content", ""), message.get("tool_calls")
        if type(content) is str and message.keys() == _PLAIN:
            templated.append(message)
            continue
        if isinstance(content, list):
            content = "\n".join([part["text"] for part in content if part["type"] == "text"]) if content else None
        kept: dict[str, Any] = {name: message[name] for name in _KEPT if isinstance(message.get(name), str)}
        kept["content"] = content if isinstance(content, str) or content is None else ""
        if isinstance(calls, list) and calls:
            kept["tool_calls"] = calls
        templated.append(kept)
    return templated


def _a_token_to_say(value: object, fields: Fields) -> str | None:
    # `max_completion_tokens` takes precedence over `max_tokens`.
    most = fields.get("max_completion_tokens", value)
    return "max_tokens value should be greater than 0" if most == 0 else None


_COMPLETION_CHECKS = {edition: checks_of(f"{edition} completions") for edition in EDITIONS}
_CHAT_CHECKS = checks_of(
    "chats",
    {
        "messages": (("model", _messages_fault),),
        "tools": TOOLS,
        "lengths": (("max_tokens", _a_token_to_say), ("max_completion_tokens", _a_token_to_say)),
        "pictures": (("messages", pictures_fault),),
    },
)

# --- requests --------------------------------------------------------------------------------------------------------


class OvmsOptions(NamedTuple):
    """What a writer has to know: whether thoughts and calls are parsed out of the text, and the fields it repeats."""

    parsed: bool
    fields: Mapping[str, Any] = {}


_PARSED, _AUTO, _NOTHING = OvmsOptions(parsed=True), ToolChoice(), dict[str, Any]()
_NO_STOPS, _NO_WINDOW = Stops(), 131_072


def accept(call: Call, scope: RequestScope, table: Iterable[Check]) -> Admitted | Refusal:
    """The fields of a request that pass a table of checks, with its model; or why it is refused, by server or graph."""
    admitted = enter(call, scope, "texts")
    if isinstance(admitted, Refusal):
        return admitted
    fields = admitted.fields
    if None in fields.values():
        fields = without_nulls(fields, scope.edition)
    fault = first_fault(table, fields)
    return Admitted(fields, admitted.model) if fault is None else _refused(fault, fields)


def _refused(fault: str, fields: Fields, kind: FailureKind = FailureKind.INVALID_REQUEST) -> Refusal:
    return graph_fault(fault, stream=fields.get("stream") is True, kind=kind)


def read_conversation(
    accepted: Admitted, templated: Sequence[Message], messages: Sequence[Message], most: int | None
) -> GenerationRequest | Refusal:
    """The request of a conversation, unless the model's chat template refuses it.

    `templated` is what the template gets of the `messages`, which may show images; `most` is the most tokens that the
    request allows.
    """
    fields = accepted.fields
    functions = offered(fields) if "tools" in fields else ()
    model, variables = fields["model"], fields.get("chat_template_kwargs")
    fault = variables_fault(variables, tools=bool(functions)) if variables else None
    template = template_of(model)
    if fault is None and template is not None:
        # What a template says that looks for the role of a first message.
        fault = template(templated, bool(functions)) if templated else "list object has no element 0"
    if fault is not None:
        return _refused(fault, fields, FailureKind.CHAT_TEMPLATE)
    prompt = chat_prompt(templated, functions)
    if sees(model):
        prompt = with_images(prompt, messages, _IMAGE_TOKENS)
    return _request(accepted, prompt, most, "observed", functions)


def _request(
    accepted: Admitted, prompt: Prompt, most: int | None, edition: Edition, functions: Sequence[Function] | None = None
) -> GenerationRequest | Refusal:
    """The request, unless it does not fit the window or the engine; `functions` are those that a chat offers.

    Its parsers find tools and reasoning; "skip_special_tokens=false turns them off".
    """
    fields, model = accepted
    found, window = prompt.token_count, model.context
    if edition == "observed" and found + (most or 0) > window:
        asked = "" if found > window else f" + max tokens value: {most}"
        message = f"Number of prompt tokens: {found}{asked} exceeds model max length: {window}"
        return _refused(message, fields, FailureKind.CONTEXT_LENGTH)
    sampling = _USUAL[edition]
    if not _SAMPLING_FIELDS.isdisjoint(fields):
        fault = first_fault(ENGINE_CHECKS[edition], fields)
        if fault is not None:
            return _refused(fault, fields)
        sampling = _read_sampling(fields, edition)
    chats, stream, ignore_eos = functions is not None, fields.get("stream") is True, fields.get("ignore_eos") is True
    parsed = chats and fields.get("skip_special_tokens") is not False
    effort, shown = None, False
    if parsed:
        effort, shown = reasoning_of(fields["model"], fields.get("chat_template_kwargs", _NOTHING))
    stops = _NO_STOPS
    if fields.get("stop"):
        # "default: `false` if `stream=false`, `true` if `stream=true`"
        stops = Stops(stop_texts(fields["stop"]), include=fields.get("include_stop_str_in_output", stream))
    if edition == "documented" and ignore_eos and most is None:
        # "unset becomes 4000"
        most = IGNORE_EOS_LIMIT
    return GenerationRequest(
        model=fields["model"],
        prompts=(prompt,),
        output=Output(
            stream=stream,
            include_usage=stream and fields.get("stream_options", _NOTHING).get("include_usage") is True,
            echo=not chats and fields.get("echo") is True,
            # "Only value 1 is accepted which returns [the] logarithm [of] the chosen token": no alternatives.
            # "In stream mode logprobs are not returned."
            logprobs=0 if fields.get("logprobs") and not stream else None,
            reasoning=shown,
        ),
        limits=Limits(
            most,
            ignore_eos=ignore_eos,
            # The older server ignores the model's context window.
            context=model.context if edition == "observed" else prompt.token_count + _NO_WINDOW,
        ),
        stops=stops,
        sampling=sampling,
        constraint=read_format(fields["response_format"])
        if "response_format" in fields and edition == "observed"
        else None,
        tools=read_tools(functions) if functions else (),
        tool_choice=read_choice(fields) if chats and "tool_choice" in fields else _AUTO,
        n=fields.get("n", 1),
        best_of=fields.get("best_of", 1),
        effort=effort,
        extra=_PARSED if parsed else None,
    )


_DEFAULT_EFFORT: Effort = "medium"


def reasoning_of(model: str, template: Mapping[str, Any]) -> tuple[Effort | None, bool]:
    """The reasoning effort of a model, given the variables of its chat template, None for no reasoning; and whether
    thoughts would be shown: not if the request has switched reasoning off."""
    family, asked = thinking(model), template.get("reasoning_effort")
    if family is None or (family.switch and not template.get("enable_thinking", family.unasked)):
        return None, template.get("enable_thinking") is not False
    return EFFORTS.get(asked, _DEFAULT_EFFORT) if isinstance(asked, str) else _DEFAULT_EFFORT, True


# "Random seed [...] default: 0" in the one; the other draws one, here from the request itself. Of `top_k` "default: all
# tokens" in the one, for which 0 stands, "default 40 when sampling" in the other.
_USUAL: Mapping[Edition, Sampling] = {
    "documented": Sampling(seeds=(0,), early_stopping=False),
    "observed": Sampling(top_k=40, early_stopping=False),
}

# The fields with the names that the model has for them.
_NUMBERS = ("temperature", "top_p", "length_penalty", "frequency_penalty", "presence_penalty", "repetition_penalty")
_SAMPLING_FIELDS = {*_NUMBERS, "min_p", "seed", "top_k", "best_of"}


def _read_sampling(fields: Fields, edition: Edition) -> Sampling:
    """How tokens are drawn, with each version's own defaults."""
    usual, names = _USUAL[edition], (*_NUMBERS, "min_p") if edition == "observed" else _NUMBERS
    stated: dict[str, Any] = {name: float(fields[name]) for name in names if name in fields}
    if not sampled(fields):
        # Without sampling no seed matters: "temperature 0 = greedy", and beams are not drawn either.
        stated |= {"seeds": (), "temperature": 0.0, "top_k": 0}
    else:
        stated["top_k"] = max(fields.get("top_k", usual.top_k), 0)
        if "seed" in fields:
            stated["seeds"] = (fields["seed"],)
    # "best_of > 1 means beam search"
    return usual._replace(**stated, beams=fields.get("best_of", 1))
