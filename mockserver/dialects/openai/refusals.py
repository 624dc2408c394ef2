"""OpenAI's refusals of bodies that break the contract and of models, and what several endpoints refuse."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.http import Call
from mockserver.core.json_values import type_of
from mockserver.dialects.contracts import Contract
from mockserver.dialects.openai.errors import NO_MODEL, WORDS
from mockserver.dialects.openai.models import EFFORTS, Endpoint, Family
from mockserver.dialects.openai.read import Body, content_text, sent_json

_REFERENCE = "Please check the API reference: https://platform.openai.com/docs/api-reference."
# The most characters of a value that a message repeats.
LONGEST_ECHO = 1000


def refused(message: str, param: str | None = None, code: str | None = None, status: int | None = None) -> Refusal:
    """A refusal with 400, or another status, that blames a parameter."""
    return Refusal(FailureKind.INVALID_REQUEST, message, param, code=code, status=status)


# --- what breaks the contract ------------------------------------------------------------------------------------


def valid_body(call: Call, contract: Contract, *, responses: bool = False) -> Body | Refusal:
    """The body of a call that keeps to a contract, or why it is refused."""
    body = sent_json(call)
    if isinstance(body, Refusal) and body.kind is FailureKind.UNSUPPORTED_MEDIA_TYPE:
        kind = call.headers["content-type"][:LONGEST_ECHO]
        words = (
            f"Unsupported content type: '{kind}'. This API method only accepts 'application/json' requests, but you "
            f"specified the header 'Content-Type: {kind}'. Please try again with a supported content type."
        )
        return body._replace(message=words, code="unsupported_content_type")
    if isinstance(body, Refusal) or contract.accepts(body):
        return body
    return explain(contract.violations(body), responses=responses)


def explain(violations: Sequence[Violation], *, responses: bool = False) -> Refusal:
    """The refusal of a body that breaks the contract: for a missing model, unknown fields, or its first violation.

    Of `responses`, unknown fields are told like unknown members of objects.
    """
    if not violations:
        # Two validators read the contract, and the strict one alone is asked for reasons.
        return Refusal(FailureKind.INVALID_REQUEST)
    return _told(violations, responses=responses)._replace(violations=tuple(violations))


def _told(violations: Sequence[Violation], *, responses: bool) -> Refusal:
    unknown = [v for v in violations if v.rule == "additionalProperties" and len(v.path) == 1]
    if not responses and any(v.path == ("model",) and not v.found for v in violations):
        return refused(NO_MODEL)
    if unknown and not responses:
        names = ", ".join(str(v.path[0])[:LONGEST_ECHO] for v in unknown)
        return refused(f"Unrecognized request argument{'s' * (len(unknown) > 1)} supplied: {names}")
    first = (unknown or violations)[0]
    if first.path == ("dimensions",) and first.rule == "minimum":
        # Recorded of embeddings, of which other refusals are assumed to be like those of chats.
        return refused(f"{first.found} is less than the minimum of {first.expected} - 'dimensions'")
    if first.path[-1:] == ("status",) and first.found is None:
        # Reported of the null of an answer's message or reasoning that clients send back; calls may have it.
        first = first._replace(rule="additionalProperties")
    if first.rule in WORDS["violations"]:
        return _worded(first)
    return {"type": _mistyped, "enum": _not_supported}.get(first.rule, _invalid)(first)


# Of these, bounds are decimals.
_DECIMALS = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias")


def _worded(v: Violation) -> Refusal:
    """The refusal in the words that the table has for a rule."""
    field, kind = v.field[:LONGEST_ECHO], "decimal" if v.field.partition(".")[0] in _DECIMALS else "integer"
    facts = {"field": field, "kind": kind, "expected": v.expected, "found": v.found}
    facts["length"] = len(v.found) if isinstance(v.found, str | list | dict) else 0
    words, code = (text.format(**facts) for text in WORDS["violations"][v.rule])
    return refused(words, field, code)


_NOUNS = {
    "string": "a string",
    "integer": "an integer",
    "number": "a decimal",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}
_OF_STRINGS = ("stop", "modalities", "include", "allowed_callers")


def _mistyped(v: Violation) -> Refusal:
    allowed = [name for name in (v.expected if isinstance(v.expected, list) else [v.expected]) if name != "null"]
    items = "strings" if v.path[-1] in _OF_STRINGS else "objects"
    nouns = [_NOUNS[str(name)] + f" of {items}" * (name == "array") for name in allowed]
    # "one of a string or array of objects": of several, only the first has an article.
    rest = " or ".join([nouns[0], *(noun.partition(" ")[2] for noun in nouns[1:])])
    expected = f"one of {rest}" if len(nouns) > 1 else rest
    found = _NOUNS["integer" if type(v.found) is int else type_of(v.found)]
    return refused(
        f"Invalid type for '{v.field}': expected {expected}, but got {found} instead.", v.field, "invalid_type"
    )


def _not_supported(v: Violation) -> Refusal:
    values = [value for value in _list(v.expected) if value is not None]
    words = f"Invalid value: '{str(v.found)[:LONGEST_ECHO]}'. Supported values are: {_listed(values)}."
    return refused(words, v.field, "invalid_value")


def _listed(values: Sequence[object]) -> str:
    """Values as a list in words: `'a'`, `'a' and 'b'`, `'a', 'b', and 'c'`."""
    *most, last = (f"'{value}'" for value in values)
    return f"{', '.join(most)}{',' * (len(most) > 1)} and {last}" if most else last


def _invalid(v: Violation) -> Refusal:
    """A value that has none of several forms; of a word, those that it might be are told."""
    words = [branch["enum"] for branch in _list(v.expected) if isinstance(branch, dict) and "enum" in branch]
    if isinstance(v.found, str) and words:
        return _not_supported(v._replace(expected=words[0]))
    return refused(f"'$.{v.field}' is invalid. {_REFERENCE}")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


# The members that objects in these fields may have, of messages those of any role.
_KNOWN = {
    "messages": {
        *("role", "content", "name", "refusal", "audio", "annotations", "tool_calls", "function_call", "tool_call_id"),
    },
    "tool_calls": {"id", "type", "function", "custom"},
    "tools": {"type", "function", "custom"},
    "function": {"name", "description", "parameters", "strict", "arguments"},
}
_KINDS_OF_PARTS = ("text", "refusal", "image_url", "input_audio", "file")


def with_known_members(body: Body) -> dict[str, Any]:
    """The body without members that no message, call, tool or function has. Agents keep notes of their own there, such
    as the `sender` of OpenAI's Swarm, or send the `index` of a streamed call back."""
    return {name: _known(name, value) for name, value in body.items()}


