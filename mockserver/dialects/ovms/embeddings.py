"""`POST /v3/embeddings` and `/v3/rerank` of graphs that embed and rank, and the token ids of texts (vendor note 7)."""

from array import array
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any, NamedTuple

from mockserver.core.dialects import RequestScope
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.generation import Generation, GenerationRequest
from mockserver.core.http import Call, Reply, TokenTiming
from mockserver.core.seeding import derive
from mockserver.dialects.openai.embeddings import EmbeddingForm, embedding_request, embedding_rows, read_usage
from mockserver.dialects.openai.read import text_prompt
from mockserver.dialects.openai.replies import body_reply
from mockserver.dialects.ovms.checks import checks_of
from mockserver.dialects.ovms.endpoints import INT32, Check, Fields, enter, first_fault, is_whole
from mockserver.dialects.ovms.errors import JSON, Kind, graph_fault
from mockserver.dialects.ovms.models import by_name
from mockserver.model import tokens

# The dimensions of a model's vectors.
_size_of = by_name(
    1024, ("minilm|small", 384), ("base|nomic|roberta|mpnet", 768), (r"(?<!\d)8b", 4096), (r"(?<!\d)4b", 2560)
)
# The longest text, in tokens, and how many of these the tokenizer adds.
_CONTEXT = 8_192
_SPECIAL = 2


