"""The contract: the page's own OpenAPI schemas (documented), and what the service refuses beyond them (observed)."""

from mockserver.dialects.contracts import by_edition, editions

CONTRACT = editions(__package__)
REQUEST = by_edition(CONTRACT, "CompletionRequest")
CHAT_REQUEST = by_edition(CONTRACT, "ChatCompletionRequest")
