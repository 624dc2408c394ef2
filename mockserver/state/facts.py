"""The facts of a request: what criteria are applied to, and what functions of users receive."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

import orjson

from mockserver.core.calls import Call
from mockserver.core.failures import Refusal
from mockserver.core.generation import INSTRUCTING, GenerationRequest, Message, Prompt
from mockserver.core.json_values import Path, nests_absurdly, values_at
from mockserver.core.matching.whole_requests import WHOLE, WHOLE_WITH_IDS, whole_request, without_secrets
from mockserver.core.regexes import renew_time_budget
from mockserver.state.context import RequestContext

_VARIABLE = re.compile(r"{(\w+)}")
_BOUNDARY = re.compile(r'boundary="?([^";, ]+)')


class RequestFacts:
    """The facts of a request, under the names that criteria use; None for what it does not have.

    `number` counts the requests to a model in the namespace, `attempt` the attempts of this request after failures,
    both from 1 on. What is searched in them shares one budget of time, which begins now.
    """

    def __init__(
        self, context: RequestContext, request: GenerationRequest | None = None, number: int = 1, attempt: int = 1
    ) -> None:
        renew_time_budget()
        self.number = number
        self.attempt = attempt
        self._route = context.route
        self._request = request
        self._values: dict[tuple[str, Path], Sequence[object]] = {}
        self.call: Call = context.call

    @property
    def dialect(self) -> str:
        """The dialect's name."""
        return self._route.dialect.name

    @property
    def operation(self) -> str | None:
        """The operation's name."""
        return self._route.operation.name if self._route.operation is not None else None

    @property
    def path(self) -> str:
        """The dialect's own path, or that of a route of the user's own."""
        return self._route.configured.path if self._route.configured is not None else self.call.path

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.call.method

    @property
    def model(self) -> str | None:
        """The model that is asked for."""
        return self._request.model if self._request is not None else None

    @property
    def stream(self) -> bool:
        """Whether a stream is asked for."""
        return self._request is not None and self._request.output.stream

    @property
    def key(self) -> str | None:
        """The API key."""
        credentials = self._route.dialect.credentials
        return credentials(self.call) if credentials is not None else None

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers by name in lower case; of several with the same name the first counts."""
        return self.call.headers

    @cached_property
    def body(self) -> Any:
        """The body as JSON, unpacked if necessary; None if it is not JSON, or nests absurdly deep."""
        try:
            value = orjson.loads(self.call.body)
            return None if nests_absurdly(self.call.body, value) else value
        except orjson.JSONDecodeError:
            unpacked = self._route.dialect.unpacked
            value = unpacked(self.call) if unpacked is not None else None
            return None if isinstance(value, Refusal) else value

    @cached_property
    def sent(self) -> Any:
        """The body as recordings have it: JSON with its secrets masked, or else a text without multipart boundaries."""
        if self.body is not None:
            return without_secrets(self.body)
        body = self.call.body
        boundary = _BOUNDARY.search(self.call.headers.get("content-type", ""))
        if boundary is not None:
            body = body.replace(boundary[1].encode("latin-1", "replace"), b"boundary")
        try:
            return without_secrets(body.decode())
        except UnicodeDecodeError:
            return b64encode(body).decode()

    @property
    def prompt(self) -> str | None:
        """Everything that the model reads: the prompt, or the whole conversation; of several prompts the last."""
        return self._prompts[-1].text if self._prompts else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, oldest first; none for a completion."""
        return self._prompts[-1].messages if self._prompts else ()

    @property
    def last_user(self) -> str | None:
        """The last user message; for a completion the prompt."""
        return _first(self.values("last_user", ()))

    @property
    def last_message(self) -> str | None:
        """The last message of any role; for a completion the prompt."""
        return _first(self.values("last_message", ()))

    @property
    def system(self) -> str | None:
        """The first system message."""
        return _first(self.values("system", ()))

    @property
    def turn(self) -> int:
        """How many user messages there are; one for a completion."""
        users = sum(message.role == "user" for message in self.messages)
        return users if self.messages else len(self._prompts[-1:])

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools on offer."""
        return tuple(tool.name for tool in self._request.tools) if self._request is not None else ()

    @property
    def tool_result(self) -> str | None:
        """The name of the tool whose result is the last message."""
        return self.messages[-1].answers if self.messages else None

    def values(self, field: str, path: Path) -> Sequence[object]:
        """The values of a field, of which there may be none or several; looked up once."""
        found = self._values.get((field, path))
        if found is None:
            found = self._values[field, path] = self._look_up(field, path)
        return found

    def _look_up(self, field: str, path: Path) -> Sequence[object]:
        variables = self._route.variables
        match field:
            case "path" if variables:
                # As the routes have it (`/v1/models/{id}`), and as it was requested.
                return self.path, _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), self.path)
            case "headers":
                value = self.headers.get(str(path[0]))
            case "query":
                sent = parse_qsl(self.call.query, keep_blank_values=True)
                return [value for name, value in sent if name == path[0]]
            case "body":
                return values_at(path, self.body) if self.body is not None else ()
            case "prompt":
                return [prompt.text for prompt in self._prompts]
            case "last_user" | "last_message" if not self.messages:
                return [prompt.topic for prompt in self._prompts]
            case "last_user":
                return [next((each.text for each in reversed(self.messages) if each.role == "user"), "")]
            case "last_message":
                return [self.messages[-1].text]
            case "system":
                return [message.text for message in self.messages if message.role in INSTRUCTING]
            case "tool":
                return self.tools
            case _ if field in (WHOLE, WHOLE_WITH_IDS):
                volatile = tuple(map(str, path))
                return [whole_request(self.sent, self.call.query, volatile, with_ids=field == WHOLE_WITH_IDS)]
            case _:
                value = getattr(self, field)
        return () if value is None else (value,)

    @property
    def _prompts(self) -> tuple[Prompt, ...]:
        return self._request.prompts if self._request is not None else ()


def _first(values: Sequence[object]) -> str | None:
    return str(values[0]) if values else None
