"""Failures as values: a neutral kind, which each dialect's error table translates into the vendor's own answer."""

import json
from enum import StrEnum
from typing import NamedTuple

from mockserver.core.http import Call


class FailureKind(StrEnum):
    """Why a request is refused, in neutral names that each dialect's error table translates."""

    MALFORMED_JSON = "malformed_json"
    NOT_AN_OBJECT = "not_an_object"
    INVALID_REQUEST = "invalid_request"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    BODY_TOO_LARGE = "body_too_large"
    MISSING_CREDENTIALS = "missing_credentials"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    PAYMENT_REQUIRED = "payment_required"
    UNKNOWN_MODEL = "unknown_model"
    UNKNOWN_PATH = "unknown_path"
    WRONG_METHOD = "wrong_method"
    CONTEXT_LENGTH = "context_length"
    CONTENT_FILTER = "content_filter"
    CHAT_TEMPLATE = "chat_template"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    SERVER_ERROR = "server_error"


class Violation(NamedTuple):
    """One way in which a body violates its contract.

    `path` leads to the offending value (keys and indexes from the body's root), `rule` is the JSON Schema keyword that
    it violates, `expected` that keyword's value in the schema, `found` the offending value (None if it is missing).
    """

    path: tuple[str | int, ...]
    rule: str
    message: str
    expected: object = None
    found: object = None

    @property
    def field(self) -> str:
        """The path as text: `messages[0].role`."""
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return text.removeprefix(".")


class Refusal(NamedTuple):
    """A refusal, before the dialect's error table has made an answer of it.

    - `message`: the wording; if empty, the table's own.
    - `param`: the field to blame.
    - `key`: the credentials that were sent.
    - `status`, `code`: override the table's, for kinds that have several on the wire. `type`: the vendor's word for the
      kind, once the answer is made, if its table has words.
    - `streamed`: whether the vendor sends this refusal as a stream.
    - `headers`: sent in addition to the table's.
    - `model`: the name of the model that was asked for, if it is known, for tables whose own wording names it.
    - `identity`: determines the ids of the answer, once it is made, for vendors whose bodies state one.
    - `call`: what is refused, once the answer is made, for vendors whose bodies depend on the way in.
    """

    kind: FailureKind
    message: str = ""
    param: str | None = None
    violations: tuple[Violation, ...] = ()
    key: str | None = None
    status: int | None = None
    streamed: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()
    code: str | None = None
    type: str | None = None
    model: str | None = None
    identity: int = 0
    call: Call | None = None

    @property
    def reason(self) -> str:
        """Why, on one line: its message, else its violations, else its kind."""
        violations = "; ".join(f"{each.field or 'body'}: {each.message}" for each in self.violations)
        return " ".join(self.message.split()) or violations or self.kind.replace("_", " ")


class SimulatorError(NamedTuple):
    """An error of the simulator's own, outside any vendor's format: nothing is served there, or a header of ours cannot
    be obeyed.

    `nearest` are served paths that may have been meant, if nothing is served there.
    """

    status: int
    kind: str
    message: str
    nearest: tuple[str, ...] = ()

    @property
    def body(self) -> bytes:
        """The answer as JSON, in a format that every OpenAI-style client can show."""
        nearest = {"nearest": self.nearest} if self.nearest else {}
        error = {"message": self.message, "type": f"mockserver_{self.kind}", **nearest}
        return json.dumps({"error": error}, indent=2, ensure_ascii=False).encode("utf-8", "replace")