def without_foreign_parts(body: Body) -> Body:
    """The same without parts of messages of kinds that OpenAI has not."""
    kept = with_known_members(body)
    for message in kept["messages"] if isinstance(kept.get("messages"), list) else ():
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            parts = message["content"]
            known = [part for part in parts if not isinstance(part, dict) or part.get("type") in _KINDS_OF_PARTS]
            message["content"] = known or ""
    return kept


def _known(field: str, value: object) -> object:
    if field not in _KNOWN:
        return value
    if isinstance(value, list):
        return [_known(field, each) if isinstance(each, dict) else each for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _known(name, each) for name, each in value.items() if name in _KNOWN[field]}


# --- models ------------------------------------------------------------------------------------------------------


def unknown_model(name: str, endpoint: Endpoint) -> Refusal:
    """The refusal of a model that does not exist: of responses, in other words and with another status."""
    if endpoint != "responses":
        return Refusal(FailureKind.UNKNOWN_MODEL, model=name[:LONGEST_ECHO])
    return refused(f"The requested model '{name[:LONGEST_ECHO]}' does not exist.", "model", "model_not_found")


_PATHS: Mapping[str, str] = {"chat": "v1/chat/completions", "completions": "v1/completions"}


def misplaced(family: Family, endpoint: Endpoint, model: str) -> Refusal:
    """The refusal of a model that is not served at an endpoint."""
    if endpoint == "embeddings":
        return refused("You are not allowed to generate embeddings from this model", status=403)
    if endpoint == "completions" and family.endpoints == ("embeddings",):
        return refused("You are not allowed to sample from this model", status=403)
    if endpoint not in _PATHS:
        words = f"The requested model '{model[:LONGEST_ECHO]}' cannot be used with the {endpoint.capitalize()} API."
        return refused(words, "model", "unsupported_model")
    if family.endpoints == ("responses",):
        words = f"This model is only supported in v1/responses and not in {_PATHS[endpoint]}."
    elif endpoint == "chat":
        words = (
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use "
            "v1/completions?"
        )
    else:
        words = (
            "This is a chat model and not supported in the v1/completions endpoint. Did you mean to use "
            "v1/chat/completions?"
        )
    return refused(words, "model", status=404)


