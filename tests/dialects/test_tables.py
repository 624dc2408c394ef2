"""What holds for every dialect, whatever its vendor: its tables are complete, and its parts fit together."""

import json
import re
from pathlib import Path

import pytest

from mockserver.core.dialects import EDITIONS, Dialect, Edition
from mockserver.core.failures import FailureKind, Refusal
from mockserver.core.installed import defects_of, load_dialects
from mockserver.dialects.documents import openapi_document
from mockserver.latency.profiles import presets
from tests.support.asking import ask
from tests.support.conformity import contract
from tests.support.questions import EMBEDDERS
from tests.support.shapes import SHAPES

DIALECTS = load_dialects()
FOLDER = Path(__file__).parents[2] / "mockserver" / "dialects"

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
every_edition = pytest.mark.parametrize("edition", EDITIONS)


@every_dialect
@every_edition
def test_every_failure_has_an_answer_in_the_vendors_shape(dialect: Dialect, edition: Edition) -> None:
    errors = contract(dialect.name, edition, dialect.error_schema)
    for kind in FailureKind:
        row = dialect.error(edition, kind)
        for each in filter(None, (row, row.streamed)):
            body = each.body(Refusal(kind), each.message)
            if not isinstance(body, bytes):
                assert (kind, errors.violations(json.loads(json.dumps(body)))) == (kind, ())
        assert 400 <= row.status < 600, kind


@every_dialect
def test_a_dialect_is_whole(dialect: Dialect) -> None:
    assert [*defects_of(dialect)] == []


@every_dialect
@every_edition
def test_every_schema_of_the_openapi_document_leads_somewhere(dialect: Dialect, edition: Edition) -> None:
    document = openapi_document(dialect, edition)
    text = json.dumps(document)
    references = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert references == set(document["components"]["schemas"])


def good_body(dialect: Dialect, schema: str, edition: Edition) -> dict[str, object]:
    """A request that nobody refuses."""
    schema = schema.removeprefix("Hosted")
    if schema.startswith("Embedding"):
        return {"model": EMBEDDERS[dialect.name], "input": "Tides"}
    if schema.startswith("Rerank"):
        return {"model": "BAAI/bge-reranker-large", "query": "Tides", "documents": ["Moon", "Tides"]}
    if schema.startswith("Tokenize"):
        return {"model": "llama3", "text": "Tides"}
    if "okenization" in schema:
        return {
            "model": dialect.models[0].id,
            **({"tokens": [1]} if "Detokenization" in schema else {"prompt": "Tides"}),
        }
    if "Responses" in schema or schema == "ResponseRequest":
        return {"model": dialect.models[0].id, "input": "Tell me about tides", "max_output_tokens": 16}
    if "Message" in schema or schema == "CountTokensRequest":
        limit = {"max_tokens": 16} if "Message" in schema else {}
        return {"model": dialect.models[0].id, "messages": [{"role": "user", "content": "Tides"}], **limit}
    if "Moderation" in schema:
        return {"input": "Tides"}
    if schema.startswith("ChatRender"):
        return {"model": dialect.models[0].id, "messages": [{"role": "user", "content": "Tides"}]}
    if "Completion" not in schema:
        return {}
    shapes = sorted(
        (shape for shape in SHAPES if shape.dialect == dialect.name), key=lambda each: each.edition != edition
    )
    bodies = [shape.body("Tell me about tides") for shape in shapes]
    return {**next(body for body in bodies if ("messages" in body) == ("Chat" in schema)), "max_tokens": 3}


