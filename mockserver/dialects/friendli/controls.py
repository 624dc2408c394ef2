"""Limits, stops and sampling: the fields that completions and chats have in common."""

from collections.abc import Iterable, Mapping
from typing import Any

from mockserver.core.dialects import Model
from mockserver.core.generation import Limits, Prompt, Sampling, Stops
from mockserver.dialects.openai.fields import Body, number_or, token_biases, whole


def read_limits(body: Body, model: Model, prompts: tuple[Prompt, ...]) -> Limits:
    """How long the answer may be."""
    least, total_least = body.get("min_tokens"), body.get("min_total_tokens")
    total = whole(body.get("max_total_tokens"))
    # Totals count a prompt and its answer: the maximum acts as a smaller window, the minimum holds for every prompt.
    shortest = min(prompt.token_count for prompt in prompts)
    fewest = number_or(least, 0) if total_least is None else max(total_least - shortest, 0)
    window = model.context if total is None else min(total, model.context)
    return Limits(whole(body.get("max_tokens")), int(fewest), context=window)


def read_stops(body: Body) -> Stops:
    """What ends the answer."""
    # "When generated token corresponds to any of the tokens in the sequence": each token of each sequence stops.
    listed = [token for sequence in body.get("stop_tokens") or () for token in sequence.get("tokens") or ()]
    ends = [*listed, *(body.get("eos_token") or ())]
    return Stops(tuple(body.get("stop") or ()), tuple((int(token),) for token in ends))


def read_sampling(body: Body) -> Sampling:
    """How tokens are drawn."""
    seed, beams = body.get("seed"), body.get("num_beams")
    # The standard beam search is deterministic: no seed changes what it finds.
    fixed = beams is not None and (body.get("beam_search_type") or "DETERMINISTIC") == "DETERMINISTIC"
    return Sampling(
        seeds=ints(seed if isinstance(seed, list) else [] if seed is None else [seed]),
        temperature=0.0 if fixed else number_or(body.get("temperature"), 1.0),
        top_p=number_or(body.get("top_p"), 1.0),
        top_k=int(number_or(body.get("top_k"), 0)),
        min_p=number_or(body.get("min_p"), 0.0),
        xtc_threshold=number_or(body.get("xtc_threshold"), 0.0),
        xtc_probability=number_or(body.get("xtc_probability"), 0.0),
        beams=int(number_or(beams, 1)),
        length_penalty=number_or(body.get("length_penalty"), 1.0),
        early_stopping=bool(body.get("early_stopping")),
        frequency_penalty=number_or(body.get("frequency_penalty"), 0.0),
        presence_penalty=number_or(body.get("presence_penalty"), 0.0),
        repetition_penalty=number_or(body.get("repetition_penalty"), 1.0),
        # "If this exceeds 1, every ngram of that size can only occur once".
        no_repeat_ngram=int(number_or(body.get("no_repeat_ngram"), 1)),
        logit_bias=token_biases(body.get("logit_bias")),
        bad_words=tuple(body.get("bad_words") or ()),
        bad_tokens=_sequences(body.get("bad_word_tokens")),
    )


def read_timeout(body: Body) -> float | None:
    """How long the answer may take, in seconds."""
    timeout = body.get("timeout_microseconds")
    return None if timeout is None else timeout / 1_000_000


def _sequences(rows: Iterable[Mapping[str, Any]] | None) -> tuple[tuple[int, ...], ...]:
    """Sequences of tokens, `[{"tokens": [1, 2]}, ...]`, without those that are empty."""
    return tuple(ints(row["tokens"]) for row in rows or () if row.get("tokens"))


def ints(values: Iterable[float] | None) -> tuple[int, ...]:
    """JSON's integers as ints: 7.0 is one too."""
    return tuple(map(int, values or ()))
