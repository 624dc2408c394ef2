"""`POST /v3/tokenize` of a graph that generates or embeds texts (the server's `src/tokenize`).

Any path that ends with that word reaches it. The answer includes the special tokens that a model adds to a text, unless
`add_special_tokens` forbids it: the one for the beginning, and in embeddings models also the one for the end.
"""

from collections.abc import Callable, Sequence

from mockserver.core.dialects import Site
from mockserver.core.failures import Rejection
from mockserver.core.timeline import Reply
from mockserver.dialects.openai.bodies import body_reply
from mockserver.dialects.ovms.body import Admitted
from mockserver.dialects.ovms.errors import graph_fault
from mockserver.dialects.ovms.graphs import kind_of, node_of, texts_fault
from mockserver.dialects.ovms.headers import JSON
from mockserver.dialects.ovms.rows import UINT32, Fields, whole
from mockserver.model import tokens

# "MAX_LENGTH_LIMIT = 1000000", which "guards against unbounded allocation": here of all texts together.
_LONGEST = 1_000_000
# The padding token. The engine's own depends on the model.
_PAD = tokens.EOS


def tokenize(admitted: Admitted, site: Site) -> Reply | Rejection:
    """The answer: a list of token ids, or a list of them for each of several texts."""
    fields = admitted.fields
    embeds = kind_of(fields["model"]) == "embeddings"
    fault = next((found for check in _CHECKS if (found := check(fields)) is not None), None)
    if fault is not None:
        return graph_fault(fault, node=node_of("embeddings", site.edition)) if embeds else graph_fault(fault)
    texts = [fields["text"]] if isinstance(fields["text"], str) else fields["text"]
    marked = fields.get("add_special_tokens", True)
    begin, end = (tokens.BOS,) * marked, (tokens.EOS,) * (marked and embeds)
    lists = [(*begin, *tokens.encode(text), *end)[: fields.get("max_length")] for text in texts]
    if fields.get("pad_to_max_length"):
        lists = _padded(lists, fields)
    return body_reply({"tokens": lists if len(lists) > 1 else lists[0]}, content_type=JSON)


def _padded(lists: Sequence[tuple[int, ...]], fields: Fields) -> list[tuple[int, ...]]:
    """The lists, padded to the requested length, or to that of the longest."""
    length = fields.get("max_length", max(map(len, lists)))
    filling = [(_PAD,) * (length - len(each)) for each in lists]
    if fields.get("padding_side") == "left":
        return [(*more, *each) for each, more in zip(lists, filling, strict=True)]
    return [(*each, *more) for each, more in zip(lists, filling, strict=True)]


def _text_fault(fields: Fields) -> str | None:
    fault = texts_fault(fields, "text", "observed")
    if fault is not None or isinstance(fields["text"], str) or isinstance(fields["text"][0], str):
        return fault
    return "Input should be string or array of strings"


def _length_fault(fields: Fields) -> str | None:
    if "max_length" not in fields:
        return None
    length = fields["max_length"]
    if not whole(length, UINT32):
        return "max_length should be unsigned integer"
    if length == 0:
        return "max_length should be greater than 0"
    most = _LONGEST if isinstance(fields["text"], str) else max(_LONGEST // len(fields["text"]), 1)
    return None if length <= most else f"max_length {length} exceeds the allowed limit of {most}"


def _boolean(name: str) -> Callable[[Fields], str | None]:
    return lambda fields: None if isinstance(fields.get(name, False), bool) else f"{name} should be boolean"


def _side_fault(fields: Fields) -> str | None:
    side = fields.get("padding_side", "right")
    if not isinstance(side, str):
        return "padding_side should be string, either left or right"
    return None if side in ("left", "right") else "padding_side should be either left or right"


# In the server's order, except for texts that are token ids already, which the server refuses last.
_CHECKS = (_text_fault, _length_fault, _boolean("pad_to_max_length"), _boolean("add_special_tokens"), _side_fault)
