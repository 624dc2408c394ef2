"""The contract in `contract/`: the page's schemas; the observed edition lacks `system_fingerprint` (vendor note B)."""

from mockserver.dialects.contracts import by_edition, editions

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