def read_embedding(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    admitted = enter(call, scope, "embeddings")
    if isinstance(admitted, Refusal):
        return admitted
    fields = admitted.fields
    form = EmbeddingForm(fields["model"], _size_of(fields["model"]), base64=fields.get("encoding_format") == "base64")
    request = embedding_request(fields["model"], fields["input"], _CONTEXT, form)
    prompts = tuple(
        prompt if prompt.ids else prompt._replace(token_count=prompt.token_count + _SPECIAL)
        for prompt in request.prompts
    )
    longest = max(prompt.token_count for prompt in prompts)
    if longest <= _CONTEXT:
        return request._replace(prompts=prompts)
    message = f"Input length {longest} longer than allowed {_CONTEXT}"
    return graph_fault(message, kind=FailureKind.CONTEXT_LENGTH, graph="embeddings")


def write_embedding(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The answer, "no `model` member"."""
    data = embedding_rows(generation, "object", "embedding", "index")
    return body_reply({"object": "list", "data": data, "usage": read_usage(generation)}, generation, content_type=JSON)


# --- rerank ----------------------------------------------------------------------------------------------------------

# "max_allowed_chunks [...] default = 10000": no reranker takes more documents.
_MOST_DOCUMENTS = 10_000
# The dimensions in which a query and a document are compared.
_COMPARED = 256
# The logits of texts about the same subjects, and of texts without a common subject.
_SURE, _UNSURE = 10.0, -4.0


class _RerankOptions(NamedTuple):
    top: int
    documents: bool


def read_rerank(call: Call, scope: RequestScope) -> GenerationRequest | Refusal:
    """The request, or why the server or its graph refuses it."""
    admitted = enter(call, scope, "scores")
    if isinstance(admitted, Refusal):
        return admitted
    fields = admitted.fields
    documents, returned = fields["documents"], fields.get("return_documents") is True
    # The graph only counts documents that are texts.
    if sum(isinstance(document, str) for document in documents) > _MOST_DOCUMENTS:
        return graph_fault("Number of documents exceeds max_allowed_chunks", graph="scores", status="INTERNAL")
    if documents and isinstance(documents[0], Mapping):
        # "add support for document map": the server reads them, and scores none.
        if returned:
            return graph_fault("document map not supported", graph="scores")
        documents = []
    top = fields.get("top_n")
    # Compared as an unsigned number, a negative one cuts nothing off.
    options = _RerankOptions(len(documents) if top is None or top < 0 else top, returned)
    # Reports of a request with several prompts show the last one.
    prompts = tuple(map(text_prompt, (*documents, fields["query"])))
    return GenerationRequest(fields["model"], prompts, n=0, extra=options)


def write_rerank(generation: Generation, pace: TokenTiming, scope: RequestScope) -> Reply:
    """The answer: "sorted by score, top_n cut"."""
    options: Any = generation.request.extra
    documents = generation.request.prompts
    ranked = sorted(enumerate(_scores(generation)), key=lambda row: -row[1])[: options.top]
    results = [
        {"index": index, "relevance_score": score}
        | ({"document": {"text": documents[index].text}} if options.documents else {})
        for index, score in ranked
    ]
    return body_reply({"results": results}, generation, content_type=JSON)


def _scores(generation: Generation) -> list[float]:
    """How well each document answers the query, between 0 and 1, in single precision; or as it is given."""
    if generation.measures is not None:
        return [score for (score,) in generation.measures.values]
    # Imported on first use: most servers never rank anything.
    from mockserver.model.embeddings import embed, likeness

    key = derive(0, "rerank", generation.request.model)
    *documents, query = (embed(prompt.text, _COMPARED, key) for prompt in generation.request.prompts)
    logits = (_UNSURE + (_SURE - _UNSURE) * likeness(query, document) for document in documents)
    return array("f", [1 / (1 + exp(-logit)) for logit in logits]).tolist()


# --- what they refuse ------------------------------------------------------------------------------------------------


def refused_by(kind: Kind, fields: Fields) -> Refusal | None:
    """Why a graph that embeds or ranks refuses a request; None if it accepts it."""
    fault = first_fault(_CHECKS[kind], fields)
    return None if fault is None else graph_fault(fault, graph=kind)


def _elements(name: str) -> Check:
    """A check of the field that has a text or several, each as it is or in tokens."""

    def fault(texts: Any, fields: Fields) -> str | None:
        elements = () if isinstance(texts, str) else texts
        return next(filter(None, (_element_fault(each, type(texts[0]), name) for each in elements)), None)

    return name, fault


def _element_fault(element: object, kind: type, name: str) -> str | None:
    """What is wrong with an element (a text, a token or a list of tokens), given the kind of the first one."""
    if element == []:
        return f"inner arrays in {name} should not be empty"
    if not isinstance(element, str | list) and not _is_int(element):
        return f"every element in {name} array should be either string or int"
    alike = type(element) is kind and (not isinstance(element, list) or all(map(_is_int, element)))
    return None if alike else f"{name} must be homogeneous"


def _is_int(value: object) -> bool:
    return is_whole(value, INT32)


def _document_fault(documents: Sequence[Any], fields: Fields) -> str | None:
    for document in documents:
        if not isinstance(document, str | dict):
            return "documents array element is neither string nor object"
        if type(document) is not type(documents[0]):
            return "all documents have to be the same type (string or objects)"
        if isinstance(document, str):
            continue
        for name in ("title", "text"):
            if name not in document:
                return f"document {name} field is missing"
            if not isinstance(document[name], str):
                return f"document {name} field have to be string"
    return None


_CHECKS: Mapping[Kind, tuple[Check, ...]] = {
    "embeddings": checks_of("embeddings", {"each element": (_elements("input"),)}),
    "scores": checks_of("scores", {"each document": (("documents", _document_fault),)}),
}

# --- tokenize --------------------------------------------------------------------------------------------------------

# "MAX_LENGTH_LIMIT = 1000000", which "guards against unbounded allocation": here of all texts together.
_LONGEST = 1_000_000
# The padding token. The engine's own depends on the model.
_PAD = tokens.EOS


def _length_fault(length: int, fields: Fields) -> str | None:
    text = fields["text"]
    most = _LONGEST if isinstance(text, str) else max(_LONGEST // len(text), 1)
    return f"max_length {length} exceeds the allowed limit of {most}" if length > most else None


# In the server's order, except for texts that are token ids already: it refuses these last.
_OF_TOKENS = checks_of("tokens", {"each element": (_elements("text"),), "length": (("max_length", _length_fault),)})


def tokenized(fields: Fields, kind: Kind) -> Reply | Refusal:
    """The token ids of a text or of several, by a graph of that kind."""
    fault = first_fault(_OF_TOKENS, fields)
    if fault is not None:
        return graph_fault(fault, graph=kind)
    texts = [fields["text"]] if isinstance(fields["text"], str) else fields["text"]
    marked = fields.get("add_special_tokens", True)
    begin, end = (tokens.BOS,) * marked, (tokens.EOS,) * (marked and kind == "embeddings")
    lists = [(*begin, *tokens.encode(text), *end)[: fields.get("max_length")] for text in texts]
    if fields.get("pad_to_max_length"):
        length = fields.get("max_length", max(map(len, lists)))
        filling = [(_PAD,) * (length - len(each)) for each in lists]
        left = fields.get("padding_side") == "left"
        lists = [(*more, *each) if left else (*each, *more) for each, more in zip(lists, filling, strict=True)]
    return body_reply({"tokens": lists if len(lists) > 1 else lists[0]}, content_type=JSON)
