"""Latency profiles: how an engine behaves in time, as values."""

from typing import NamedTuple

from mockserver.latency.distributions import Constant, Distribution

NOTHING = Constant(0.0)
ONE = Constant(1.0)


class Profile(NamedTuple):
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
