"""Latency profiles: how an engine behaves in time, as values."""

from typing import NamedTuple

from mockserver.latency.distributions import Constant, Distribution

NOTHING = Constant(0.0)
ONE = Constant(1.0)


class Profile(NamedTuple):
    """An engine's timing, in seconds.

    `network` passes before the first byte, `queue` before the engine starts on the request, `prefill` before the first
    token, plus `prefill_per_token` for each token of the prompt; `ttft`, if given, replaces all of these. `gap` is the
    inter-token latency, varied by `jitter` (the sigma of a lognormal factor around 1); with the probability
    `stall_share` a gap is longer by a `stall`. After the first token, `chunk` tokens (rounded, at least one) come
    together, with the last of them. All times are divided by `speed`.

    Under load (see `load`) the engine serves `slots` requests at once and `waiting` others may queue, any number of
    them if None; gaps are `slowdown` times as long when all slots are busy; while another request is in its prefill,
    decoding loses the share `interference` of the time.
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
