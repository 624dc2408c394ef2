"""How fast the vendor's engine is, by the published and recorded speeds (vendor note, part A)."""

from mockserver.core.dialects import Preset, PromptCaching

PRESETS = {
    "cerebras": Preset(
        "queue=lognormal(600us, 1, max=50ms), prefill=lognormal(3ms, 0.5, max=50ms), prefill_per_token=0.02ms, "
        "itl=lognormal(650us, 0.3, max=10ms), network=lognormal(60ms, 0.3, max=300ms)",
        "wafer-scale: about 1,500 tokens/s, millisecond queues",
    ),
    "cerebras-8b": Preset(
        "cerebras, itl=lognormal(430us, 0.3, max=10ms)", "Cerebras, a model of 8B: about 2,200 tokens/s"
    ),
    "cerebras-70b": Preset(
        "cerebras, itl=lognormal(940us, 0.3, max=10ms)", "Cerebras, a dense model of 70B: about 1,000 tokens/s"
    ),
    "cerebras-120b": Preset(
        "cerebras, itl=lognormal(520us, 0.3, max=10ms), tokens_per_chunk=uniform(4, 8)",
        "Cerebras, gpt-oss-120b: about 1,850 tokens/s, some six in a chunk",
    ),
    "cerebras-235b": Preset(
        "cerebras, itl=lognormal(0.68ms, 0.3, max=10ms)", "Cerebras, a mixture of 235B: about 1,400 tokens/s"
    ),
}

# "128-token blocks"; "We guarantee a Time-To-Live (TTL) of 5 minutes" (its page on prompt caching).
PROMPT_CACHING = PromptCaching(block=128, lifetime=300)

# The classes of models whose speed is known, by a part of their names.
_CLASSES = {
    "8b": "cerebras-8b",
    "17b": "cerebras-8b",
    "32b": "cerebras-235b",
    "70b": "cerebras-70b",
    "120b": "cerebras-120b",
    "235b": "cerebras-235b",
    "480b": "cerebras-235b",
}


def preset_of(model: str) -> str:
    """The preset of a model's class."""
    parts = model.lower().replace("_", "-").split("-")
    return next((preset for size, preset in _CLASSES.items() if size in parts), "cerebras")
