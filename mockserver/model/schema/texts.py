"""Texts that meet a demand: by format, by what a property is called, by pattern, of the length that is asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from mockserver.core.seeding import Draws
from mockserver.model.regex import find_match
from mockserver.model.schema import values
from mockserver.model.schema.demands import Demand
from mockserver.model.schema.matching import longest_searched, matcher
from mockserver.model.schema.values import Setting

# No text is longer than this, in characters.
LONGEST = 400_000
# Times that something plausible is tried before a pattern is written from scratch.
_PLAUSIBLE = 3
# How many samples tell whether anything plausible matches a pattern.
_SAMPLES = 32
# Times that a pattern is matched without regard to the others, and what each is reckoned at, in steps of the solver.
_ALONE, _ALONE_COST = 30, 15
# A search for a text costs a step of the solver for so many of its own, beyond those that are free.
_FREE, _DEAR = 2000, 16
# Whoever checks a text against patterns that ask for this many characters takes a step, and four for twice as many.
_CHECKED = 362
# Texts for patterns are written up to this length; longer ones are stretched.
_STRETCHED = 1000
# Whether plausible texts match patterns of more characters is not cached.
_LONGEST_KEPT = 1000
# Texts that must be shorter are rather codes than words, in characters.
_NO_WORD = 4

Spend = Callable[[int], None]


def _in_json(setting: Setting) -> str:
    return setting.draws.pick(("{}", '{"id":1}', "[1,2,3]"))


def _in_base64(setting: Setting) -> str:
    return setting.draws.pick(("aGVsbG8=", "ZGF0YQ==", "dGV4dA=="))


_FORMATS: Mapping[str, values.Maker] = {
    "email": lambda s: _named("email")(s),
    "idn-email": lambda s: _named("email")(s),
    "uri": lambda s: _named("image" if "image" in s.name else "url")(s),
    "url": lambda s: _named("url")(s),
    "iri": lambda s: _named("url")(s),
    "uri-reference": lambda s: f"/{s.english('category')}/{s.english('tag')}",
    "iri-reference": lambda s: f"/{s.english('category')}/{s.english('tag')}",
    "uri-template": lambda s: f"https://example.com/{s.english('category')}/{{id}}",
    "uuid": values.uuid,
    **{f"uuid{version}": partial(values.uuid, version=version) for version in (1, 3, 4, 5, 6, 7, 8)},
    "date": values.date,
    "time": values.time,
    "date-time": values.moment,
    "duration": lambda s: f"PT{1 + s.draws.below(12)}H{s.draws.below(60)}M",
    "ipv4": values.ipv4,
    "ipv6": lambda s: f"2001:db8::{1 + s.draws.below(65535):x}",
    # As pydantic names what its types hold.
    "ipv4network": lambda s: f"192.0.2.{16 * s.draws.below(16)}/28",
    "ipv6network": lambda s: f"2001:db8:{1 + s.draws.below(65535):x}::/48",
    "ipv4interface": lambda s: f"{values.ipv4(s)}/24",
    "ipv6interface": lambda s: f"2001:db8::{1 + s.draws.below(65535):x}/64",
    "ipvanyaddress": values.ipv4,
    "ipvanynetwork": lambda s: f"192.0.2.{16 * s.draws.below(16)}/28",
    "ipvanyinterface": lambda s: f"{values.ipv4(s)}/24",
    "json-string": _in_json,
    "base64url": _in_base64,
    "multi-host-uri": lambda s: f"https://{_named('host')(s)}",
    "hostname": lambda s: _named("host")(s),
    "idn-hostname": lambda s: _named("host")(s),
    "json-pointer": lambda s: f"/{s.english('category')}/{s.draws.below(10)}",
    "relative-json-pointer": lambda s: f"{s.draws.below(3)}/{s.english('category')}",
    "regex": lambda s: s.draws.pick(("^[a-z]+$", "^\\d{4}$", "^[A-Z]{2}-\\d+$")),
    "byte": _in_base64,
    # JSON within, in case it is asked for too.
    "base64": lambda s: s.draws.pick(("e30=", "eyJpZCI6MX0=", "WzEsMiwzXQ==")),
    "json": _in_json,
    "color": lambda s: _named("hex")(s),
    "phone": lambda s: _named("phone")(s),
}

# Texts of a format, narrowly: for those that have to match a pattern too.
_FORMAT_PATTERNS: Mapping[str, str] = {
    "email": r"^[a-z]{3,12}(\.[a-z]{3,12})?@([a-z]{2,12}\.){1,3}(com|org|net|[a-z]{2,9})$",
    "uri": r"^https?://[a-z][a-z0-9-]{1,20}[a-z0-9](\.[a-z]{2,12}){1,3}(/[a-zA-Z0-9_.-]{1,20}){0,4}$",
    "date": r"^(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$",
    "time": r"^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-](0\d|1[0-2]):[0-5]\d)$",
    "date-time": (
        r"^(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?"
        r"(Z|[+-](0\d|1[0-2]):[0-5]\d)$"
    ),
    "uuid": r"^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$",
    "ipv4": r"^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$",
    "ipv6": r"^([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}$",
    "hostname": r"^[a-z]([a-z0-9-]{0,20}[a-z0-9])?(\.[a-z]([a-z0-9-]{0,20}[a-z0-9])?){0,3}$",
    "duration": r"^P\d{1,3}(D|W|M|Y|DT\d{1,2}H)$",
    "json-pointer": r"^(/[a-z0-9]{1,9}){1,4}$",
    "uri-reference": r"^/[a-z0-9-]{1,20}(/[a-z0-9-]{1,20}){0,3}$",
}


def _named(name: str) -> values.Maker:
    return values.maker_of(name, "") or values.label


def write_text(demand: Demand, setting: Setting, spend: Spend) -> str | None:
    """A text that meets the demand; None when there is none, or none is found. `spend` counts the steps it costs."""
    least, most = demand.min_length, demand.max_length
    if least > LONGEST or (most is not None and most < least):
        return None
    fit = fits(demand)
    for text in _candidates(demand, setting, spend):
        if fit(text):
            return text
    return None


def _candidates(demand: Demand, setting: Setting, spend: Spend) -> Iterator[str]:
    """Texts that may meet it, the most plausible first."""
    least, most, draws = demand.min_length, demand.max_length, setting.draws
    samples = [sample for sample in demand.samples if isinstance(sample, str)]
    if samples and draws.below(2):
        yield draws.pick(samples)
    makers = [_FORMATS[name] for name in demand.formats if name in _FORMATS]
    named = None if makers else values.maker_of(setting.name, setting.about)
    if named and (demand.patterns or (most is not None and most < _NO_WORD)):
        # A country of two letters is its code.
        makers = [values.maker_of(f"{setting.name} code", "") or named]
    for maker in (*makers, *([named] if named else [])):
        if not _may_fit(maker, demand, setting):
            continue
        for _ in range(_PLAUSIBLE):
            yield _shortened(maker(setting), demand) if maker is named else maker(setting)
    if demand.patterns or demand.no_patterns:
        yield from samples
        yield from _matches(demand, setting, spend)
        return
    formats = [_FORMAT_PATTERNS[name] for name in demand.formats if name in _FORMAT_PATTERNS]
    if formats:
        yield from _written(demand, formats, draws, spend)
    short = None if most is None or most > 400 else most
    for _ in range(_PLAUSIBLE):
        text = values.free_text(setting, least, short if short is not None or most is None else max(least, 400))
        yield text
    if demand.excluded:
        yield f"{text} {1 + sum(map(len, demand.excluded))}"
    yield from _written(demand, [], draws, spend)


def _may_fit(maker: values.Maker, demand: Demand, setting: Setting) -> bool:
    """Whether texts of a maker ever match the patterns: a code of five digits is none of letters and digits."""
    if not demand.patterns:
        return True
    short = sum(map(len, demand.patterns)) <= _LONGEST_KEPT
    ever_matches = _ever_matches if short else _ever_matches.__wrapped__
    return ever_matches(maker, setting.name, setting.about, setting.language, tuple(demand.patterns))


@lru_cache(maxsize=1024)
def _ever_matches(maker: values.Maker, name: str, about: str, language: str, patterns: Sequence[str]) -> bool:
    """Whether one of some samples matches; they are always the same, so that answers do not depend on earlier ones."""
    setting, matches = Setting(Draws(0), name, about, language, ""), matcher(patterns)
    return matches is None or any(matches(maker(setting)) for _ in range(_SAMPLES))


def _shortened(text: str, demand: Demand) -> str:
    """A plausible text that is too long, made fit where words allow it."""
    most = demand.max_length
    if most is None or len(text) <= most or demand.patterns:
        return text
    if " " not in text and not any(ord(c) > 0x2FFF for c in text):
        return text
    return text[:most].rstrip(" ,;:.-")


def _matches(demand: Demand, setting: Setting, spend: Spend) -> Iterator[str]:
    """Texts for the patterns: such as keep to the formats too, then any."""
    least, most, draws = demand.min_length, demand.max_length, setting.draws
    formats = [_FORMAT_PATTERNS[name] for name in demand.formats if name in _FORMAT_PATTERNS]
    if formats:
        yield from _written(demand, [*formats, *demand.patterns], draws, spend)
    yield from _written(demand, demand.patterns, draws, spend)
    for pattern in demand.patterns:
        spend(_ALONE_COST)
        for _ in range(_ALONE):
            text = find_match([pattern], draws, least, _shorter(most, [pattern]), spend=_reckoned(spend))
            if text is None:
                break
            spend(_checking(text))
            yield text
    for _ in range(_PLAUSIBLE):
        yield values.free_text(setting, least, most)
        yield draws.spell("abcdefgh0123456789", max(least, min(most or 8, 8)))


def _written(demand: Demand, patterns: Sequence[str], draws: Draws, spend: Spend) -> Iterator[str]:
    """A text that is written for the patterns; a very long one is a shorter one that has been stretched."""
    least, most = demand.min_length, demand.max_length
    others = [text for values in demand.excluded for text in values if isinstance(text, str)]
    wanted = min(least, _STRETCHED)
    longest = _shorter(most, (*patterns, *demand.no_patterns))
    text = find_match(patterns, draws, wanted, longest, demand.no_patterns, others, _reckoned(spend))
    spend(_checking(text or ""))
    if text is None or least <= _STRETCHED:
        yield from () if text is None else (text,)
        return
    for place in (len(text) // 2, len(text) // 3, len(text) - 1):
        for period in (1, 2, 3):
            part = text[max(place - period, 0) : place]
            times = -(-(least - len(text)) // max(len(part), 1))
            yield text[:place] + part * times + text[place:]


def _shorter(most: int | None, patterns: Sequence[str]) -> int:
    """The most characters of a text that can be checked against patterns."""
    longest = longest_searched(patterns)
    return longest if most is None else min(most, longest)


def _checking(text: str) -> int:
    """The steps to check a text against the patterns for which it is written."""
    return (len(text) // _CHECKED) ** 2


def _reckoned(spend: Spend) -> Spend:
    return lambda steps: spend(max(steps - _FREE, 0) // _DEAR)


def fits(demand: Demand) -> Callable[[str], bool]:
    """Whether a text meets the demand; formats, which need not be kept to, are left to whoever asks for more."""
    least, most = demand.min_length, demand.max_length
    matches = matcher(tuple(demand.patterns), tuple(demand.no_patterns))

    def fit(text: str) -> bool:
        if len(text) < least or (most is not None and len(text) > most) or demand.excludes(text):
            return False
        return matches is None or matches(text)

    return fit
