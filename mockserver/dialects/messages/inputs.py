"""Inputs of calls that are cut short: what Anthropic keeps of them (recorded in September 2026)."""

import re
from collections.abc import Iterator, Sequence

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>")?|[{}\[\]:,]|[^\s{}\[\]:,"]++')
# An escape that is itself cut short.
_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*(?P<cut>\\(?:u[0-9a-fA-F]{0,3})?)\Z")
_ENDS = {"{": "}", "[": "]"}


def kept(text: str, closes: bool) -> str:
    """The beginning of a JSON object, up to the last of its properties that is complete.

    If it `closes`, then the string that is being written ends where the text does, and so do the lists and objects
    around it: a stop sequence has such an end, which a limit of tokens has not.
    """
    end, open_, before = 0, list[str](), ""
    for token in _TOKEN.finditer(text):
        said, is_value = token[0], before == ":" or (before in ("[", ",") and open_[-1:] == ["["])
        if said in _ENDS:
            open_.append(said)
        elif said in ("}", "]"):
            del open_[-1:]
        elif said[0] == '"' and not token["end"]:
            return _closed(text, open_) if closes and is_value else _object(text[:end], closes)
        # Of a number, and of a word, nobody knows that it is complete unless something follows.
        follows = said in ("}", "]") or (is_value and said not in _ENDS and (said[0] == '"' or token.end() < len(text)))
        if follows and open_ in (["{"], []):
            end = token.end()
        before = said
    return text if end and not open_ else _object(text[:end], closes)


def _object(properties: str, closes: bool) -> str:
    return f"{properties or '{'}}}" if closes else properties


def _closed(text: str, open_: Sequence[str]) -> str:
    cut = _ESCAPE.search(text)
    return (text[: cut.start("cut")] if cut else text) + '"' + "".join(_ENDS[each] for each in reversed(open_))


def divided(text: str, texts: Sequence[str]) -> Iterator[str]:
    """A text that begins as `texts` do, divided where these are; the last piece has what is added to them."""
    place = 0
    for index, given in enumerate(texts, 1):
        end = place + len(given) if index < len(texts) else len(text)
        if place < len(text):
            yield text[place:end]
        place = end
