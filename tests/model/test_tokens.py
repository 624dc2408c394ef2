"""The tokenizer: texts become tokens and the same texts again, whatever their characters, and however they are cut."""

from pkgutil import get_data
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockserver.model import tokens
from mockserver.model.tokens import (
    BOS,
    EOS,
    VOCABULARY_SIZE,
    count,
    count_slices,
    decode,
    encode,
    name_of,
    texts,
    token_bytes,
    token_count,
)

PROSE = """\
The lighthouse keeper had not spoken aloud for eleven days, and when the boy climbed the last iron stair and said good
morning, the old man dropped his spoon. "You're early," he whispered. Rain hammered against the thick panes. Far below
them, gulls wheeled over the black rocks, screaming as though they'd quarrelled with the tide.

Patients with chronic kidney disease frequently develop anaemia because the kidneys produce less of the hormone that
stimulates red blood cell formation. Symptoms such as fatigue and difficulty concentrating may appear gradually.

hey, my neighbor keeps parking across my driveway. what can i do about it? I've already asked him nicely like 3 times
"""

RUSSIAN = """\
Хороший борщ не терпит спешки. Сначала варят крепкий бульон на говяжьей косточке, снимая пену и не давая ему бурно
кипеть, потом отдельно тушат свёклу с ложкой уксуса, чтобы она не потеряла цвет.

Здравствуйте! Заказал наушники неделю назад, статус до сих пор «в обработке». Если товара нет на складе, вы сможете
отменить покупку и вернуть деньги на карту в течение 10 дней.

Когда звезда исчерпывает запасы водорода, её ядро сжимается под действием гравитации и загорается гелий.
"""

PYTHON = '''\
@dataclass
class SlidingWindowLimiter:
    limit: int
    period: float = 60.0
    _stamps: deque[float] = field(default_factory=deque, repr=False)

    async def acquire(self, *, timeout: float | None = None) -> bool:
        """Waits for a free place; malformed limits raise ValueError."""
        while True:
            now = time.monotonic()
            if len(self._stamps) < self.limit:
                self._stamps.append(now)
                return True
            wait = self.period - (now - self._stamps[0])
            if timeout is not None and wait > timeout:
                raise ValueError(f"{wait:.1f} seconds are too long")
            await asyncio.sleep(wait)
'''

JAVASCRIPT = """\
export class EventStream {
  #listeners = new Set();

  constructor(response, { retry = 3000 } = {}) {
    this.response = response;
    response.writeHead(200, {
      "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache",
    });
    response.write(`retry: ${retry}\\n\\n`);
  }

  send(event, data) {
    const payload = typeof data === "string" ? data : JSON.stringify(data);
    for (const line of payload.split("\\n")) this.response.write(`data: ${line}\\n`);
    this.#listeners.forEach((listener) => listener({ event, data }));
  }
}
"""

C = """\
/* Copies up to `length` bytes into the ring; returns how many were stored. */
static size_t ring_write(struct ring_buffer *ring, const void *source, size_t length)
{
    const uint8_t *bytes = source;
    size_t stored = 0;

    while (stored < length) {
        size_t next = (ring->head + 1) % RING_CAPACITY;
        if (next == ring->tail) {
            fprintf(stderr, "overrun: %s\\n", strerror(errno));
            break;
        }
        ring->data[ring->head] = bytes[stored++];
        ring->head = next;
    }
    return stored;
}
"""

JSON_COMPACT = (
    '{"id":"ord_8f3a21","created_at":"2024-11-05T09:14:33Z","customer":{"id":90412,"address":{"street":"Kungsgatan 12",'
    '"postal_code":"753 18","country":"SE"}},"items":[{"sku":"TEA-0042","title":"Green tea, loose leaf","quantity":2,'
    '"unit_price":8.95,"tags":["organic","bestseller"]}],"total":37.3,"paid":true,"coupon":null}'
)

JSON_PRETTY = """\
{
  "model": "llama-3.3-70b",
  "messages": [
    {
      "role": "user",
      "content": "Will it rain in Lisbon tomorrow?"
    }
  ],
  "temperature": 0.7,
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "get_forecast",
        "parameters": {
          "type": "object",
          "required": [
            "city",
            "date"
          ],
          "additionalProperties": false
        }
      }
    }
  ]
}
"""

