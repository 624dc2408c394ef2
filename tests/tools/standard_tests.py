"""LangChain's standard tests of a chat model, handed a model that `STANDARD_CLASS`, `_MODEL` and `_URL` describe.

Run by `make conformance` in an environment that has `langchain-tests` and the class: `package:Class`.
"""

import os
from importlib import import_module
from typing import Any

from langchain_tests.integration_tests import ChatModelIntegrationTests

_PACKAGE, _, _NAME = os.environ["STANDARD_CLASS"].partition(":")


class TestChatModel(ChatModelIntegrationTests):
    """The standard tests. Those of images are left out: they load theirs from the network."""

    @property
    def chat_model_class(self) -> Any:
        return getattr(import_module(_PACKAGE), _NAME)

    @property
    def chat_model_params(self) -> dict[str, Any]:
        url, model = os.environ["STANDARD_URL"], os.environ["STANDARD_MODEL"]
        return {"model": model, "base_url": url, "api_key": "any-key", "stream_usage": True}

    @property
    def supports_json_mode(self) -> bool:
        return bool(os.environ.get("STANDARD_JSON_MODE"))
