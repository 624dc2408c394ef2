"""`POST /v1/chat/completions` becomes a request to a model: what the page allows, refuses and ignores."""

from mockserver.core.calls import Call
from mockserver.core.dialects import Site
from mockserver.core.failures import FailureKind, Rejection
from mockserver.core.generation import Effort, GenerationRequest, Limits, Output
from mockserver.dialects.openai.fields import Body, sampling, whole
from mockserver.dialects.openai.tools import Offer
from mockserver.dialects.yandex.backends import Backend, backend_of, thinks
from mockserver.dialects.yandex.errors import fault
from mockserver.dialects.yandex.formats import format_fault, read_format
from mockserver.dialects.yandex.intake import checked_body, checked_uri, fitting
from mockserver.dialects.yandex.messages import history_fault, messages_fault, read_prompt
from mockserver.dialects.yandex.models import context_window
from mockserver.dialects.yandex.schemas import REQUEST
from mockserver.dialects.yandex.sessions import in_session
from mockserver.dialects.yandex.tools import read_tools
from mockserver.dialects.yandex.uri import ModelUri


def read(call: Call, site: Site) -> GenerationRequest | Rejection:
    """The request, or why Yandex refuses it: first for its form, then for its model, then for its content."""
    body = checked_body(call, site, REQUEST)
    if isinstance(body, Rejection):
        return body
    uri = checked_uri(body["model"], site)
    if isinstance(uri, Rejection):
        return uri
    wrong = messages_fault(body["messages"])
    if wrong is not None:
        return in_session(FailureKind.INVALID_REQUEST, wrong, uri, call, site)
    offer = _conflict(body) or read_tools(body, parallel=_is_parallel(body, uri))
    if isinstance(offer, Rejection):
        return offer
    return fitting(_request(body, uri, offer, site), uri, call, site)


def _conflict(body: Body) -> Rejection | None:
    """The refusal of a field that needs another one, of a result without its call, or of an unusable schema."""
    # "`logprobs` must be set to `true` if this parameter is used."
    if "top_logprobs" in body and not body.get("logprobs"):
        return fault("top_logprobs", "needs 'logprobs' to be true")
    # "Only set this when you set `stream: true`."
    if "stream_options" in body and not body.get("stream"):
        return fault("stream_options", "needs 'stream' to be true")
    return history_fault(body["messages"]) or format_fault(body.get("response_format"))


def _request(body: Body, uri: ModelUri, offer: Offer, site: Site) -> GenerationRequest:
    effort, shown = _thinking(body, uri, site)
    # `stop`, `seed`, `store`, `audio`, `web_search_options` and `stream_options`: "CURRENTLY NOT SUPPORTED". The
    # page demands strings as keys of `logit_bias` without saying what they mean: those that can be token ids are.
    return GenerationRequest(
        model=str(uri),
        prompts=(read_prompt(body["messages"], body.get("tools") or body.get("functions")),),
        output=_output(body, backend_of(uri.name), shown),
        limits=Limits(_max_tokens(body), context=context_window(uri.name)),
        sampling=sampling({**body, "seed": None}),
        constraint=read_format(body.get("response_format")),
        tools=offer.tools,
        tool_choice=offer.choice,
        n=int(body.get("n", 1)),
        effort=effort,
        prediction=_prediction(body.get("prediction")),
    )


def _is_parallel(body: Body, uri: ModelUri) -> bool:
    return body.get("parallel_tool_calls", True) or not backend_of(uri.name).one_call


def _thinking(body: Body, uri: ModelUri, site: Site) -> tuple[Effort | None, bool]:
    """The reasoning effort, and whether the thoughts are shown: not according to the page, but in today's answers."""
    asked: Effort | None = body.get("reasoning_effort")
    shown = site.edition == "observed" and thinks(uri.name)
    return (asked or "medium") if shown else asked, shown


def _output(body: Body, backend: Backend, shown: bool) -> Output:
    return Output(
        stream=body.get("stream", False),
        include_usage=backend.usage_in_stream,
        logprobs=int(body.get("top_logprobs", 0)) if body.get("logprobs") else None,
        reasoning=shown,
    )


def _prediction(predicted: Body | None) -> str | None:
    """The text that is expected, "such as the content of a text file that is being regenerated"."""
    content = None if predicted is None else predicted["content"]
    # By the page it is one text part, but clients send a list of them.
    parts = [content] if isinstance(content, dict) else content
    return "".join(part["text"] for part in parts) if isinstance(parts, list) else parts


def _max_tokens(body: Body) -> int | None:
    """The limit; `max_tokens` is "deprecated in favor of `max_completion_tokens`", which takes precedence."""
    return whole(body.get("max_completion_tokens", body.get("max_tokens")))
