"""Marks for what the clients can do and the simulator cannot yet: a test that begins to pass must lose its mark."""

import pytest

FAULTS = pytest.mark.xfail(reason="faults by header are not built yet", strict=True)
TOOLS = pytest.mark.xfail(reason="tool calls are not generated yet", strict=True)
SCHEMAS = pytest.mark.xfail(reason="answers do not obey a JSON schema yet", strict=True)