VARIABLE = re.compile(r"{(\w+)}")
# Deployments of models that do not chat.
NAMES = {"/deployments/{name}/completions": "davinci-002", "/deployments/{name}/embeddings": "text-embedding-3-small"}
VALUES = {"destination": "http://127.0.0.1:9/", "queueName": "q", "messageId": "msg_1", "dlqId": "1-0"}
BODIES: dict[str, object] = {"/v2/batch": b"[]", "/v2/queues": {"queueName": "q"}}
STORED = ("conversations", "chat/completions")
# A namespace in which nothing was asked stores nothing, and one in which nothing was published has no message, dead
# letter or queue to tell of.
STATUSES = {
    **{(method, "/v1/responses/{id}"): 404 for method in ("get", "delete")},
    ("post", "/v1/responses/{id}/cancel"): 404,
    ("get", "/v1/responses/{id}/input_items"): 404,
    **{(method, f"/v1/{path}/{{id}}"): 404 for method in ("get", "post", "delete") for path in STORED},
    **{(method, "/v1/conversations/{id}/items/{item_id}"): 404 for method in ("get", "delete")},
    **{(method, "/v1/conversations/{id}/items"): 404 for method in ("get", "post")},
    ("get", "/v1/chat/completions/{id}/messages"): 404,
    **{(method, "/v2/messages/{messageId}"): 404 for method in ("get", "delete")},
    **{(method, "/v2/dlq/{dlqId}"): 404 for method in ("get", "delete")},
    ("get", "/v2/queues/{queueName}"): 404,
    # Nobody may delete the vendor's own models.
    ("delete", "/v1/models/{id}"): 403,
    ("post", "/v2/dlq/retry/{dlqId}"): 404,
    ("post", "/v2/dlq/retry"): 201,
    ("delete", "/v2/messages"): 202,
}


def filled(path: str, dialect: Dialect) -> str:
    return VARIABLE.sub(lambda name: VALUES.get(name[1], NAMES.get(path, dialect.models[0].id)), path)


@every_dialect
@every_edition
def test_every_path_of_the_openapi_document_answers_as_it_promises(dialect: Dialect, edition: Edition) -> None:
    asked = {
        path: each.schemas.request or "" for each in dialect.operations if each.method == "POST" for path in each.paths
    }
    found = {
        (method, path): ask(
            dialect.name,
            BODIES.get(path, good_body(dialect, asked[path], edition)) if method == "post" else None,
            path=filled(path, dialect),
            method=method.upper(),
            edition=edition,
        ).status
        for path, methods in openapi_document(dialect, edition)["paths"].items()
        for method in methods
    }
    # OpenAI's paths without a version are for Azure's clients.
    unversioned = {place for place in found if place[1].startswith(("/responses", "/conversations", "/models"))}
    assert found == {place: 404 if place in unversioned else STATUSES.get(place, 200) for place in found}


@pytest.mark.parametrize(
    "name, ways",
    [
        ("anthropic", [{"x-api-key": "k", "authorization": ""}, {"authorization": "Bearer k"}]),
        ("cerebras", [{"authorization": "Bearer k"}]),
        ("yandex", [{"authorization": "Bearer k"}, {"authorization": "Api-Key k"}]),
        ("upstash", [{"authorization": "Bearer k"}, {"query": "?qstash_token=k", "authorization": ""}]),
    ],
)
def test_the_openapi_document_says_every_way_to_send_a_key(name: str, ways: list[dict[str, str]]) -> None:
    dialect, operation = DIALECTS[name], DIALECTS[name].operations[0]
    document = openapi_document(dialect)
    schemes = document["components"]["securitySchemes"]
    assert len(schemes) == len(ways)
    assert document["paths"][operation.paths[0]]["post"]["security"] == [{scheme: []} for scheme in schemes]
    for way in ways:
        path = operation.paths[0] + way.pop("query", "")
        body = good_body(dialect, operation.schemas.request or "", "documented")
        assert ask(name, body, path=path, method="POST", headers=way).status == 200
    assert ask(name, {}, path=operation.paths[0], method="POST", headers={"authorization": ""}).status in (401, 403)


def test_no_two_dialects_claim_a_model_or_have_the_same_mark() -> None:
    marks = [mark for dialect in DIALECTS.values() for mark in dialect.marks]
    assert len(marks) == len(set(marks))
    for dialect in DIALECTS.values():
        if dialect.claims is not None:
            claimed = [model.id for model in dialect.models if dialect.claims.fullmatch(model.id)]
            # All of its own, and none of those that any model name without a claim stands for.
            assert claimed == [model.id for model in dialect.models]
            others = [model.id for other in DIALECTS.values() if other is not dialect for model in other.models]
            assert [name for name in others if dialect.claims.fullmatch(name)] == []


@every_dialect
def test_every_dialect_has_its_page_its_preset_and_names_of_its_own(dialect: Dialect) -> None:
    assert len((FOLDER / dialect.name / "about.md").read_text()) > 1000
    assert dialect.realistic in dialect.presets
    # Nobody else has a preset of that name.
    assert all(presets()[name] is preset for name, preset in dialect.presets.items())
    names = [operation.name for operation in dialect.operations]
    assert len(names) == len(set(names))
