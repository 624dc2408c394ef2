"""What requests cost: which are too much to be answered, and which take so long that a thread is to answer them."""

import re
from math import ceil

from mockserver.core.calls import Call
from mockserver.core.failures import FailureKind, Refusal, Violation
from mockserver.core.generation import GenerationRequest
from mockserver.model.intent import detect_intent
from mockserver.model.prepared import ScriptedOutput
from mockserver.model.sampling import is_plain
from mockserver.state.plan import Plan

# What a body has, of any length, if it has a schema; and keywords with which even a short one may be dear.
_SCHEMA = re.compile(rb'"(?:properties|items|enum)"')
_DEAR = re.compile(
    rb'"(?:\$ref|\$dynamicRef|regex|guided_\w+|grammar|definition|pattern\w*|if|not|dependent\w+|unevaluated\w+|contains|'
    rb"(?:all|any|one)Of)\"\s*:"
)
# A body of so many bytes, a compressed one, one with a schema, a prepared text of so many characters, an answer of so
# many tokens, and a prompt of so many tokens to look up in a cache each take some milliseconds.
_LONG_BODY = 65_536
_LONG_PACKED = 2_048
_LONG_TEXT = 20_000
_LONG_SCHEMA = 8_192
_LONG_ANSWER = 2_048
_LONG_PROMPT = 8_192
# How many tokens an answer has at most if its length is not limited.
_USUAL_ANSWER = 512
# How many times as long a word takes if it is weighed against those before it.
_CARE = 4
# The greatest weight of an answer that is given: a second or two of work, and some 100 MB.
_HEAVIEST = 2_000_000
# The weight of a text to embed: for each of its tokens, and for the text itself.
_READ_TOKEN = 2
_READ_TEXT = 128
# An answer states the name of its model in every event: longer ones than so many characters are unknown.
_LONGEST_MODEL = 1_000


def too_much(request: GenerationRequest) -> Refusal | None:
    """The refusal of a request whose counts come to too much together, however its answers end, or whose model has an
    endless name; None for others."""
    if len(request.model) > _LONGEST_MODEL:
        return Refusal(FailureKind.UNKNOWN_MODEL, model=request.model[:_LONGEST_MODEL])
    limits, alternatives = request.limits, request.output.logprobs or 0
    most = limits.context if limits.max_tokens is None else limits.max_tokens
    drawn = ceil(limits.lengths.quantile(1)) if limits.lengths is not None else 0
    length = min(most, limits.context if limits.ignore_eos else max(_USUAL_ANSWER, limits.min_tokens, drawn))
    choices = max(request.n, request.best_of, request.sampling.beams) * len(request.prompts)
    echoed = request.prompt_tokens * request.n if request.output.echo else 0
    if (length * choices + echoed) * (_CARE + alternatives) <= _HEAVIEST:
        return None
    care = 1 if is_plain(request.sampling) else _CARE
    weight = (length * choices + echoed) * (care + alternatives)
    if not request.generates or weight <= _HEAVIEST:
        return None
    message = (
        f"The request asks for too much: {choices} choices of up to {length} tokens, with {alternatives} alternatives "
        f"each, weigh more than {_HEAVIEST} tokens. Reduce the number of prompts or choices, max_tokens or logprobs."
    )
    field, found = ("prompt", len(request.prompts)) if len(request.prompts) > 1 else ("n", request.n)
    violation = Violation((field,), "maximum", message, max(_HEAVIEST * found // weight, 1), found)
    return Refusal(FailureKind.INVALID_REQUEST, message, field, (violation,), model=request.model)


def reads_long(call: Call) -> bool:
    """Whether to read and to answer a call may take more than some milliseconds: by its length, or as it has a schema,
    a pattern or a grammar that may be dear."""
    size = len(call.body)
    if size > (_LONG_PACKED if call.headers.get("content-encoding") else _LONG_BODY):
        return True
    return (size > _LONG_SCHEMA and _SCHEMA.search(call.body) is not None) or _DEAR.search(call.body) is not None


def answers_long(plan: Plan) -> bool:
    """Whether to complete a plan may take more than some milliseconds, by what is asked and what is prepared."""
    request, prepared = plan.request, plan.prepared
    content = prepared.content if prepared is not None else None
    if callable(content) or (isinstance(content, ScriptedOutput) and len(content.text) > _LONG_TEXT):
        return True
    if request is None or plan.refusal is not None:
        return False
    if plan.engine is not None and plan.engine.prompts is not None and request.prompt_tokens > _LONG_PROMPT:
        return True
    return request.constraint is not None or weight(request) >= _LONG_ANSWER


def weight(request: GenerationRequest) -> int:
    """How much work the answer may be, in tokens.

    A token counts once more for every alternative that is shown, and several times if sampling controls touch the
    words; an echoed prompt counts too. If nothing is generated, what is read counts.
    """
    limits = request.limits
    if request.n < 1:
        return _READ_TOKEN * request.prompt_tokens + _READ_TEXT * len(request.prompts)
    most = limits.max_tokens
    if most is None:
        words = max((detect_intent(prompt.topic).length for prompt in request.prompts), default=0)
        drawn = ceil(limits.lengths.quantile(1)) if limits.lengths is not None else 0
        most = limits.context if limits.ignore_eos else min(limits.context, max(_USUAL_ANSWER, 2 * words, drawn))
    choices = max(request.n, request.best_of) * len(request.prompts)
    care = 1 if is_plain(request.sampling) else _CARE
    alternatives = request.output.logprobs or 0
    echoed = request.prompt_tokens * request.n * (1 + alternatives) if request.output.echo else 0
    return max(most, limits.min_tokens) * choices * (care + alternatives) + echoed
