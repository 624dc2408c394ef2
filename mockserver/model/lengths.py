"""Lengths of answers that are drawn from a distribution, as load tests need them, rather than left to the text.

They are for free prose only. What must have a form (JSON, a pattern, a grammar, calls of tools), and what a prompt
dictates word for word, ends where it is complete; so does an answer whose request says itself that it must not end.
"""

from mockserver.core.generation import LONGEST_CHOICE, GenerationRequest, Prompt
from mockserver.core.seeding import Draws, derive
from mockserver.model.prose import is_dictated
from mockserver.model.tokens import EOS


def drawn_length(request: GenerationRequest, prompt: Prompt, content: int, own: int) -> int | None:
    """After how many tokens an answer in words ends, thoughts included; None if its text decides.

    `content` and `own` are the seeds of its story, so that equal requests have answers of equal length.
    """
    limits = request.limits
    if limits.lengths is None or limits.ignore_eos or request.constraint is not None:
        return None
    if any(token == EOS for token, _ in request.sampling.logit_bias) or is_dictated(prompt):
        return None
    drawn = limits.lengths.quantile(Draws(derive(content, "length", own)).unit())
    return min(max(round(drawn), 1), LONGEST_CHOICE)
