"""A table of all ways to ask for a text, by dialect, operation, edition and backend; many tests run over it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mockserver.core.dialects import Edition
from mockserver.core.installed import load_dialect
from tests.support.asking import QUIET, Answer, ask

Json = Mapping[str, Any]


def _completion(model: str, **more: Any) -> Callable[[str], dict[str, Any]]:
    return lambda prompt: {"model": model, "prompt": prompt, **more}


def _chat(model: str) -> Callable[[str], dict[str, Any]]:
    return lambda prompt: {"model": model, "messages": [{"role": "user", "content": prompt}]}


def _message_body(prompt: str) -> dict[str, Any]:
    return {**_chat("claude-sonnet-4-5")(prompt), "max_tokens": 2_000}


def _response(model: str) -> Callable[[str], dict[str, Any]]:
    return lambda prompt: {"model": model, "input": prompt}


def _text(choice: Json) -> str:
    return str(choice["text"])


def _message(choice: Json) -> str:
    return str(choice["message"]["content"])


def _delta(choice: Json) -> str:
    return choice["delta"].get("content") or ""


def _chunks_text(piece: Callable[[Json], str]) -> Callable[[Sequence[Any], int], str]:
    def text(events: Sequence[Any], index: int) -> str:
        chunks = [event for event in events if event != "[DONE]"]
        return "".join(piece(c) for chunk in chunks for c in chunk["choices"] if c["index"] == index)

    return text


def _output_text(events: Sequence[Any], index: int) -> str:
    kinds = ("response.output_text.delta", "response.refusal.delta")
    return "".join(e["delta"] for e in events if e != "[DONE]" and e["type"] in kinds)


def _sampled_text(events: Sequence[Any], index: int) -> str:
    return "".join(e["text"] for e in events if e["event"] == "token_sampled" and e["index"] == index)


def _blocks_text(message: Json) -> str:
    return "".join(block["text"] for block in message["content"] if block["type"] == "text")


def _text_deltas(events: Sequence[Any], index: int) -> str:
    return "".join(e["delta"].get("text", "") for e in events if e["type"] == "content_block_delta")


def _last_usage(events: Sequence[Any]) -> Json | None:
    told = (event.get("response", event) for event in reversed(events) if event != "[DONE]")
    return next((_of_a_chat(each["usage"]) for each in told if each.get("usage")), None)


def _of_a_chat(usage: Json) -> Json:
    """A usage under the names that chats have; that of a message counts cached tokens apart."""
    if "cache_read_input_tokens" in usage:
        read = sum(usage[name] for name in usage if name.endswith("input_tokens"))
        said = usage["output_tokens"]
        return {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}
    names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
    return {names.get(name, name): count for name, count in usage.items()}


def said_in(response: Json) -> str:
    """The text of all messages of a response."""
    parts = (part for item in response["output"] if item["type"] == "message" for part in item["content"])
    return "".join(part["text"] if part["type"] == "output_text" else part["refusal"] for part in parts)


@dataclass(frozen=True)
class Shape:
    """A way to ask for a text: how the request is made, and how its answers are read. `least` is the lowest limit in
    tokens, `strict` whether fields of other ways are refused."""

    id: str
    dialect: str
    body: Callable[[str], dict[str, Any]]
    path: str | None = None
    edition: Edition = "documented"
    plain_text: Callable[[Json], str] = _text
    stream_text: Callable[[Sequence[Any], int], str] = field(default=_chunks_text(_text))
    stream_extra: Mapping[str, Any] = field(default_factory=dict)
    stream_usage: bool = True
    many: bool = True
    least: int = 1
    strict: bool = False

    @property
    def supports_tools(self) -> bool:
        """Whether its operation supports tools."""
        operations = load_dialect(self.dialect).operations
        return next(each for each in operations if self.path is None or self.path in each.paths).supports_tools

    @property
    def messages(self) -> bool:
        """Whether it is the Messages API, which has content blocks for choices."""
        return self.dialect == "anthropic" or (self.path or "").endswith("/messages")

    @property
    def responds(self) -> bool:
        """Whether it is the Responses API, which has its own names for limits, and items for choices."""
        return "input" in self.body("")

    @property
    def chats(self) -> bool:
        """Whether it takes messages, and has the log-probabilities of chats."""
        return "messages" in self.body("") and not self.messages

    def plain(self, prompt: str, seed: int = 42, fault: str = "", **fields: Any) -> Answer:
        """The whole answer to a prompt."""
        return self._ask(self.body(prompt) | self.named(fields), seed, fault)

    def stream(self, prompt: str, seed: int = 42, fault: str = "", **fields: Any) -> Answer:
        """The streamed answer to a prompt."""
        body = {**self.body(prompt), "stream": True, **self.stream_extra, **self.named(fields)}
        return self._ask(body, seed, fault)

    def named(self, fields: Json) -> dict[str, Any]:
        """The fields of a chat by the names that they have here."""
        limit = {"max_tokens": "max_output_tokens"} if self.responds else {}
        limit |= {"stop": "stop_sequences"} if self.messages else {}
        return {limit.get(name, name): value for name, value in fields.items()}

    def text(self, answer: Answer, index: int = 0) -> str:
        """The text of a choice, plain or streamed."""
        if answer.plan.timeline.streamed:
            return self.stream_text(answer.events(), index)
        if self.responds:
            return said_in(answer.json())
        if self.messages:
            return _blocks_text(answer.json())
        return self.plain_text(answer.json()["choices"][index])

    def usage(self, answer: Answer) -> Json | None:
        """The usage that an answer states."""
        if answer.plan.timeline.streamed:
            return _last_usage(answer.events())
        return _of_a_chat(answer.json()["usage"])

    def _ask(self, body: Json, seed: int, fault: str) -> Answer:
        headers = {"x-mockserver-seed": str(seed), "x-mockserver-fault": fault}
        return ask(
            self.dialect, body, path=self.path, method="POST", headers=headers, edition=self.edition, settings=QUIET
        )


_USAGE = {"stream_options": {"include_usage": True}}
_CHAT: dict[str, Any] = {"plain_text": _message, "stream_text": _chunks_text(_delta)}

_RESPONSE: dict[str, Any] = {"stream_text": _output_text, "many": False}

OVMS_CHAT = "/v3/chat/completions"

SHAPES = (
    Shape("anthropic", "anthropic", _message_body, stream_text=_text_deltas, many=False, strict=True),
    Shape("cerebras", "cerebras", _completion("llama3.1-8b"), many=False),
    Shape("cerebras-observed", "cerebras", _completion("gpt-oss-120b"), edition="observed"),
    Shape("cerebras-chat", "cerebras", _chat("llama-3.3-70b"), "/v1/chat/completions", **_CHAT),
    Shape(
        "cerebras-chat-observed",
        "cerebras",
        _chat("my-own-model"),
        "/v1/chat/completions",
        "observed",
        many=False,
        **_CHAT,
    ),
    Shape("friendli", "friendli", _completion("meta-llama-3.1-8b-instruct"), stream_text=_sampled_text),
    Shape("friendli-container", "friendli", _completion("m"), edition="observed", stream_extra=_USAGE),
    Shape("friendli-serverless", "friendli", _completion("m"), "/serverless/v1/completions", stream_extra=_USAGE),
    Shape("friendli-dedicated", "friendli", _completion("m"), "/dedicated/v1/completions", stream_extra=_USAGE),
    Shape("friendli-chat", "friendli", _chat("m"), "/v1/chat/completions", stream_usage=False, **_CHAT),
    Shape(
        "friendli-chat-container",
        "friendli",
        _chat("m"),
        "/v1/chat/completions",
        edition="observed",
        stream_extra=_USAGE,
        **_CHAT,
    ),
    Shape(
        "friendli-chat-serverless",
        "friendli",
        _chat("m"),
        "/serverless/v1/chat/completions",
        stream_extra=_USAGE,
        **_CHAT,
    ),
    Shape("openai-chat", "openai", _chat("gpt-4o-mini"), stream_extra=_USAGE, **_CHAT),
    # Without a limit an answer has 16 tokens.
    Shape(
        "openai",
        "openai",
        _completion("gpt-3.5-turbo-instruct", max_tokens=2_000),
        "/v1/completions",
        stream_extra=_USAGE,
    ),
    Shape("ovms", "ovms", _completion("llama3"), stream_extra=_USAGE, many=False),
    Shape("ovms-observed", "ovms", _completion("llama3"), edition="observed", stream_extra=_USAGE, many=False),
    Shape("ovms-chat", "ovms", _chat("llama3"), OVMS_CHAT, stream_extra=_USAGE, many=False, **_CHAT),
    Shape(
        "ovms-chat-observed", "ovms", _chat("llama3"), OVMS_CHAT, "observed", stream_extra=_USAGE, many=False, **_CHAT
    ),
    Shape("upstash", "upstash", _chat("meta-llama/Meta-Llama-3-8B-Instruct"), **_CHAT),
    Shape("yandex-d1", "yandex", _chat("gpt://folder/yandexgpt/latest"), **_CHAT),
    Shape("yandex-d2", "yandex", _chat("gpt://folder/qwen3-235b-a22b-fp8/latest"), **_CHAT),
    Shape(
        "openai-responses",
        "openai",
        _response("gpt-4o-mini"),
        "/v1/responses",
        least=16,
        strict=True,
        **_RESPONSE,
    ),
    Shape("friendli-messages", "friendli", _chat("m"), "/serverless/v1/messages", stream_text=_text_deltas, many=False),
    Shape("friendli-responses", "friendli", _response("m"), "/serverless/v1/responses", **_RESPONSE),
    Shape("ovms-responses-observed", "ovms", _response("llama3"), "/v3/responses", "observed", **_RESPONSE),
    Shape("yandex-responses-d1", "yandex", _response("gpt://folder/yandexgpt/latest"), "/v1/responses", **_RESPONSE),
    Shape(
        "yandex-responses-d2",
        "yandex",
        _response("gpt://folder/qwen3-235b-a22b-fp8/latest"),
        "/v1/responses",
        **_RESPONSE,
    ),
)
