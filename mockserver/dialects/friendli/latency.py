"""How fast the vendor's serverless engine is (vendor note, part B)."""

from mockserver.core.dialects import Preset, PromptCaching

PRESETS = {
    "friendli": Preset(
        "prefill=lognormal(220ms, 0.35, max=2s), prefill_per_token=0.05ms, itl=lognormal(10.2ms, 0.25, max=200ms), "
        "network=lognormal(30ms, 0.3, max=200ms)",
        "serverless GPU: first token after about 0.25 s, 95 tokens/s",
    ),
}

# Its answers have `cached_tokens`, but nothing states these figures: they are usual for such an engine.
PROMPT_CACHING = PromptCaching(block=16, lifetime=300)
