"""Texts for a schema: by format, by what a property is called, by pattern, of the length that is asked for."""

from collections.abc import Callable, Iterator, Sequence
from math import inf

from mockserver.core.json_values import ValueSet
from mockserver.core.seeding import Draws
from mockserver.model.regex import find_match
from mockserver.model.schema import values
from mockserver.model.schema.documents import longest_searched, matcher
from mockserver.model.schema.merged_schema import MergedSchema
from mockserver.model.schema.values import Setting

# No text is longer than this, in characters.
LONGEST = 400_000
# Times that something plausible is tried before a pattern is written from scratch.
_PLAUSIBLE = 3
# Times that a pattern is matched without regard to the others, and what that is reckoned at, in steps of the solver.
_ALONE, _ALONE_STEPS = 30, 15
# A search for a text costs a step of the solver for so many of its own, beyond those that are free; and so does a check
# of a text of so many characters against patterns, and four steps if it has twice as many.
_FREE, _DEAR, _CHECKED = 2000, 16, 362
# How often a text is altered where it is taken; and the characters for which others of their kind are tried.
_ALTERED = 60
_ALIKE = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Texts for patterns are written up to this length; longer ones are stretched.
_STRETCHED = 1000
# Texts without a pattern are no longer than this unless they have to be.
_LONGEST_FREE = 400
# Texts that must be shorter are rather codes than words, in characters.
_NO_WORD = 4

Spend = Callable[[int], None]


def texts(way: MergedSchema, setting: Setting, spend: Spend, taken: ValueSet | None = None) -> Iterator[str]:
    """Texts that keep to a merged schema, the most plausible first; none if none is found.

    Some may be taken all the same. `spend` counts the steps it costs.
    """
    if way.min_length > LONGEST or (way.max_length is not None and way.max_length < way.min_length):
        return
    others = [text for text in taken or () if isinstance(text, str)]
    yield from filter(fits(way), _candidates(way, setting, spend, others))


def _candidates(way: MergedSchema, setting: Setting, spend: Spend, taken: Sequence[str]) -> Iterator[str]:
    """Texts that may keep to it."""
    least, most, draws = way.min_length, way.max_length, setting.draws
    samples = [sample for sample in way.samples if isinstance(sample, str)]
    if samples and draws.below(2):
        yield draws.pick(samples)
    makers = [values.made_by(held) for name in way.formats if (held := values.table("formats").get(name))]
    named = None if makers else values.maker_of(setting.name, setting.about)
    if named and (way.patterns or (most is not None and most < _NO_WORD)):
        # A country of two letters is its code.
        makers = [values.maker_of(f"{setting.name} code", "") or named]
    for maker in (*makers, *([named] if named else [])):
        for _ in range(_PLAUSIBLE):
            yield _shortened(maker(setting), way) if maker is named else maker(setting)
    formats = [held for name in way.formats if (held := values.table("format_patterns").get(name))]
    if way.patterns or way.no_patterns:
        yield from samples
        if formats:
            yield from _written(way, [*formats, *way.patterns], draws, spend)
        for written in _written(way, way.patterns, draws, spend):
            yield written
            if taken:
                yield from _altered(written, fits(way), draws)
        if taken:
            yield from _written(way, way.patterns, draws, spend, taken)
        for pattern in way.patterns:
            spend(_ALONE_STEPS)
            for _ in range(_ALONE):
                text = _matching(way, [pattern], [], draws, spend, [])
                if text is None:
                    break
                yield text
    elif formats:
        yield from _written(way, formats, draws, spend)
    short = most if most is None or most <= _LONGEST_FREE else max(least, _LONGEST_FREE)
    for _ in range(_PLAUSIBLE):
        text = values.free_text(setting, least, short)
        yield text
    if taken:
        yield f"{text} {len(taken) + 1}"
    for _ in range(_PLAUSIBLE):
        yield draws.spell("abcdefgh0123456789", max(least, min(most or 8, 8)))
    if not (way.patterns or way.no_patterns):
        yield from _written(way, [], draws, spend, taken)


def _altered(text: str, fit: Callable[[str], bool], draws: Draws) -> Iterator[str]:
    """Texts that fit, each like the one before it but for a character."""
    for _ in range(_ALTERED):
        place = draws.below(len(text) + 1)
        old, rest = text[place : place + 1], text[place + 1 :]
        alike = next((kind for kind in _ALIKE if old and old in kind), text)
        new = draws.pick(alike if draws.below(2) else text) if text else ""
        changed = text[:place] + (new + rest, new + old + rest, rest, new + rest)[draws.below(4)]
        if fit(changed):
            text = changed
            yield text


def _shortened(text: str, way: MergedSchema) -> str:
    """A plausible text that is too long, made fit where words allow it."""
    most = way.max_length
    if most is None or len(text) <= most or way.patterns:
        return text
    if " " not in text and not any(ord(c) > 0x2FFF for c in text):
        return text
    return text[:most].rstrip(" ,;:.-")


def _written(
    way: MergedSchema, patterns: Sequence[str], draws: Draws, spend: Spend, others: Sequence[str] = ()
) -> Iterator[str]:
    """A text that is written for the patterns; a very long one is a shorter one that has been stretched."""
    least = way.min_length
    text = _matching(way, patterns, way.no_patterns, draws, spend, others)
    if text is None or least <= _STRETCHED:
        yield from () if text is None else (text,)
        return
    for place in (len(text) // 2, len(text) // 3, len(text) - 1):
        for period in (1, 2, 3):
            part = text[max(place - period, 0) : place]
            times = -(-(least - len(text)) // max(len(part), 1))
            yield text[:place] + part * times + text[place:]


def _matching(
    way: MergedSchema,
    patterns: Sequence[str],
    no_patterns: Sequence[str],
    draws: Draws,
    spend: Spend,
    others: Sequence[str],
) -> str | None:
    """A text that is not too long to be checked against the patterns; None if none is found."""
    most = min(longest_searched((*patterns, *no_patterns)), LONGEST if way.max_length is None else way.max_length)

    def search(steps: int) -> None:
        spend(max(steps - _FREE, 0) // _DEAR)

    # To keep out two others takes about as long as a step.
    spend(len(others) // 2)

    text = find_match(patterns, draws, min(way.min_length, _STRETCHED), most, no_patterns, others, search)
    spend((len(text or "") // _CHECKED) ** 2)
    return text


def fits(way: MergedSchema) -> Callable[[str], bool]:
    """Whether a text keeps to a merged schema, but for its formats, which are left to whoever asks for more."""
    least, most = way.min_length, inf if way.max_length is None else way.max_length
    if not (way.patterns or way.no_patterns):
        return lambda text: least <= len(text) <= most
    matches = matcher(tuple(way.patterns), tuple(way.no_patterns))
    return lambda text: least <= len(text) <= most and matches(text)
