"""Deliveries as tests and the admin API see them."""

from collections.abc import Mapping
from typing import NamedTuple

from mockserver.control.deliveries import Delivery


class Delivered(NamedTuple):
    """A request that a dialect has made to an application by itself.

    - `message`: the id of what was delivered; `attempt` counts its attempts from 0; `at` is a Unix time.
    - `headers`: with names in lower case. Bodies that are no text are shown as well as they can be.
    - `status`: the application's answer; None if there was none, and `error` says why; `answer` is the
      beginning of its body.
    - `ended`: whether it is over, after so many `seconds` on the namespace's clock.
    """

    number: int
    at: float
    dialect: str
    message: str
    attempt: int
    method: str
    url: str
    headers: Mapping[str, str]
    body: str
    status: int | None
    error: str
    answer: str
    seconds: float
    ended: bool

    @property
    def line(self) -> str:
        """It on one line."""
        result = self.status or self.error if self.ended else "under way"
        return f"   #{self.number} {self.method} {self.url} -> {result} (attempt {self.attempt + 1}, {self.message})"


def shown(delivery: Delivery) -> Delivered:
    """A delivery for people and tests."""
    task, outcome = delivery.task, delivery.outcome
    return Delivered(
        number=delivery.number,
        at=delivery.at,
        dialect=delivery.dialect,
        message=task.message,
        attempt=task.attempt,
        method=task.method,
        url=task.url,
        headers={name.decode("latin-1").lower(): value.decode("latin-1") for name, value in task.headers},
        body=task.body.decode("utf-8", "replace"),
        status=None if outcome is None else outcome.status,
        error="" if outcome is None else outcome.error,
        answer="" if outcome is None else outcome.body.decode("utf-8", "replace"),
        seconds=delivery.seconds,
        ended=outcome is not None,
    )
