"""What is read of requests in OpenAI's format, as all APIs that descend from it do: credentials, fields, messages with
images, tools and the choice among them."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import orjson

from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Constraint, Message, Prompt, Sampling, Tool, ToolChoice
from mockserver.core.http import Call
from mockserver.core.json_values import DEEPEST, is_shallow
from mockserver.core.seeding import fingerprint
from mockserver.model import tokens
from mockserver.model.tokens import token_count

# The body of a request, or an object in it, by the names of its fields.
Body = Mapping[str, Any]


def json_object(body: bytes) -> dict[str, Any] | Refusal:
    """The body as a JSON object, or why it is none; what nests absurdly deep counts as malformed."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return Refusal(FailureKind.MALFORMED_JSON)
    if not isinstance(value, dict):
        return Refusal(FailureKind.NOT_AN_OBJECT)
    # Each level has a bracket: few bodies have so many.
    if body.count(b"[") + body.count(b"{") > DEEPEST and not is_shallow(value):
        return Refusal(FailureKind.MALFORMED_JSON)
    return value


def bearer(call: Call) -> str | None:
    """The key of an `Authorization: Bearer` header, None if there is none."""
    scheme, _, key = (call.headers.get("authorization") or "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None


def api_key(call: Call) -> str | None:
    """The key of a call: that of `Authorization: Bearer`, as OpenAI takes it, or of `api-key`, as Azure does."""
    return bearer(call) or call.headers.get("api-key") or None


def is_azure(call: Call) -> bool:
    """Whether a call comes Azure's way: by its key, its version, or a deployment."""
    return "api-key" in call.headers or "api-version=" in call.query or call.path.startswith("/deployments/")


def sent_json(call: Call) -> dict[str, Any] | Refusal:
    """The body of a call as a JSON object, or why it is none. What says that it is of another type is not looked at
    (reported); what is said to Azure is not known to matter."""
    if "json" not in (call.headers.get("content-type") or "json").lower() and not is_azure(call):
        return Refusal(FailureKind.UNSUPPORTED_MEDIA_TYPE)
    return json_object(call.body)


def stop_texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """A `stop` field as a tuple: one text, several, or none."""
    if not value:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


def whole(value: float | None) -> int | None:
    """An integer as an int: JSON Schema accepts 3.0 as one too."""
    return None if value is None else int(value)


def number_or(value: float | None, default: float) -> float:
    """The number, or the default if there is none."""
    return default if value is None else value


_SAMPLING_FIELDS = {"seed", "temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias"}
_USUAL = Sampling()


def sampling(body: Body) -> Sampling:
    """How the tokens are drawn, by the fields that OpenAI has for it; null stands for the default."""
    if _SAMPLING_FIELDS.isdisjoint(body):
        return _USUAL
    seed = whole(body.get("seed"))
    return Sampling(
        seeds=() if seed is None else (seed,),
        temperature=number_or(body.get("temperature"), 1.0),
        top_p=number_or(body.get("top_p"), 1.0),
        frequency_penalty=number_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=number_or(body.get("presence_penalty"), 0.0),
        logit_bias=token_biases(body.get("logit_bias")),
    )


def token_biases(value: Mapping[str, float] | None) -> tuple[tuple[int, float], ...]:
    """A `logit_bias` field as (token, bias); keys that are no token's id are ignored."""
    return tuple((int(key), float(bias)) for key, bias in (value or {}).items() if _is_token(key))


def _is_token(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) < 10 and int(key) < tokens.VOCABULARY_SIZE


def read_format(form: Body | None) -> Constraint | None:
    """The constraint of a `response_format`; None if any text will do."""
    if form is None or form["type"] == "text":
        return None
    schema = form["json_schema"].get("schema") if form["type"] == "json_schema" else None
    return Constraint("json_object") if schema is None else Constraint("json_schema", schema)


def text_prompt(value: str | Sequence[int]) -> Prompt:
    """A prompt to be continued, given as text or as token ids."""
    if isinstance(value, str):
        return Prompt(value, value, token_count(value))
    ids = tuple(int(token) for token in value)
    text = tokens.decode(ids)
    return Prompt(text, text, len(ids), ids=ids)


def text_prompts(value: str | Sequence[str] | Sequence[int] | Sequence[Sequence[int]]) -> tuple[Prompt, ...]:
    """The `prompt` field of a completions request: a text, texts, token ids, or lists of them."""
    if isinstance(value, str) or not value or isinstance(value[0], int | float):
        return (text_prompt(value),)  # type: ignore[arg-type]
    return tuple(text_prompt(item) for item in value)  # type: ignore[arg-type]


# --- messages ----------------------------------------------------------------------------------------------------

# The tokens that a chat template adds to each message, and in front of the answer.
_MESSAGE_OVERHEAD = 4
_ANSWER_OVERHEAD = 3
# The fields of messages that only say something, and who sends such messages.
_PLAIN_FIELDS = {"role", "content"}
_SPEAKERS = {"user", "assistant", "system", "developer"}


def chat_prompt(messages: Sequence[Body], tools: object = None) -> Prompt:
    """A conversation as a prompt. Its topic is the last user message, or without one the last message.

    The `tools` on offer count as many tokens as their JSON has. A tool's result names its tool, found by the call that
    it answers. Everything here accepts any JSON whose messages are objects.
    """
    names: dict[str, str] = {}
    history, lines = [], []
    topic, last, count = None, "", _ANSWER_OVERHEAD
    for message in messages:
        role, content = str(message.get("role", "")), message.get("content")
        text = said = content if isinstance(content, str) else content_text(content)
        if message.keys() <= _PLAIN_FIELDS and role in _SPEAKERS:
            history.append(Message(role, text))
        else:
            # The model reads neither the ids of calls nor the order of their keys.
            rows, answers, refusal = _call_rows(message), None, message.get("refusal")
            said += "".join([f"{call.get('name')}({_call_text(call)})" for _, call in rows])
            said += refusal if isinstance(refusal, str) else ""
            calls = called(message)
            names.update((id_, name) for id_, name in calls if id_)
            if role == "tool":
                id_ = str(message.get("tool_call_id", ""))
                answers = names.get(id_, id_)
            elif role == "function":
                answers = str(message.get("name", ""))
            history.append(Message(role, text, answers, tuple([name for _, name in calls])))
        lines.append(f"{role}: {said}")
        count += token_count(said) + _MESSAGE_OVERHEAD
        last = said
        if role == "user":
            topic = said
    if tools:
        count += token_count(orjson.dumps(tools).decode())
    return Prompt("\n".join(lines), last if topic is None else topic, count, chat=True, messages=tuple(history))


def called(message: Body) -> Sequence[tuple[str, str]]:
    """The tools that a message calls, as (id, name); a function of the older form has no id."""
    rows = _call_rows(message)
    return [(id_, str(call["name"])) for id_, call in rows if "name" in call] if rows else ()


def _call_rows(message: Body) -> Sequence[tuple[str, Body]]:
    """The calls of a message with their ids: names and arguments. Most messages have none."""
    found, older = message.get("tool_calls"), message.get("function_call")
    if not found and older is None:
        return ()
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    calls = [(str(row.get("id", "")), row.get("function") or row.get("custom")) for row in rows]
    calls.append(("", older))
    return [(id_, call) for id_, call in calls if isinstance(call, dict)]


def _call_text(call: Body) -> str:
    written = call.get("arguments", call.get("input", ""))
    return written if isinstance(written, str) else orjson.dumps(written).decode()


def parts(message: Body) -> Sequence[Body]:
    """The content parts of a message; plain text has none."""
    content = message.get("content")
    return content if isinstance(content, list) else ()


def content_text(content: object) -> str:
    """The text of a message's content, or the texts of its parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = [part.get("text") or part.get("refusal") for part in content if isinstance(part, dict)]
    return "".join([text for text in texts if isinstance(text, str)])


# --- images ------------------------------------------------------------------------------------------------------


def with_images(prompt: Prompt, messages: Sequence[Body], tokens_each: int | None = None) -> Prompt:
    """The prompt of a conversation with its images, each of which, by its URL, changes the answer. It counts tokens as
    the vendor states for gpt-4o, unless all images count the same."""
    media: list[tuple[str, str, int]] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            images = [part["image_url"] for part in content if part.get("type") == "image_url"]
            media += [("image", str(each["url"]), tokens_each or _image_tokens(each)) for each in images]
    return with_media(prompt, media) if media else prompt


def with_media(prompt: Prompt, media: Sequence[tuple[str, str, int]]) -> Prompt:
    """The same with media of any kind: for each its kind, its URL, and how many tokens it counts."""
    if not media:
        return prompt
    seen = "\n".join(f"{kind}: {fingerprint(url.encode())}" for kind, url, _ in media)
    count = prompt.token_count + sum(tokens for _, _, tokens in media)
    return prompt._replace(text=f"{prompt.text}\n{seen}", token_count=count)


def image_of(part: Body) -> str | None:
    """The URL of the image that a part shows, None if it shows none."""
    return str(part["image_url"]["url"]) if part.get("type") == "image_url" else None


def image_urls(messages: Sequence[Body], url_of: Callable[[Body], str | None] = image_of) -> list[str]:
    """The URLs of all images, in order; `url_of` finds that of a part."""
    return [url for message in messages for part in parts(message) if (url := url_of(part)) is not None]


# An image of low detail counts so many tokens, any other as many more for each tile. It is first scaled down to fit a
# square, then until its shorter side has so many pixels (the vendor's page on images, for gpt-4o).
_BASE, _EACH_TILE, _TILE, _SQUARE, _SHORTER = 85, 170, 512, 2_048, 768
_UNMEASURED = (1_024, 1_024)
# How far into a file its size is looked for, in characters of base64.
_HEAD = 4 * 65_536
_SIZED_SEGMENTS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _image_tokens(image: Body) -> int:
    if image.get("detail") == "low":
        return _BASE
    width, height = image_size(image["url"]) or _UNMEASURED
    scale = min(1, _SQUARE / max(width, height))
    scale *= min(1, _SHORTER / (min(width, height) * scale))
    return _BASE + _EACH_TILE * ceil(width * scale / _TILE) * ceil(height * scale / _TILE)


def image_size(url: str) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG or a JPEG in a data URL; None if they cannot be found."""
    _, is_data, data = url.partition(";base64,")
    if not is_data:
        return None
    try:
        head = b64decode(data[:_HEAD])
    except ValueError:
        return None
    if head.startswith(b"\x89PNG"):
        sides: tuple[int, int] | None = (int.from_bytes(head[16:20]), int.from_bytes(head[20:24]))
    else:
        sides = next(_jpeg_sides(head), None)
    return sides if sides and all(sides) else None


def _jpeg_sides(data: bytes) -> Iterator[tuple[int, int]]:
    """The sides that segments state: a segment begins with FF, its kind and its length."""
    place = 2
    while data[place : place + 1] == b"\xff" and place + 9 <= len(data):
        if data[place + 1] in _SIZED_SEGMENTS:
            yield int.from_bytes(data[place + 7 : place + 9]), int.from_bytes(data[place + 5 : place + 7])
        place += 2 + int.from_bytes(data[place + 2 : place + 4])


# --- tools -------------------------------------------------------------------------------------------------------

_MODES: Mapping[object, ToolChoice] = {
    "none": ToolChoice("none"),
    "auto": ToolChoice("auto"),
    "required": ToolChoice("required"),
}


class Offer(NamedTuple):
    """The tools that a request offers, and the choice among them."""

    tools: tuple[Tool, ...]
    choice: ToolChoice


NO_OFFER = Offer((), _MODES["auto"])


def read_offer(body: Body) -> Offer:
    """The tools of a chat that offers any, and the choice among them; the older form of both is `functions`."""
    rows = body.get("tools")
    if not rows:
        choice = body.get("function_call")
        named = ToolChoice("required", (choice["name"],)) if isinstance(choice, Mapping) else _MODES[choice or "auto"]
        return Offer(tuple(map(function_tool, body["functions"])), named._replace(parallel=False, legacy=True))
    parallel = body.get("parallel_tool_calls") is not False
    return Offer(tuple(map(any_tool, rows)), tool_choice(body.get("tool_choice"), parallel=parallel))


def function_tools(rows: Sequence[Body] | None) -> tuple[Tool, ...]:
    """The `tools` of a request: rows of `{"type": "function", "function": {"name", "description", "parameters"}}`."""
    return tuple(function_tool(row["function"]) for row in rows or ())


def function_tool(function: Body) -> Tool:
    """One function. Without `parameters` it takes no arguments; clients send null for fields that they leave out."""
    return Tool(function["name"], function.get("description") or "", function.get("parameters") or {})


def any_tool(row: Body) -> Tool:
    """A function, or a custom tool: `{"type": "custom", "custom": {"name", "description", "format"}}`."""
    if row["type"] == "function":
        return function_tool(row["function"])
    custom, constraint = row["custom"], None
    form = custom.get("format") or {}
    grammar = form.get("grammar", form)
    if form.get("type") == "grammar" and grammar["syntax"] == "regex":
        constraint = Constraint("regex", grammar["definition"])
    return Tool(custom["name"], custom.get("description") or "", constraint, kind="custom")


def parameters_fault(function: Body) -> str | None:
    """Why no call of a function could fit its `parameters`, which must be a schema that some object conforms to."""
    if not function.get("parameters"):
        return None
    # Imported with the first tool: most servers are never offered one.
    from mockserver.model.tools.calls import arguments_fault

    return arguments_fault(function["parameters"])


def tool_choice(value: str | Body | None, *, parallel: bool = True) -> ToolChoice:
    """A `tool_choice`: one of three words, a tool by its name, or several of them. Without one it is `auto`."""
    if value is None or isinstance(value, str):
        choice = _MODES[value or "auto"]
        return choice if parallel else choice._replace(parallel=False)
    if value["type"] == "allowed_tools":
        allowed = value["allowed_tools"]
        return ToolChoice(allowed["mode"], tuple(row[row["type"]]["name"] for row in allowed["tools"]), parallel)
    return ToolChoice("required", (value[value["type"]]["name"],), parallel)


def unknown_tool(choice: ToolChoice, tools: Sequence[Tool]) -> str | None:
    """A tool that the choice names, but the request does not offer."""
    offered = {tool.name for tool in tools}
    return next((name for name in choice.names if name not in offered), None)


def unanswered(ids: Iterable[str]) -> str:
    """What is said of a chat in which no results of calls with these ids follow them."""
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(ids)}"
    )
