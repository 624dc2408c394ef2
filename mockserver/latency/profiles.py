"""Latency profiles: how an engine behaves in time, as values, with the presets that have a name."""

from dataclasses import dataclass, replace

from mockserver.latency.distributions import Constant, Distribution, Lognormal, Uniform

NOTHING = Constant(0.0)
ONE = Constant(1.0)


@dataclass(frozen=True, slots=True)
class Profile:
    """An engine's timing, in seconds.

    `network` is added before the first byte, `queue` before the engine takes the request, `prefill` before the first
    token, plus `prefill_per_token` for each token of the prompt; `ttft`, when given, says all of these at once. `gap`
    lies between one token and the next, varied by `jitter` (the sigma of a lognormal factor around 1); with the
    probability `stall_share` a gap is longer by a `stall`. `chunk` tokens (rounded, at least one) come together, and as
    many gaps later the next ones. All times are divided by `speed`.

    Under load (see `load`): the engine serves `slots` requests at once, no end of them when None; `waiting` others may
    queue, no end of them when None; gaps are `slowdown` times as long when all slots are busy; while another request
    is in its prefill, decoding loses the share `interference` of the time.
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
    chunk: Distribution = ONE
    speed: float = 1.0
    slots: int | None = None
    waiting: int | None = None
    slowdown: float = 1.0
    interference: float = 0.0
    summary: str = ""


OFF = "off"
REALISTIC = "realistic"

# Figures: the vendor notes' published and recorded speeds. Where a vendor publishes none, a usual engine of its class.
_CEREBRAS = Profile(
    queue=Lognormal(0.0006, 1.0, 0.05),
    prefill=Lognormal(0.003, 0.5, 0.05),
    prefill_per_token=0.00002,
    gap=Lognormal(0.00065, 0.3, 0.01),
    network=Lognormal(0.06, 0.3, 0.3),
    summary="wafer-scale: about 1,500 tokens/s, millisecond queues",
)
_OVMS_GPU = Profile(
    prefill=Lognormal(0.05, 0.2, 1.0),
    prefill_per_token=0.0009,
    gap=Lognormal(0.03, 0.1, 0.3),
    slots=256,
    slowdown=7.0,
    interference=0.5,
    summary="an integrated GPU: 0.9 s per thousand prompt tokens, 33 tokens/s",
)
_YANDEX = Profile(
    prefill=Lognormal(0.28, 0.4, 3.0),
    prefill_per_token=0.0001,
    gap=Lognormal(0.02, 0.3, 0.5),
    network=Lognormal(0.02, 0.3, 0.2),
    summary="first token after about 0.3 s, 50 tokens/s",
)

PRESETS: dict[str, Profile] = {
    "cerebras": _CEREBRAS,
    "cerebras-8b": replace(
        _CEREBRAS, gap=Lognormal(0.00043, 0.3, 0.01), summary="Cerebras, a model of 8B: about 2,200 tokens/s"
    ),
    "cerebras-70b": replace(
        _CEREBRAS, gap=Lognormal(0.00094, 0.3, 0.01), summary="Cerebras, a dense model of 70B: about 1,000 tokens/s"
    ),
    "cerebras-120b": replace(
        _CEREBRAS,
        gap=Lognormal(0.00052, 0.3, 0.01),
        chunk=Uniform(4.0, 8.0),
        summary="Cerebras, gpt-oss-120b: about 1,850 tokens/s, some six in a chunk",
    ),
    "cerebras-235b": replace(
        _CEREBRAS, gap=Lognormal(0.00068, 0.3, 0.01), summary="Cerebras, a mixture of 235B: about 1,400 tokens/s"
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
    "yandex": _YANDEX,
    "yandex-d1": replace(
        _YANDEX,
        prefill=Lognormal(0.48, 0.4, 3.0),
        gap=Lognormal(0.0165, 0.3, 0.5),
        chunk=Uniform(10.0, 20.0),
        summary="first chunk after about 0.5 s, 60 tokens/s, 10 to 20 in a chunk",
    ),
    "ovms": _OVMS_GPU,
    "ovms-gpu": _OVMS_GPU,
    "ovms-npu": Profile(
        prefill=Lognormal(0.05, 0.2, 1.0),
        prefill_per_token=0.0014,
        gap=Lognormal(0.078, 0.05, 0.3),
        slots=1,
        summary="an NPU: 1.4 s per 1,000 prompt tokens, 13 tokens/s, one at a time",
    ),
    "ovms-xeon": Profile(
        queue=Lognormal(22.0, 0.8, 180.0),
        prefill=Lognormal(1.5, 0.4, 10.0),
        prefill_per_token=0.002,
        gap=Lognormal(0.215, 0.2, 2.0),
        summary="a Xeon under load: half a minute in the queue, then 4.5 tokens/s",
    ),
    "instant": Profile(summary="nothing waits, as with off; to be changed by settings"),
    "fast": Profile(prefill=Constant(0.05), gap=Constant(0.005), summary="0.05 s, then 200 tokens/s, no jitter"),
    "flaky-wifi": Profile(
        prefill=Constant(0.2),
        gap=Lognormal(0.02, 0.6, 0.5),
        network=Lognormal(0.08, 0.8, 2.0),
        stall=Lognormal(0.8, 0.5, 4.0),
        stall_share=0.02,
        summary="50 tokens/s, every fiftieth gap a stall of about a second",
    ),
    "overloaded": Profile(
        queue=Lognormal(6.0, 0.6, 40.0),
        prefill=Lognormal(1.0, 0.5, 10.0),
        gap=Lognormal(0.2, 0.3, 2.0),
        summary="a server with too many guests: seconds in the queue, then 5 tokens/s",
    ),
    "slow": Profile(prefill=Constant(1.5), gap=Constant(0.1), summary="1.5 s, then 10 tokens/s, no jitter"),
}
