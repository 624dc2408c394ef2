"""Effort: the durations and sizes of all measurements."""

from dataclasses import dataclass

LENGTHS = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of rounds, the seconds per measurement, and sizes; a long prompt has `long_prompt` characters."""

    rounds: int = 3
    seconds: float = 1.5
    connections: int = 64
    crowds: tuple[int, ...] = (1, 4, 16, 64, 256)
    tokens: int = 128
    streams: tuple[int, ...] = (1, 100, 1_000)
    gaps: tuple[float, ...] = (0.010, 0.030)
    ttft: float = 0.1
    pacing_rounds: int = 2
    starts: int = 7
    asked: int = 50_000
    journals: tuple[int, ...] = (100, 1_000, 3_000, 10_000)
    long_prompt: int = 1_000_000
    prompts: tuple[int, ...] = LENGTHS
    limits: tuple[int, ...] = (16, 64, 256, 1_024, 4_096, 16_000)
    long_stream: int = 30_000
    schemas: int = 25


FULL = Effort()
# Enough to check that everything runs; its figures are meaningless.
SHORT = Effort(
    rounds=1,
    seconds=0.05,
    connections=4,
    crowds=(1, 4),
    tokens=8,
    streams=(1, 4),
    gaps=(0.010,),
    ttft=0.02,
    pacing_rounds=1,
    starts=1,
    asked=200,
    journals=(100,),
    long_prompt=20_000,
    prompts=(1_000, 4_000),
    limits=(16, 64),
    long_stream=500,
    schemas=2,
)
