"""How calls reach the workers of a pool and replies come back: by value, over the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from reference_impl.core import channel
from reference_impl.core.clock import Deadline

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from reference_impl.pool.messages import Call, Operation
    from reference_impl.pool.state import Delivery
    from reference_impl.pool.values import Values
    from reference_impl.pool.workers import Worker


class InSlot:
    """The result of a call whose answer lies in its env's slot."""


IN_SLOT: Final = InSlot()
_FLUSH_S: Final = 1.0


class Heard(NamedTuple):
    """What a round of listening has found.

    Attributes:
        replies: envs and requests whose answers lie where `collect` finds them.
        talking: envs whose channel holds something whole, or is over.
        gone: envs whose process is gone.
    """

    replies: Sequence[tuple[int, int]]
    talking: Collection[int]
    gone: Collection[int]


class Line(Protocol):
    """A way of exchanging data; the conversation above it keeps the ledger."""

    def check(self, operation: Operation, calls: Mapping[int, Values | None]) -> None:
        """Refuse what can never be sent, before anything is."""
        ...

    def post(self, env: int, call: Call) -> None:
        """Hand a call over; never waits. The env may learn of it by `posted` only."""
        ...

    def posted(self) -> None:
        """Let those envs know to whom something was posted."""
        ...

    def listen(self, wanted: Collection[int], deadline: Deadline) -> Heard:
        """Wait, up to the deadline, until something is heard.

        Args:
            wanted: the caller has no use for anything before it has the replies of these; empty:
                for whatever comes first.
            deadline: when to give up; an expired one looks once.
        """
        ...

    def nudge(self) -> None:
        """Let a `listen` in another thread, which awaits certain envs, return."""
        ...

    def collect(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Return deliveries whose results nobody writes to any more."""
        ...

    def settle(self, env: int, request: int) -> None:
        """Take note of a reply that came over the channel."""
        ...

    def beside_channel(self, env: int) -> int:
        """Return the request of `env` of which nothing goes over the channel; 0: there is none."""
        ...

    def lose(self, worker: Worker) -> None:
        """Listen to a worker no more."""
        ...

    def adopt(self, worker: Worker) -> None:
        """Listen to a worker that is new and was asked nothing yet."""
        ...


class ByValue:
    """Data in messages over the channels."""

    def __init__(self, workers: Sequence[Worker]) -> None:
        self._workers = by_env(workers)

    def check(self, operation: Operation, calls: Mapping[int, Values | None]) -> None:
        """Refuse nothing: what cannot be pickled says so in `post`."""

    def post(self, env: int, call: Call) -> None:
        """Send the call.

        Raises:
            ChannelClosed: the worker's channel is over.
            Exception: what pickling the values raises.
        """
        channel.send(self._workers[env].end, call)

    def posted(self) -> None:
        """Do nothing: a message tells of itself."""

    def listen(self, wanted: Collection[int], deadline: Deadline) -> Heard:  # noqa: ARG002 - whatever comes
        """Wait for whole messages, ends of channels and of processes."""
        return heard_on_channels(self._workers, (), deadline)

    def nudge(self) -> None:
        """Do nothing: no `listen` awaits certain envs."""

    def collect(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Return them as they are: each came in a message of its own."""
        return deliveries

    def settle(self, env: int, request: int) -> None:
        """Do nothing."""

    def beside_channel(self, env: int) -> int:  # noqa: ARG002 - there never is one
        """Return 0."""
        return 0

    def lose(self, worker: Worker) -> None:
        """Listen to it no more."""
        self._workers = {env: one for env, one in self._workers.items() if env not in worker.envs}

    def adopt(self, worker: Worker) -> None:
        """Listen to it."""
        self._workers = {**self._workers, **by_env((worker,))}


def by_env(workers: Sequence[Worker]) -> dict[int, Worker]:
    """Return which worker each env has."""
    return {env: worker for worker in workers for env in worker.envs}


def heard_on_channels(
    workers: Mapping[int, Worker], others: Collection[int], deadline: Deadline
) -> Heard:
    """Wait on the channels and processes of `workers`, and on the descriptors `others`."""
    sentinels = [fd for worker in workers.values() for fd in worker.sentinels]
    ends = [worker.end for worker in workers.values()]
    ready = channel.wait(ends, [*sentinels, *others], deadline)
    return Heard(
        replies=(),
        talking=[env for env, worker in workers.items() if worker.end in ready],
        gone=[env for env, w in workers.items() if not ready.isdisjoint(w.sentinels)],
    )


def help_out(workers: Sequence[Worker]) -> None:
    """Help large calls on their way for a while; the next receiving call goes on with it."""
    ends = [worker.end for worker in workers]
    if any(end.has_unsent() for end in ends):
        sentinels = [fd for worker in workers for fd in worker.sentinels]
        channel.flush(ends, sentinels, Deadline.after(_FLUSH_S))
