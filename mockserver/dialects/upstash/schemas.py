"""The contract in `contract/`: the page as schemas, equal in both editions as the service is gone (vendor note B)."""

from mockserver.dialects.contracts import by_edition, editions

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
