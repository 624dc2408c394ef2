"""Marks for what the clients can do and the simulator cannot yet: a test that begins to pass must lose its mark."""

import pytest

TOOLS = pytest.mark.xfail(reason="tool calls are not generated yet", strict=True)
SCHEMAS = pytest.mark.xfail(reason="answers do not obey a JSON schema yet", strict=True)