EUROPEAN = """\
Der Zug nach Hamburg fährt heute leider mit einer Verspätung von etwa zwanzig Minuten ab.
Le marché du samedi matin attire toujours beaucoup de monde, surtout au printemps.
La biblioteca municipal abrirá también los domingos a partir del próximo mes.
Belediye, şehir merkezindeki otobüs duraklarını yenilemeye karar verdi.
"""

EAST_ASIAN = (
    "图书馆从下个月开始周日也开放。図書館は来月から日曜日も開館することになりました。도서관은 일요일에도 문을 엽니다."
)

# Each text with its count in cl100k, the vocabulary of 100 000 pieces that hosted models' counts resemble.
CALIBRATION = {
    "prose": (PROSE, 142),
    "russian": (RUSSIAN, 234),
    "python": (PYTHON, 160),
    "javascript": (JAVASCRIPT, 138),
    "c": (C, 142),
    "json compact": (JSON_COMPACT, 109),
    "json pretty": (JSON_PRETTY, 126),
    "european": (EUROPEAN, 89),
    "east asian": (EAST_ASIAN, 59),
}
SAMPLES = [text for text, _ in CALIBRATION.values()]
HOSTILE = [
    "a" * 5000,
    " " * 5000,
    "\n" * 5000,
    "=" * 5000,
    "7" * 5000,
    "é" * 5000,
    "\u0301" * 5000,
    "😀" * 3000,
    "\U00020000" * 3000,
    "\r\n \t" * 2000,
    "\x00\x1f\x7f\x85\u2028\ufeff\ue000" * 500,
    "".join(Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=5000)),
    "".join(map(chr, Random(2).choices([*range(0xD800), *range(0xE000, 0x110000)], k=5000))),
]
ANY_TEXT = st.text(st.characters(codec="utf-8"))
# Texts out of the parts at which the tokenizer cuts, in every order.
CUT_TEXT = st.lists(
    st.sampled_from(
        [*" \n\t_é中한😀…\u3000", "  ", "\r\n", "the", " word", "да", "👩‍👧", "12345", '":', "});"],
    )
).map("".join)
ANY_IDS = st.lists(st.integers(-5, VOCABULARY_SIZE + 5))


@given(ANY_TEXT | CUT_TEXT)
def test_decoding_returns_the_text_that_was_encoded(text: str) -> None:
    assert decode(encode(text)) == text


@pytest.mark.parametrize("text", [*SAMPLES, *HOSTILE], ids=lambda text: ascii(text[:12]))
def test_no_sample_loses_a_character(text: str) -> None:
    assert decode(encode(text)) == text


@given(st.text(st.characters(codec="ascii")) | CUT_TEXT.filter(str.isascii))
def test_ascii_is_cut_as_it_would_be_beside_other_letters(text: str) -> None:
    assert tokens.pretoken(ascii=True).findall(text) == tokens.pretoken(ascii=False).findall(text)


@given(ANY_TEXT | CUT_TEXT)
def test_counting_is_the_length_of_encoding(text: str) -> None:
    assert count(text) == len(encode(text))


@given(ANY_TEXT | CUT_TEXT, st.integers(1, 50))
def test_slices_of_any_size_sum_to_the_count(text: str, size: int) -> None:
    assert sum(count_slices(text, size)) == count(text)


@pytest.mark.parametrize("text", [*SAMPLES, *HOSTILE], ids=lambda text: ascii(text[:12]))
def test_slices_sum_to_the_count_and_are_as_many_as_the_size_says(text: str) -> None:
    slices = list(count_slices(text, 100))
    assert sum(slices) == count(text)
    assert len(text) / 150 <= len(slices) <= len(text) / 100 + 1


@pytest.mark.parametrize(
    "text", [" ".join(["word"] * 40_000), "ab" * 80_000, "    \n" * 30_000], ids=["words", "run", "space"]
)
def test_a_text_longer_than_a_window_is_encoded_as_its_slices_are_counted(text: str) -> None:
    assert len(encode(text)) == count(text) == sum(count_slices(text, 777))
    assert decode(encode(text)) == text


@given(ANY_IDS)
def test_the_texts_of_a_stream_join_to_the_decoded_text(ids: list[int]) -> None:
    assert len(texts(ids)) == len(ids)
    assert "".join(texts(ids)) == decode(ids)


@given(ANY_TEXT | CUT_TEXT)
def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(text: str) -> None:
    assert b"".join(map(token_bytes, encode(text))) == text.encode()


