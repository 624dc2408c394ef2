"""`POST /v3/completions` as a request to a model."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Edition, Site
from mockserver.core.failures import Rejection
from mockserver.core.generation import GenerationRequest, Prompt
from mockserver.dialects.openai.fields import text_prompt
from mockserver.dialects.ovms.checks import COMPLETION_CHECKS
from mockserver.dialects.ovms.intake import Endpoint, read_request, take
from mockserver.dialects.ovms.paths import COMPLETIONS_PATHS
from mockserver.dialects.ovms.rows import Fields


def read(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why the server or its graph refuses it."""
    taken = take(call, site, _COMPLETIONS)
    if isinstance(taken, Rejection):
        return taken
    request = read_request(taken, site.edition)
    return request._replace(output=request.output._replace(echo=bool(taken.fields.get("echo"))))


def _tokenised(fields: Fields, edition: Edition) -> Prompt:
    """The prompt. "/completions adds the BOS token at tokenising; no chat template"."""
    prompt = text_prompt(fields["prompt"])
    return prompt._replace(token_count=prompt.token_count + 1)


def _limit(fields: Fields) -> int | None:
    limit: int | None = fields.get("max_tokens")
    return limit


_COMPLETIONS = Endpoint(COMPLETIONS_PATHS, COMPLETION_CHECKS, _tokenised, _limit)
