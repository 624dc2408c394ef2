"""Structured output: the first request with a schema, and later ones with the same schema."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from statistics import median
from typing import Any

from tests.bench import words
from tests.bench.effort import Effort
from tests.bench.load import Address
from tests.bench.rounds import alternate, excess, percentile
from tests.bench.section import Section
from tests.bench.servers import product
from tests.bench.timed import timed
from tests.bench.wire import request

_FIRST, _LATER, _PLAIN = "first sight of a schema", "the same schema again, a new prompt", "no schema, a new prompt"
_BODY: dict[str, Any] = {"model": "meta-llama-3.1-8b-instruct", "max_tokens": 256}


def measure(effort: Effort) -> Section:
    """The durations of answers in a required format, on one connection of an otherwise idle server."""
    probe = request("/friendli/v1/completions", {**_BODY, "prompt": "Anyone there?"})
    with product(probe) as server:
        numbers = count()
        kinds = {_FIRST: _first, _LATER: _later, _PLAIN: _plain}
        runs = {name: partial(_series, server.address, kind, numbers, effort.schemas) for name, kind in kinds.items()}
        taken = alternate(runs, effort.rounds)
    middle = {name: [median(series) for series in rounds] for name, rounds in taken.items()}
    rows = tuple(
        (name, words.ms(median(middle[name])), words.ms(percentile([t for series in rounds for t in series], 99)))
        for name, rounds in taken.items()
    )
    return Section(
        title="Structured output, one connection",
        about=(
            "Whole requests, from sending to the end of the answer: an order with customer, address, a list of items "
            "with bounds, an enumeration and a choice between two shapes. The last row is a plain answer."
        ),
        columns=("", "median ms", "p99 ms"),
        rows=rows,
        facts={
            "schema first": median(middle[_FIRST]),
            "schema later": median(middle[_LATER]),
            "schema more": excess(middle[_LATER], middle[_PLAIN]),
        },
        rounds=middle,
    )


def _series(address: Address, make: Callable[[int], bytes], numbers: Iterator[int], times: int) -> list[float]:
    """The durations of so many requests of a kind, after a first one that opens the connection."""
    return timed(address, [make(next(numbers)) for _ in range(times + 1)])[1:]


def _first(number: int) -> bytes:
    return _ask(number, _schema(number))


def _later(number: int) -> bytes:
    return _ask(number, _schema(-1))


def _plain(number: int) -> bytes:
    return request("/friendli/v1/completions", {**_BODY, "prompt": f"An order, number {number}, please"})


def _ask(number: int, schema: dict[str, Any]) -> bytes:
    form = {"type": "json_object", "schema": json.dumps(schema)}
    body = {**_BODY, "prompt": f"An order, number {number}, please", "response_format": form}
    return request("/friendli/v1/completions", body)


def _schema(number: int) -> dict[str, Any]:
    """A schema that is different for each number."""
    text = {"type": "string"}
    address = _object({"street": text, "town": text, "code": {"type": "string", "pattern": "^[0-9]{5}$"}})
    item = _object(
        {"sku": text, "count": {"type": "integer", "minimum": 1, "maximum": 99}, "price": {"type": "number"}}
    )
    card, cash = _object({"card": text, "year": {"type": "integer"}}), _object({"cash": {"type": "boolean"}})
    return _object(
        {
            f"order_{number + 1}": {"type": "integer"},
            "customer": _object({"name": text, "address": address}),
            "items": {"type": "array", "items": item, "minItems": 1, "maxItems": 3},
            "state": {"enum": ["open", "paid", "sent"]},
            "payment": {"anyOf": [card, cash]},
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
