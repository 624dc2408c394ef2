"""Caches and journals are bounded in bytes too, so that long texts are not kept."""

import gc
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import pytest

from mockserver.core.caches import Cache
from mockserver.core.installed import load_dialects
from mockserver.core.matching.whole_requests import whole_request
from mockserver.state.namespaces import Namespace
from mockserver.state.stubs.templates import groups_in
from tests.support.asking import ask

# Prompts of so many characters each, all different. A single one may be kept by what read it last, twenty may not.
COUNT, LENGTH = 20, 60_000

TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather"}}


def prompt(number: int) -> str:
    return f"{number} Explain how Anna Schmidt, {number}, carries a load. " + "And another word. " * (LENGTH // 18)


def chat(number: int) -> dict[str, Any]:
    return {"model": "gpt://f/yandexgpt/latest", "messages": [{"role": "user", "content": prompt(number)}]}


KINDS: dict[str, tuple[str, Any]] = {
    "completion": ("ovms", lambda n: {"model": "m", "prompt": prompt(n), "max_tokens": 8}),
    "continued": ("ovms", lambda n: {"model": "m", "prompt": prompt(n) + "and so", "max_tokens": 8}),
    "cut story": ("ovms", lambda n: {"model": "m", "prompt": prompt(n), "max_tokens": 8, "frequency_penalty": 1.0}),
    "one word": ("ovms", lambda n: {"model": "m", "prompt": f"{n}" + "x" * LENGTH, "max_tokens": 8}),
    "tools": ("yandex", lambda n: chat(n) | {"tools": [TOOL], "max_tokens": 8}),
    "JSON": ("yandex", lambda n: chat(n) | {"response_format": {"type": "json_object"}, "max_tokens": 8}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_long_prompts_are_not_kept(kind: str) -> None:
    dialect, body = KINDS[kind]
    ask(dialect, body(0))
    tracemalloc.start()
    try:
        statuses = {ask(dialect, body(number)).status for number in range(1, COUNT)}
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert statuses == {200}
    assert kept < COUNT * LENGTH / 2


def test_long_embeddings_are_not_kept() -> None:
    def embed(number: int) -> int:
        body = {"model": "Qwen3-Embedding-8B", "input": [f"{number}", f"{number} more"]}
        return len(ask("ovms", body, path="/v3/embeddings").body)

    embed(0)
    tracemalloc.start()
    try:
        length = sum(map(embed, range(1, COUNT)))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < length / 2


def test_a_journal_of_embeddings_stays_within_its_bytes() -> None:
    space = Namespace("")
    answer = ask("ovms", {"model": "bge-large", "input": ["Tides"] * 50}, path="/v3/embeddings")
    noted = space.journal.open("", "/v3/embeddings", answer.plan.context.call, answer.plan)
    assert len(answer.body) < noted.weight < 1.1 * len(answer.body)


MODELS = {"yandex": "gpt://f/yandexgpt/latest", "friendli": "meta-llama-3.3-70b-instruct", "anthropic": "claude-opus-5"}
CHATS = re.compile(r".*/(chat/completions|messages)")


def asks(dialect: str, said: str = "What is the weather in Berlin?", **fields: Any) -> int:
    body = {"model": MODELS.get(dialect, "m"), "messages": [{"role": "user", "content": said}], "max_tokens": 40}
    paths = (path for each in load_dialects()[dialect].operations if each.method == "POST" for path in each.paths)
    return ask(dialect, body | fields, path=next(filter(CHATS.fullmatch, paths))).status


def asks_for(schema: object, dialect: str = "ovms") -> int:
    return asks(dialect, response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}})


def asks_for_match(pattern: str) -> int:
    return asks("friendli", response_format={"type": "regex", "schema": pattern})


def offers(name: str = "get_weather", description: str = "", parameters: object = None, said: str = "Weather?") -> int:
    function = {"name": name, "description": description, "parameters": parameters or {"type": "object"}}
    return asks("ovms", said, tools=[{"type": "function", "function": function}])


def of(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def key_of(text: str) -> str:
    """A name that is the text's own."""
    return f"key_{text.replace(' ', '_')}"


def numbers(text: str) -> range:
    """Numbers that are the text's own, more of them if it is longer."""
    return range(ord(text[0]), len(text) // 10, 2)


# Where clients send texts that something may remember.
PLACES: dict[str, Callable[[str], object]] = {
    **{f"model of {name}": partial(lambda name, text: asks(name, model=text), name) for name in load_dialects()},
    "URI": lambda text: asks("yandex", model=f"gpt://f/{text}/latest"),
    "stop": lambda text: asks("ovms", stop=[text]),
    "user": lambda text: asks("cerebras", user=text),
    "tool": lambda text: offers(text, said=f"Call {text}"),
    "assigned": lambda text: offers(parameters=of(**{key_of(text): {"type": "string"}}), said=f"{key_of(text)} = sun"),
    "description": lambda text: offers(description=f"Use it for all questions about the weather. {text}"),
    "parameter": lambda text: offers(parameters=of(**{text: {"type": "string"}})),
    "property": lambda text: asks_for({"type": "object", "properties": {text: {"type": "boolean"}}}),
    "title": lambda text: asks_for(of(age={"type": "integer", "title": text, "description": text})),
    "value": lambda text: asks_for(of(age={"enum": [text, 1, 0]})),
    "reference": lambda text: asks_for(of(age={"$ref": f"https://example.com/{text.replace(' ', '-')}"}), "cerebras"),
    "pattern": lambda text: asks_for(of(age={"type": "string", "pattern": f"^{text[:2_000]}$"})),
    "set": lambda text: asks_for_match(f"[^{''.join(chr(0x4E00 + n) for n in numbers(text))}a-z]"),
    "group": lambda text: asks_for_match(rf"\p{{{text[:9_000]}}}"),
    "bias": lambda text: asks("ovms", logprobs=True, logit_bias={str(n): -100 for n in numbers(text)}),
    "banned": lambda text: ask("friendli", {"prompt": "Hello", "max_tokens": 9, "bad_words": [text]}).status,
    "answer": lambda text: asks("ovms", f"Say {text}", frequency_penalty=1),
    "field": lambda text: whole_request({text: 1}, f"{text}=1", [f"$.{text}"]),
    "template": lambda text: list(groups_in(text)),
}


def caches() -> Iterator[tuple[str, object]]:
    """All that is kept between requests: by functions, in collections of ours and of modules, and what is compiled."""
    for each in gc.get_objects():
        if type(each) is type(lru_cache(len)) and str(each.__module__).startswith("mockserver"):
            yield f"{each.__module__}.{each.__qualname__}", each
    yield "re", vars(re).get("_cache")
    for name, module in [*sys.modules.items()]:
        if name.startswith("mockserver."):
            for own, each in [*vars(module).items()]:
                if isinstance(each, Cache | dict | list | set) and not own.startswith("__"):
                    yield f"{name}.{own}", each


def bytes_of(kept: object) -> int:
    """The bytes of what a cache has, and of all that these values refer to, as far as Python knows it."""
    code = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType, type(lru_cache(len)))
    found: dict[int, object] = {}
    waiting: list[Any] = [kept]
    while waiting:
        each = waiting.pop()
        # By its type: a proxy of what is no more cannot be asked for its class.
        if id(each) not in found and (each is kept or not issubclass(type(each), code)):
            found[id(each)] = each
            # Of dictionaries, the collector does not tell keys that are texts.
            waiting += [*gc.get_referents(each), *(each if issubclass(type(each), dict) else ())]
    return sum(map(sys.getsizeof, found.values()))


def test_no_cache_grows_with_the_texts_that_clients_send() -> None:
    length, times = 100_000, 4
    for put in PLACES.values():
        put("weather")
    before = {name: bytes_of(each) for name, each in caches()}
    for number in range(times):
        for put in PLACES.values():
            put(f"{number} weather " + "x" * length)
    for name, each in caches():
        # What is bounded by bytes has about as many as it says.
        expected = max(before.get(name, 0), 2 * each._bytes if isinstance(each, Cache) else 0)
        assert bytes_of(each) < expected + length, name
