"""Sampling, limits and stops, which completions and chats have in common (vendor note 2)."""

from mockserver.core.dialects import Edition, Model
from mockserver.core.generation import Limits, Prompt, Sampling, Stops
from mockserver.dialects.openai.fields import stop_texts
from mockserver.dialects.ovms.assertions import sampled
from mockserver.dialects.ovms.checks import IGNORE_EOS_LIMIT
from mockserver.dialects.ovms.rows import Fields

# "default: all tokens" in the one, "default 40 when sampling" in the other; 0 stands for all.
_TOP_K: dict[Edition, int] = {"documented": 0, "observed": 40}
# "Random seed [...] default: 0" in the one; the other draws one, here from the request itself.
_SEEDS: dict[Edition, tuple[int, ...]] = {"documented": (0,), "observed": ()}
# The older server ignores the model's context window.
_NO_WINDOW = 131_072


def too_long(prompt: Prompt, most: int | None, model: Model) -> str | None:
    """Why a prompt, with the most tokens that may follow it, does not fit into the model's window."""
    found, window, asked = prompt.token_count, model.context, most or 0
    if found > window:
        return f"Number of prompt tokens: {found} exceeds model max length: {window}"
    if found + asked > window:
        return f"Number of prompt tokens: {found} + max tokens value: {asked} exceeds model max length: {window}"
    return None


def read_limits(fields: Fields, most: int | None, prompt: Prompt, model: Model, edition: Edition) -> Limits:
    """How long the answer may be; `most` is the maximum that the request states."""
    ignore_eos = bool(fields.get("ignore_eos"))
    if edition == "observed":
        return Limits(most, ignore_eos=ignore_eos, context=model.context)
    # "unset becomes 4000"
    most = IGNORE_EOS_LIMIT if ignore_eos and most is None else most
    return Limits(most, ignore_eos=ignore_eos, context=prompt.token_count + _NO_WINDOW)


def read_stops(fields: Fields) -> Stops:
    """The texts that end the answer. "default: `false` if `stream=false`, `true` if `stream=true`"."""
    kept = fields.get("include_stop_str_in_output", bool(fields.get("stream")))
    return Stops(stop_texts(fields.get("stop")), include=kept)


def read_sampling(fields: Fields, edition: Edition) -> Sampling:
    """How tokens are drawn, with each version's own defaults."""
    drawn = sampled(fields)
    seeds = (fields["seed"],) if "seed" in fields else _SEEDS[edition]
    return Sampling(
        # Without sampling no seed matters: "temperature 0 = greedy", and beams are not drawn either.
        seeds=seeds if drawn else (),
        temperature=float(fields.get("temperature", 1.0)) if drawn else 0.0,
        top_p=float(fields.get("top_p", 1.0)),
        top_k=max(fields.get("top_k", _TOP_K[edition]), 0) if drawn else 0,
        # The older server ignores it.
        min_p=float(fields.get("min_p", 0.0)) if edition == "observed" else 0.0,
        # "best_of > 1 means beam search"
        beams=fields.get("best_of", 1),
        early_stopping=False,
        length_penalty=float(fields.get("length_penalty", 1.0)),
        frequency_penalty=float(fields.get("frequency_penalty", 0.0)),
        presence_penalty=float(fields.get("presence_penalty", 0.0)),
        repetition_penalty=float(fields.get("repetition_penalty", 1.0)),
    )