# --- what several endpoints refuse -------------------------------------------------------------------------------


def unsupported(name: str, hint: str = "", code: str | None = "unsupported_parameter") -> Refusal:
    """The refusal of a field by a model that does not know it."""
    return refused(f"Unsupported parameter: '{name}' is not supported with this model.{hint}", name, code)


def unsupported_value(name: str, value: object, rest: str = "") -> Refusal:
    """The refusal of a value, as it is written in the message, by a model that knows others."""
    words = f"Unsupported value: '{name}' does not support {value} with this model.{rest}"
    return refused(words, name, "unsupported_value")


def supported_efforts(family: Family) -> str:
    """The reasoning efforts of a family as a list in words, least first."""
    return _listed([effort for effort in EFFORTS if effort in family.efforts])


_JSON = re.compile("json", re.IGNORECASE)


def mentions_json(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the word "json" is in any text of some messages."""
    return any(_JSON.search(content_text(message.get("content"))) for message in messages)


_FORMATS = re.compile(r"data:image/(?:png|jpe?g|gif|webp)[;,]", re.IGNORECASE)
_REMOTE = re.compile(r"https?://[^/\s]", re.IGNORECASE)
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n"
# Names and addresses that nobody can download from.
_NOWHERE = re.compile(r"https?://(?:[^/?#]*\.invalid|localhost|127\.0\.0\.1)(?:[:/?#]|$)", re.IGNORECASE)


def image_refusal(url: str, where: str) -> Refusal | None:
    """The refusal of an image, at a path of a chat or of a response's input, that is none, is in a format that is not
    known, or cannot be downloaded."""
    if _NOWHERE.match(url):
        return refused(f"Error while downloading {url[:LONGEST_ECHO]}.", code="invalid_image_url")
    is_input = where.startswith("input")
    if url.startswith("data:"):
        fault = _data_fault(url)
    elif is_input and not _REMOTE.match(url):
        words = f"Invalid '{where}'. Expected a valid URL, but got a value with an invalid format."
        return refused(words, where, "invalid_value")
    else:
        fault = None if _REMOTE.match(url) else "a value without the 'data:' prefix"
    if fault is not None:
        words = (
            f"Invalid {'' if is_input else 'image URL: '}'{where}'. Expected a base64-encoded data URL with an image "
            f"MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {fault}."
        )
        return refused(words, where, "invalid_value")
    if url.startswith("data:") and not _FORMATS.match(url):
        words = "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
        return refused(f"{words}['png', 'jpeg', 'gif', 'webp'].", code="invalid_image_format")
    return None


def _data_fault(url: str) -> str | None:
    """What a data URL has in place of an image in base64."""
    kind, _, data = url.removeprefix("data:").partition(",")
    type_, *marks = kind.split(";")
    if "base64" not in marks:
        return "a value without the ';base64' separator"
    if not type_.lower().startswith("image/"):
        return f"unsupported MIME type '{type_[:LONGEST_ECHO]}'"
    if not data:
        return "empty base64-encoded bytes"
    return "an invalid base64-encoded value" if data.encode().translate(None, _BASE64) else None


_HEARD_OR_WATCHED = re.compile(r"data:((?:audio|video)/[^;,]{1,100})", re.IGNORECASE)
_SOUND_OR_FILM = re.compile(r"\.(?:mp3|wav|flac|ogg|m4a|aac|mp4|mov|avi|webm|mkv)(?:[?#]|$)", re.IGNORECASE)


def file_refusal(part: Mapping[str, Any], where: str) -> Refusal | None:
    """The refusal of an `input_file`, at a path, with sounds or films, which no model reads."""
    heard = _HEARD_OR_WATCHED.match(str(part.get("file_data")))
    if heard is not None:
        words = (
            f"Invalid file data: '{where}.file_data'. Expected a base64-encoded data URL with a valid file MIME type "
            f"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got unsupported MIME type '{heard[1]}'. Please "
            "see https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file "
            "types."
        )
        return refused(words, f"{where}.file_data", "invalid_value")
    if _SOUND_OR_FILM.search(str(part.get("file_url"))):
        words = "The file type you uploaded is not supported. Please try again with a pdf"
        return refused(words, "input", "unsupported_file")
    return None


def no_stored(what: str, id_: str) -> Refusal:
    """The refusal of a stored object that there is not: a "Response" or a "Conversation"."""
    return refused(f"{what} with id '{id_}' not found.", status=404)
