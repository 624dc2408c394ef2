"""`forced_output_tokens`: "a token sequence that is enforced as a generation output".

The model tells its own story for as many tokens; then its words are replaced, while timing and scores are kept.
"""

from dataclasses import replace

from mockserver.core.generation import Choice, Generation, Position
from mockserver.dialects.friendli.request import wishes_of
from mockserver.generation import tokens


def enforced(generation: Generation) -> Generation:
    """The generation with its request's forced tokens in every choice; unchanged where there are none."""
    forced = wishes_of(generation.request).forced
    if not forced:
        return generation
    return replace(generation, choices=tuple(_enforced(choice, forced) for choice in generation.choices))


def _enforced(choice: Choice, forced: tuple[int, ...]) -> Choice:
    ids = forced[: len(choice.ids)]
    texts = tokens.texts(ids)
    rows = zip(choice.positions, choice.ids, ids, texts, strict=True) if choice.positions else ()
    return replace(choice, ids=ids, texts=texts, positions=tuple(_renamed(*row) for row in rows))


def _renamed(position: Position, told: int, forced: int, text: str) -> Position:
    """The position with the forced token in the place of the one that was told."""
    return replace(position, top=tuple((forced, text, row[2]) if row[0] == told else row for row in position.top))
