"""What a mailbox keeps of messages that are not delivered yet, and how much memory its contents take."""

from dataclasses import dataclass

from mockserver.dialects.upstash.qstash.values import Dead, Event, Message


@dataclass(slots=True, eq=False)
class Entry:
    """A message that is not delivered yet, and how often it has been retried. It is `due` at that time, unless it is
    being delivered or waits in a queue. `line` is the queue whose messages wait for it. Flow control has `admitted` it
    if its attempt may begin."""

    message: Message
    line: str | None = None
    retried: int = 0
    due: float | None = None
    admitted: bool = False


def weight_of(entry: Entry) -> int:
    """How many bytes an entry takes."""
    return len(entry.message.body)


def weight_of_dead(dead: Dead) -> int:
    """How many bytes a dead letter takes."""
    return len(dead.message.body) + len(dead.outcome.body)


def weight_of_event(event: Event) -> int:
    """How many bytes a line of the log takes."""
    return len(event.message.body) + (0 if event.outcome is None else len(event.outcome.body))
