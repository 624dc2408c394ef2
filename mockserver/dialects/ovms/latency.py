"""How fast the server is on the devices whose figures are known (vendor note)."""

from math import inf

from mockserver.core.dialects import Preset, PromptCaching
from mockserver.dialects.ovms.graphs import kind_of

_GPU = Preset(
    "prefill=lognormal(50ms, 0.2, max=1s), prefill_per_token=900us, itl=lognormal(30ms, 0.1, max=300ms), slots=256, "
    "slowdown=7, interference=0.5",
    "an integrated GPU: 0.9 s per thousand prompt tokens, 33 tokens/s",
)

PRESETS = {
    "ovms": _GPU,
    "ovms-gpu": _GPU,
    "ovms-npu": Preset(
        "prefill=lognormal(50ms, 0.2, max=1s), prefill_per_token=1.4ms, itl=lognormal(78ms, 0.05, max=300ms), slots=1",
        "an NPU: 1.4 s per 1,000 prompt tokens, 13 tokens/s, one at a time",
    ),
    "ovms-xeon": Preset(
        "queue=lognormal(22s, 0.8, max=180s), prefill=lognormal(1.5s, 0.4, max=10s), prefill_per_token=2ms, "
        "itl=lognormal(215ms, 0.2, max=2s)",
        "a Xeon under load: half a minute in the queue, then 4.5 tokens/s",
    ),
    # Its own demo: 14 ms for five tokens; at the most 64 texts of 83 tokens, or 29,000 tokens, a second.
    "ovms-encoder": Preset(
        "ovms, prefill=lognormal(14ms, 0.1, max=100ms), prefill_per_token=35us, slots=1",
        "embeddings and ranks on two Xeons: 14 ms, then 29,000 tokens/s",
    ),
}

# `enable_prefix_caching` is true by default. On a GPU a block has 16 tokens; it stays until it has to give way.
PROMPT_CACHING = PromptCaching(block=16, lifetime=inf)


def preset_of(model: str) -> str:
    """The preset of a model, by what it makes."""
    return "ovms" if kind_of(model) == "texts" else "ovms-encoder"
