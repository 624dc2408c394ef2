"""Large bodies: which are large, and that their texts are read in turns with other tasks, also if each is short."""

import asyncio
import base64
import json
from threading import get_ident

import pytest

from mockserver.core.haste import loaded_once
from mockserver.generation import readings
from mockserver.serving import large_bodies, turns
from mockserver.serving.large_bodies import is_large, read_by_turns


def random_text(size: int) -> str:
    """Text without spaces in which no word comes twice."""
    return base64.b64encode(b"".join((number * 7919 % 65_521).to_bytes(2) for number in range(size * 3 // 8))).decode()


def conversation(*texts: str) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": text} for text in texts]}, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    "text, large",
    [
        ("a word and " * 2_000, False),
        ("a word and " * 3_000, True),
        (random_text(8_000), False),
        (random_text(9_000), True),
        ("桥" * 1_000, False),
        ("桥" * 2_000, True),
    ],
)
def test_a_body_is_large_when_its_texts_take_more_than_some_milliseconds(text: str, large: bool) -> None:
    assert is_large(conversation(text), None) is large


def test_many_short_texts_are_counted_in_turns_with_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_TURN_SECONDS", 0)
    readings._remembered.cache_clear()
    texts = [f"{number} {random_text(500)}" for number in range(100)]

    async def turns_of_others() -> int:
        taken, reading = 0, asyncio.create_task(read_by_turns(conversation(*texts)))
        while not reading.done():
            await asyncio.sleep(0)
            taken += 1
        assert await reading
        return taken

    assert asyncio.run(turns_of_others()) >= len(texts)
    known = readings._remembered.cache_info().misses
    assert all(map(readings.token_count, texts))
    assert readings._remembered.cache_info().misses == known


@pytest.mark.parametrize("tokens, quick", [(4_000, True), (8_000, False)])
def test_a_prompt_of_many_token_ids_is_left_to_a_thread(tokens: int, quick: bool) -> None:
    assert asyncio.run(read_by_turns(json.dumps({"prompt": [20_000] * tokens}).encode())) is quick


def test_what_counting_needs_is_loaded_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(large_bodies, "load", loaded_once(lambda: threads.append(get_ident())))
    body = conversation("a word and " * 3_000)
    assert all(asyncio.run(read_by_turns(body)) for _ in range(2))
    assert len(threads) == 1
    assert threads[0] != get_ident()
