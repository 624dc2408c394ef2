"""Texts in notations of our own, numbers and counts: in headers, in bodies and in the admin API."""

from tests.hostile.attack import Attack, refused
from tests.hostile.rows_shapes import CHAT, chat

DIGITS = "9" * 4301
HEADERS = ("Seed", "Latency", "Output-Tokens", "Fault", "Edition", "Reply")
STUBS = "/_mockserver/stubs"


def header(name: str, what: str, value: str, says: bytes = b"") -> Attack:
    return refused(
        f"X-Mockserver-{name} of {what}", CHAT, chat, headers=lambda: {f"X-Mockserver-{name}": value}, says=says
    )


def stub(pattern: str) -> dict[str, object]:
    return {"match": {"prompt": {"regex": pattern}}, "reply": "a"}


ROWS: list[Attack] = [
    *(header(name, "30,000 characters", "{ " + "a." * 15_000 + "a = 1 }", b"at most 8192") for name in HEADERS),
    *(header(name, "a number of 4,301 digits", DIGITS) for name in HEADERS if name != "Reply"),
    header("Fault", "4,000 parts of a key", "{ " + "a." * 4000 + "a = 1 }", b"more than 100 parts"),
    header("Fault", "a table with a number of 4,301 digits", f'{{ kind = "error", times = {DIGITS} }}', b"digits"),
    header("Reply", "a table with a number of 4,301 digits", f"{{ seed = {DIGITS} }}", b"digits"),
    header("Reply", "an object with a number of 4,301 digits", f'{{"seed": {DIGITS}}}', b"not a valid table"),
    header("Fault", "a table nested 2,000 times", "{a=" * 2000, b"nested too deeply"),
    refused("a pattern of 12,000 alternatives", STUBS, lambda: stub("|".join(map(str, range(12_000)))), says=b"4096"),
    refused("a pattern that expands to millions", STUBS, lambda: stub("((a{300}){300}){300}"), says=b"too long"),
    refused("a pattern of vast sets", STUBS, lambda: stub(r"(?i)" + r"[\x00-\U0010ffff]" * 200), says=b"beyond ASCII"),
    refused("a clock advanced by a long text", "/_mockserver/clock", lambda: {"advance": "x" * 200_000}, says=b"[...]"),
    refused(
        "twenty answers of 30,000 tokens with alternatives",
        CHAT,
        lambda: chat(n=20, max_tokens=30_000, min_tokens=30_000, logprobs=True, top_logprobs=20),
        says=b"too much",
    ),
    refused(
        "20,000 prompts",
        "/cerebras/v1/completions",
        lambda: {"model": "llama3.1-8b", "prompt": ["a b c"] * 20_000},
        says=b"too much",
    ),
    refused(
        "100,000 moderations", "/openai/v1/moderations", lambda: {"input": ["a"] * 100_000}, says=b"array too long"
    ),
]
