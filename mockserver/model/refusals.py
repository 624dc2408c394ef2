"""Texts of refusals, in the language of the prompt."""

from dataclasses import replace

from mockserver.core.generation import Choice, Generation, GenerationRequest
from mockserver.core.seeding import Draws, derive
from mockserver.model import corpus
from mockserver.model.corpus import phrase
from mockserver.model.intent import detect_intent
from mockserver.model.positions import asked_positions


def word_refusals(generation: Generation) -> Generation:
    """The generation with a text for every choice that refuses without one."""
    if not any(_is_silent(choice) for choice in generation.choices):
        return generation
    choices = (_worded(choice, generation.request) if _is_silent(choice) else choice for choice in generation.choices)
    return generation.with_choices(tuple(choices))


def _is_silent(choice: Choice) -> bool:
    return choice.refusal and not choice.texts


def _worded(choice: Choice, request: GenerationRequest) -> Choice:
    language = detect_intent(choice.prompt.topic).language
    wording = phrase(Draws(derive(choice.seed, "refusal")).pick(corpus.language(language)["refusals"]))
    most = request.limits.max_tokens
    limit = None if most is None else max(most - choice.reasoning, 0)
    ids, texts = wording.ids[:limit], wording.texts[:limit]
    return replace(
        choice,
        ids=ids,
        texts=texts,
        finish_reason="stop" if len(ids) == len(wording.ids) else "length",
        positions=asked_positions(request, choice.prompt, ids, texts, choice.seed, request.sampling),
    )
