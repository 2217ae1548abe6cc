"""Steps by column: of all envs at once, or of some: sent, kept in mind, received and lent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from reference_impl.pool.lines import IN_SLOT
from reference_impl.pool.messages import Operation
from reference_impl.pool.sent import Sent
from reference_impl.pool.state import Delivery
from reference_impl.pool.values import Values, merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensordict import TensorDict, TensorDictBase

    from reference_impl.pool.conversation import Conversation
    from reference_impl.pool.dense import Columns, DenseSteps
    from reference_impl.pool.picks import Pick
    from reference_impl.pool.roots import Roots
    from reference_impl.pool.slot_line import SlotLine

# What the workers are asked. Of a step that is followed by a reset the owner makes the root itself.
_ASKED: Final = {
    Operation.STEP: Operation.STEP,
    Operation.PRIVATE_STEP: Operation.PRIVATE_STEP,
    Operation.STEP_AND_MAYBE_RESET: Operation.STEP_THEN_RESET,
}


class Batch(NamedTuple):
    """What some envs were given and what they showed, by column."""

    pick: Pick
    given: dict[str, Any]
    columns: Columns


class ColumnCalls:
    """The steps of one pool, by column."""

    def __init__(self, dense: DenseSteps, line: SlotLine, roots: Roots) -> None:
        self._dense = dense
        self._line = line
        self._roots = roots
        self._sent: Sent | None = None

    def step_all(
        self, talk: Conversation, operation: Operation, td: TensorDictBase
    ) -> Batch | dict[int, Any]:
        """Step all envs and wait; return what each answered, if that is no batch.

        It is empty if nobody was asked: `td` or the envs need more than columns.

        Raises:
            WorkerError: an env failed or is lost.
        """
        dense, line = self._dense, self._line
        every = dense.picks.all
        given = dense.takes(td, every)
        if given is None:
            return {}

        def collect(deliveries: list[Delivery] | None) -> Columns | list[Delivery]:
            in_slots = deliveries is None or all(one.result is IN_SLOT for one in deliveries)
            columns = dense.read(every) if in_slots else None
            if columns is not None:
                return columns
            if deliveries is None:
                deliveries = [Delivery(env, None, IN_SLOT) for env in every.envs]
            return line.collect(deliveries)

        came = talk.trip(operation, line, partial(dense.write, given, every), collect)
        if isinstance(came, list) or came is None:
            return {one.env: one.result for one in came or ()}
        self._roots.saw_later(every.envs, line.last_root)
        return Batch(every, given, came)

    def send(
        self, talk: Conversation, operation: Operation, td: TensorDictBase, envs: Sequence[int]
    ) -> bool:
        """Ask envs for steps with the rows of `td`; False: it has to be done row by row.

        Raises:
            Exception: see `AsyncCalls.async_step_send`.
        """
        asked = _ASKED.get(operation)
        if asked is None or not envs:
            return False
        dense, line = self._dense, self._line
        pick = dense.picks.of(envs)
        given = dense.takes(td.exclude("next") if "next" in td.keys() else td, pick)  # noqa: SIM118 - a TensorDict is no dict
        if given is None or not all(isinstance(leaf, torch.Tensor) for leaf in given.values()):
            return False
        sent = self._sent
        if sent is None or not sent.fits(given):
            sent = self._sent = Sent(given, line.slots.layout.num_envs)

        def write() -> int:
            sent.put(pick, given)
            return dense.write(given, pick)

        return talk.send_written(operation, asked, line, envs, sent, write)

    def collect(self, deliveries: list[Delivery], *, lent: bool = False) -> Batch | list[Delivery]:
        """Return the batch; where it is not of one form, its rows.

        Args:
            deliveries: in the order of the envs.
            lent: whether to return what lies in the slots instead of copies, where that is possible.
        """
        sent = deliveries[0].given
        if isinstance(sent, Sent) and all(
            one.given is sent and one.result is IN_SLOT for one in deliveries
        ):
            pick = self._dense.picks.of(one.env for one in deliveries)
            columns = self._dense.read(pick, lent=lent)
            if columns is not None:
                self._roots.saw_later(pick.envs, self._line.last_root)
                return Batch(pick, sent.take(pick, lent=lent), columns)
        return self.rows(deliveries)

    def rows(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Return the same as if it had been sent row by row."""
        return [self._as_row(one) for one in self._line.collect(deliveries)]

    def _as_row(self, one: Delivery) -> Delivery:
        if not isinstance(one.given, Sent):
            return one
        given = one.given.row(one.env)
        if not isinstance(one.result, tuple):
            return one._replace(given=given, result=one.result)
        following, root = one.result
        dropped = self._line.slots.layout.dropped
        if root is None:
            shown = {k: leaf for k, leaf in following.entries.items() if (k,) not in dropped}
            root = Values(entries=shown, batch_size=following.batch_size)
        return one._replace(given=given, result=(following, merged(given, root, dropped)))

    def following(self, batch: Batch) -> TensorDict:
        """Return what the steps led to."""
        return self._dense.following(batch.columns, batch.pick)

    def numbered(self, batch: Batch) -> TensorDict:
        """Return what the steps led to, with its index."""
        return self._dense.numbered(batch.columns.following, batch.pick)

    def stepped(self, batch: Batch) -> TensorDict:
        """Return the steps."""
        following = self._dense.following(batch.columns, batch.pick)
        return self._dense.stepped(batch.given, following, batch.pick)

    def root(self, batch: Batch, *, emptied: bool = False) -> TensorDict:
        """Return the roots of the steps that come next; see `DenseSteps.root`."""
        return self._dense.root(batch.given, batch.columns, batch.pick, emptied=emptied)


def envs_of(came: Batch | list[Any]) -> Sequence[int]:
    """Return the envs of what was received."""
    return came.pick.envs if isinstance(came, Batch) else [one.env for one in came]
