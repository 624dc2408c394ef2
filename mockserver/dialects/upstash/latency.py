"""How fast the vendor's models were: it published no figures, so these are usual for an engine with such models."""

from mockserver.core.dialects import Preset

PRESETS = {
    "upstash": Preset(
        "prefill=lognormal(170ms, 0.35, max=2s), prefill_per_token=0.08ms, itl=lognormal(13.8ms, 0.25, max=200ms), "
        "network=lognormal(30ms, 0.3, max=200ms)",
        "an 8B model on vLLM: first token after about 0.2 s, 70 tokens/s",
    ),
}
