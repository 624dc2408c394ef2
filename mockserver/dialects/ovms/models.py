"""The models that are served, what they make and how they reason by their names, their speed, and the endpoints about
them and about the server itself (vendor notes 1 and 7)."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import Literal, NamedTuple, TypeVar

from mockserver.core.dialects import Model, Preset, PromptCaching, RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Effort
from mockserver.core.http import Call, Reply
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.ovms.errors import JSON, Kind

Found = TypeVar("Found")


def by_name(usual: Found, *rows: tuple[str, Found]) -> Callable[[str], Found]:
    """What is known of a model by its name: the row of the first pattern that is found in it, or what is usual."""

    @lru_cache(maxsize=256)
    def found(model: str) -> Found:
        return next((each for pattern, each in rows if re.search(pattern, model, re.IGNORECASE)), usual)

    return found


# What a model makes.
kind_of: Callable[[str], Kind] = by_name(
    "texts",
    (r"rerank|cross-encoder", "scores"),
    (r"embed|(?<![a-z])(?:bge|gte|e5)-|minilm|sentence-transformers", "embeddings"),
)

EFFORTS: dict[str, Effort] = {"low": "low", "medium": "medium", "high": "high"}


class Thinking(NamedTuple):
    """How models of a family reason: whether by default, whether there is a switch, and what ends their thoughts."""

    unasked: bool = True
    switch: bool = True
    end: Literal["\n", ""] = "\n"


# How a model reasons; None if it has no reasoning parser.
thinking: Callable[[str], Thinking | None] = by_name(
    None,
    (r"gpt-?oss|onyx", Thinking(switch=False, end="")),
    (r"deepseek-?r1|qwq|thinking", Thinking(switch=False)),
    (r"qwen-?3-?(?:coder|vl)|qwen-?3.*instruct", None),
    (r"qwen-?3|minicpm-?5", Thinking()),
    (r"gemma-?4", Thinking(unasked=False, end="")),
)
# Whether a model accepts images.
sees = by_name(
    False,
    (r"(?<![a-z])vlm?(?![a-z])|vision|multimodal", True),
    (r"llava|pixtral|internvl|minicpm-?[ov]|gemma-?[34]|qwen-?3\.[5-9]", True),
)
# Whether a required call is enforced: the tool parsers of llama3, hermes3 (Qwen), phi4 and devstral have a builder of
# guided generation; with those of these others nothing forces a model to call.
must_call = by_name(
    True,
    (r"devstral", True),
    (r"gpt-?oss|onyx|mistral|qwen-?3(?:-?coder|\.[5-9])|gemma-?4|lfm-?2|minicpm", False),
)

# --- their speed -----------------------------------------------------------------------------------------------------

# On the devices whose figures are known; an encoder's are those of its own demo: 14 ms for five tokens, at the most 64
# texts of 83 tokens, or 29,000 tokens, a second.
PRESETS = {name: Preset(*row) for name, row in components(__package__, "models")()["presets"].items()}
# `enable_prefix_caching` is true by default. On a GPU a block has 16 tokens; it stays until it has to give way.
PROMPT_CACHING = PromptCaching(block=16, lifetime=inf)


def preset_of(model: str) -> str:
    """The preset of a model, by what it makes."""
    return "ovms" if kind_of(model) == "texts" else "ovms-encoder"


# --- endpoints -------------------------------------------------------------------------------------------------------

MODELS = (
    # The page's own example.
    Model("llama3", "OVMS", context=8_192),
    Model("meta-llama/Meta-Llama-3-8B-Instruct", "OVMS", context=8_192),
)

_VERSION = "2026.4.1"
_STATUS = {
    "model_version_status": [
        {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": "OK"}}
    ]
}


def list_models(call: Call, scope: RequestScope) -> Reply:
    """The models on offer, `data` first."""
    return _answer({"data": [_model(model, scope) for model in scope.models], "object": "list"})


def get_model(call: Call, scope: RequestScope) -> Reply | Refusal:
    """One model of the list; an unknown one is "HTTP 500 (MODEL_NOT_LOADED maps to 500)"."""
    found = scope.listed(scope.variables.get("id", ""))
    if found is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, "Model not found", status=500)
    return _answer(_model(found, scope))


def server_metadata(call: Call, scope: RequestScope) -> Reply:
    """The server's name and version."""
    return _answer({"name": "OpenVINO Model Server", "version": _VERSION})


def healthy(call: Call, scope: RequestScope) -> Reply:
    """Live and ready: "200 with empty body"."""
    return _answer(b"")


def model_ready(call: Call, scope: RequestScope) -> Reply | Refusal:
    """A model is ready when it is there at all, in whatever version is asked for."""
    name, _, _ = scope.variables.get("id", "").partition("/versions/")
    if scope.model(name) is None:
        return Refusal(FailureKind.UNKNOWN_MODEL, "Model with requested name is not found")
    return _answer(b"")


def config_status(call: Call, scope: RequestScope) -> Reply:
    """Every model's state, "printed with newlines and one-space indents"; a reload finds nothing to do."""
    status = json.dumps(_STATUS, indent=1)
    models = [
        f"{json.dumps(name, ensure_ascii=False)} : \n{status}" for name in sorted({model.id for model in scope.models})
    ]
    return _answer(("{\n" + ",\n".join(models) + "\n}" if models else "{}").encode())


def _model(model: Model, scope: RequestScope) -> dict[str, object]:
    return {"id": model.id, "object": "model", "created": int(scope.now), "owned_by": "OVMS"}


def _answer(value: object) -> Reply:
    return body_reply(value, content_type=JSON)
