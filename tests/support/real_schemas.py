"""Schemas such as applications send: by hand, by pydantic, by zod, by OpenAPI. A line each, with a name."""

import json
from pathlib import Path
from typing import Any

_LINES = Path(__file__).with_name("real_schemas.jsonl").read_text(encoding="utf-8").splitlines()
REAL: dict[str, dict[str, Any]] = dict(map(json.loads, _LINES))
