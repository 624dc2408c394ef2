"""Latency profiles: how an engine behaves in time, as values, with the presets that have a name."""

from dataclasses import dataclass

from mockserver.latency.distributions import Constant, Distribution, Lognormal

NOTHING = Constant(0.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """An engine's timing, in seconds.

    `network` is added before the first byte, `queue` before the engine takes the request, `prefill` before the first
    token, plus `prefill_per_token` for each token of the prompt; `ttft`, when given, says all of these at once. `gap`
    lies between one token and the next, varied by `jitter` (the sigma of a lognormal factor around 1); with the
    probability `stall_share` a gap is longer by a `stall`.
    """

    queue: Distribution = NOTHING
    prefill: Distribution = NOTHING
    prefill_per_token: float = 0.0
    gap: Distribution = NOTHING
    network: Distribution = NOTHING
    ttft: Distribution | None = None
    jitter: float = 0.0
    stall: Distribution = NOTHING
    stall_share: float = 0.0
    summary: str = ""


OFF = "off"
REALISTIC = "realistic"

# Figures: the vendor notes' published and recorded speeds. Where a vendor publishes none, a usual engine of its class.
PRESETS: dict[str, Profile] = {
    "cerebras": Profile(
        queue=Lognormal(0.0006, 1.0, 0.05),
        prefill=Lognormal(0.003, 0.5, 0.05),
        prefill_per_token=0.00002,
        gap=Lognormal(0.00065, 0.3, 0.01),
        network=Lognormal(0.06, 0.3, 0.3),
        summary="wafer-scale: about 1,500 tokens/s, millisecond queues",
    ),
    "friendli": Profile(
        prefill=Lognormal(0.22, 0.35, 2.0),
        prefill_per_token=0.00005,
        gap=Lognormal(0.0105, 0.25, 0.2),
        network=Lognormal(0.03, 0.3, 0.2),
        summary="serverless GPU: first token after about 0.25 s, 95 tokens/s",
    ),
    "upstash": Profile(
        prefill=Lognormal(0.17, 0.35, 2.0),
        prefill_per_token=0.00008,
        gap=Lognormal(0.0145, 0.25, 0.2),
        network=Lognormal(0.03, 0.3, 0.2),
        summary="an 8B model on vLLM: first token after about 0.2 s, 70 tokens/s",
    ),
    "yandex": Profile(
        prefill=Lognormal(0.28, 0.4, 3.0),
        prefill_per_token=0.0001,
        gap=Lognormal(0.02, 0.3, 0.5),
        network=Lognormal(0.02, 0.3, 0.2),
        summary="first token after about 0.3 s, 50 tokens/s",
    ),
    "ovms": Profile(
        prefill=Lognormal(0.05, 0.2, 1.0),
        prefill_per_token=0.0009,
        gap=Lognormal(0.03, 0.1, 0.3),
        summary="an integrated GPU: 0.9 s per thousand prompt tokens, 33 tokens/s",
    ),
    "fast": Profile(prefill=Constant(0.05), gap=Constant(0.005), summary="0.05 s, then 200 tokens/s, no jitter"),
    "flaky-wifi": Profile(
        prefill=Constant(0.2),
        gap=Lognormal(0.02, 0.6, 0.5),
        network=Lognormal(0.08, 0.8, 2.0),
        stall=Lognormal(0.8, 0.5, 4.0),
        stall_share=0.02,
        summary="a bad connection: 50 tokens/s, every fiftieth gap a stall of about a second",
    ),
    "overloaded": Profile(
        queue=Lognormal(6.0, 0.6, 40.0),
        prefill=Lognormal(1.0, 0.5, 10.0),
        gap=Lognormal(0.2, 0.3, 2.0),
        summary="a server with too many guests: seconds in the queue, then 5 tokens/s",
    ),
    "slow": Profile(prefill=Constant(1.5), gap=Constant(0.1), summary="1.5 s, then 10 tokens/s, no jitter"),
}
