"""Anthropic's Messages API (vendor facts: `anthropic.md`)."""

import re

from mockserver.core.dialects import BEARER, Clients, Dialect, Operation, Schemas, on_demand
from mockserver.dialects.anthropic.errors import ERRORS, QUOTAS, VERSIONS, api_key, every_answer, stream_error
from mockserver.dialects.anthropic.models import (
    MODELS,
    PRESETS,
    PROMPT_CACHING,
    get_model,
    list_models,
    model_of,
    preset_of,
)
from mockserver.dialects.contracts import components
from mockserver.dialects.openai.dialect import GET_MODEL, LIST_MODELS

CONTRACT = components(__package__, "anthropic")

ANTHROPIC = Dialect(
    name="anthropic",
    title="Anthropic API",
    hosts=("api.anthropic.com",),
    operations=(
        Operation(
            "messages",
            "POST",
            ("/v1/messages",),
            Schemas("MessageRequest", "Message", "StreamEvent"),
            read=on_demand(f"{__package__}.messages:read_message"),
            write=on_demand(f"{__package__}.messages:write_message"),
            supports_tools=True,
            summary="Answer a conversation",
        ),
        Operation(
            "count_tokens",
            "POST",
            ("/v1/messages/count_tokens",),
            Schemas("CountTokensRequest", "TokenCount"),
            handler=on_demand(f"{__package__}.messages:count_tokens"),
            summary="Count the tokens of a conversation",
        ),
        LIST_MODELS._replace(handler=list_models),
        GET_MODEL._replace(handler=get_model),
    ),
    # Both editions are today's: the header `anthropic-version` selects the version of the API.
    errors={"documented": ERRORS, "observed": ERRORS},
    contract={"documented": CONTRACT, "observed": CONTRACT},
    models=MODELS,
    unlisted=model_of,
    headers=every_answer,
    needs={"anthropic-version": VERSIONS[0]},
    credentials=api_key,
    security={"x_api_key": {"type": "apiKey", "in": "header", "name": "x-api-key"}, **BEARER},
    stream_error=stream_error,
    claims=re.compile(r"claude-.+"),
    marks=(("anthropic-version", ""), ("anthropic-beta", ""), ("x-api-key", "sk-ant-")),
    finishes=re.compile(rb'"stop_reason"\s*:\s*"'),
    finish_keys=("stop_reason",),
    quotas=QUOTAS,
    # LangChain and LiteLLM read variables of their own.
    clients=Clients(
        urls=("ANTHROPIC_BASE_URL",),
        keys=("ANTHROPIC_API_KEY",),
        bases={"ANTHROPIC_API_URL": "", "ANTHROPIC_API_BASE": ""},
    ),
    presets=PRESETS,
    realistic="anthropic",
    preset_of=preset_of,
    prompt_caching=PROMPT_CACHING,
)
