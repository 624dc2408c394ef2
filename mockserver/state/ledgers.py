"""The ledgers of a namespace: what its dialects remember of their answers."""

from collections.abc import Callable

from mockserver.core.dialects import Dialect
from mockserver.core.ledgers import Extent, Ledger, Served
from mockserver.state.journal.exchanges import Exchange


class Ledgers:
    """The ledgers of a namespace, one for each dialect that has any."""

    __slots__ = ("_ledgers",)

    def __init__(self) -> None:
        self._ledgers: dict[str, Ledger] = {}

    def of(self, dialect: Dialect) -> Ledger | None:
        """The ledger of a dialect; None if it remembers nothing."""
        if dialect.ledger is None:
            return None
        known = self._ledgers.get(dialect.name)
        if known is None:
            known = self._ledgers[dialect.name] = dialect.ledger()
        return known

    def begin(self, exchange: Exchange) -> Callable[[], None] | None:
        """Note an answer that begins, and return what notes its end; None if nothing does."""
        plan = exchange.plan
        # On the path of every answer, most of which nobody remembers.
        if plan is None or plan.context.route.dialect.ledger is None:
            return None
        context, record = plan.context, exchange.record
        operation, ledger = context.route.operation, self.of(context.route.dialect)
        if operation is None or ledger is None or operation.name not in ledger.operations:
            return None
        end = ledger.begin(
            Served(
                operation.name,
                context.call,
                context.site,
                plan.request,
                plan.rejection,
                plan.timeline.status,
                plan.visible_generation,
                plan.pace,
            )
        )
        if end is None:
            return None
        return lambda: end(Extent(record.events_sent, record.seconds, record.closed_by == "server"))

    def reset(self) -> None:
        """Forget everything; answers in progress end in the ledger in which they began."""
        self._ledgers.clear()