def test_a_character_in_several_tokens_streams_with_the_last_of_them() -> None:
    ids = encode("a🦭b")
    assert texts(ids) == ["a", "", "", "🦭", "b"]
    assert [token_bytes(token) for token in ids[1:4]] == [b"\xf0\x9f", b"\xa6", b"\xad"]


def test_a_character_that_is_never_completed_becomes_a_replacement_on_the_last_token() -> None:
    assert texts(encode("a🦭")[:-1]) == ["a", "", "\ufffd"]
    assert texts([]) == []


def test_special_tokens_have_no_text() -> None:
    assert decode([BOS, *encode("ab"), EOS]) == "ab"
    assert token_bytes(EOS) == token_bytes(BOS) == b""
    assert texts([BOS, EOS]) == ["", ""]


@pytest.mark.parametrize("token", [-1, VOCABULARY_SIZE, 10**12])
def test_an_id_outside_the_vocabulary_decodes_to_a_replacement(token: int) -> None:
    assert decode([token]) == "\ufffd"
    assert texts([token]) == ["\ufffd"]


def test_half_a_surrogate_pair_is_encoded_as_a_replacement() -> None:
    assert decode(encode("a\ud83d b")) == "a\ufffd b"
    assert count("\udcff") == len(encode("\udcff"))


@pytest.mark.parametrize(
    "text, parts",
    [
        ("Hello world, again", ["Hello", " world", ",", " again"]),
        ("if x:\n        return 42", ["if", " x", ":", "\n       ", " return", " ", "42"]),
        ("one\n\ntwo\r\nthree", ["one", "\n\n", "two", "\r\n", "three"]),
        ("1234567", ["123", "456", "7"]),
        ("\t\tbreak;", ["\t\t", "break", ";"]),
        ('{"name": "x"}', ['{"', "name", '":', ' "', "x", '"}']),
        ("и это так", ["и", " это", " так"]),
    ],
)
def test_words_carry_their_space_and_line_ends_stand_alone(text: str, parts: list[str]) -> None:
    assert texts(encode(text)) == parts


@pytest.mark.parametrize("text, expected", CALIBRATION.values(), ids=CALIBRATION)
def test_counts_resemble_those_of_hosted_models(text: str, expected: int) -> None:
    assert count(text) == pytest.approx(expected, rel=0.25)


def test_a_chinese_japanese_or_korean_character_costs_between_half_a_token_and_two() -> None:
    assert len(EAST_ASIAN) / 2 <= count(EAST_ASIAN) <= 2 * len(EAST_ASIAN)


def test_ids_are_what_they_always_were() -> None:
    assert encode("Hello, world! Привет, мир.\n    42 🦭 日本") == [
        22819, 44, 27820, 33, 15764, 13248, 44, 10181, 3059, 46, 2616, 32, 1514, 32, 1231, 166, 173, 32, 4614, 4666
    ]  # fmt: skip


def test_hostile_text_does_not_fill_the_memory_with_its_splits() -> None:
    letters = Random(3).choices("abcdefghijklmnopqrstuvwxyz ", k=400_000)
    count("".join(letters))
    assert len(tokens._SPLITS) <= tokens._REMEMBERED_PRETOKENS


def test_the_vocabulary_file_fills_the_vocabulary_in_the_order_it_promises() -> None:
    lines = (get_data("mockserver.model", "vocabulary.txt") or b"").decode().splitlines()
    assert len(tokens.made_texts()) + len(lines) == EOS
    assert lines == sorted(lines, key=lambda line: (len(line), line))
    assert len({*lines, *tokens.made_texts()}) == EOS
    assert not any(line.isspace() or line != line.rstrip() for line in lines)


def test_each_token_but_the_special_ones_decodes_to_bytes_of_its_own() -> None:
    assert len({token_bytes(token) for token in range(EOS)} - {b""}) == EOS


LONG = "The tide comes in, and the tide goes out. " * 2_000


@pytest.mark.parametrize("text", ["", "one", "Grüße, 世界", LONG, "x" * 100_000, "\ud800" * 20_000])
def test_a_text_has_the_tokens_that_it_is_encoded_in(text: str) -> None:
    assert token_count(text) == len(tokens.encode(text))


def test_a_long_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = token_count(f"{LONG} once")
    monkeypatch.setattr(tokens, "count", lambda text: pytest.fail("it is counted again"))
    assert token_count(f"{LONG} once") == wanted


def test_texts_that_differ_have_different_names() -> None:
    assert len({name_of(text) for text in ("", "a", LONG, f"{LONG}.", "x" * 65_536, "x" * 65_537)}) == 6
