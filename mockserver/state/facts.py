"""The facts of a request: what criteria are applied to, and what functions of users receive."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

import orjson

from mockserver.core.failures import Refusal
from mockserver.core.generation import GenerationRequest
from mockserver.core.json_values import Path, nests_absurdly, values_at
from mockserver.core.matching.whole_requests import WHOLE, WHOLE_WITH_IDS, whole_request, without_secrets
from mockserver.core.messages import WithHints
from mockserver.core.regexes import renew_time_budget
from mockserver.state.context import RequestContext

_VARIABLE = re.compile(r"{(\w+)}")
_BOUNDARY = re.compile(r'boundary="?([^";, ]+)')


class RequestFacts(WithHints):
    """The facts of a request, under the names that criteria use; None for what it does not have.

    - `dialect`, `operation`: their names. `path`: the dialect's own, or that of a route of the user's own.
    - `headers`: by name in lower case; of several with the same name the first counts.
    - `prompt`: everything that the model reads, the prompt or the whole conversation; of several prompts the last.
    - `messages`: the conversation, oldest first; none for a completion.
    - `tools`: the names of the tools on offer. `tool_result`: that of the tool whose result is the last message.
    - `number` counts the requests to a model in the namespace, `attempt` the attempts of this request after failures,
      both from 1 on.

    What is searched in them shares one budget of time, which begins now.
    """

    def __init__(
        self, context: RequestContext, request: GenerationRequest | None = None, number: int = 1, attempt: int = 1
    ) -> None:
        renew_time_budget()
        route, self.call = context.route, context.call
        self.dialect = route.dialect.name
        self.operation = route.operation.name if route.operation is not None else None
        self.path = route.configured.path if route.configured is not None else self.call.path
        self.method = self.call.method
        self.headers: Mapping[str, str] = self.call.headers
        self.model = request.model if request is not None else None
        self.stream = request is not None and request.output.stream
        self.tools = tuple([tool.name for tool in request.tools]) if request is not None else ()
        self.number, self.attempt = number, attempt
        self._route = route
        self._prompts = request.prompts if request is not None else ()
        self.prompt = self._prompts[-1].text if self._prompts else None
        self.messages = self._prompts[-1].messages if self._prompts else ()
        self.tool_result = self.messages[-1].answers if self.messages else None
        self._values: dict[tuple[str, Path], Sequence[object]] = {}

    @property
    def key(self) -> str | None:
        """The API key."""
        credentials = self._route.dialect.credentials
        return credentials(self.call) if credentials is not None else None

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
            body = body.replace(b"--" + boundary[1].encode("latin-1", "replace"), b"--boundary")
        try:
            return without_secrets(body.decode())
        except UnicodeDecodeError:
            return b64encode(body).decode()

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
                return self._prompts[-1].instructions if self._prompts else ()
            case "tool":
                return self.tools
            case _ if field in (WHOLE, WHOLE_WITH_IDS):
                volatile = tuple(map(str, path))
                return [whole_request(self.sent, self.call.query, volatile, with_ids=field == WHOLE_WITH_IDS)]
            case _:
                value = getattr(self, field)
        return () if value is None else (value,)


def _first(values: Sequence[object]) -> str | None:
    return str(values[0]) if values else None
