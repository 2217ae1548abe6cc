"""What a scheme does on its sender: workers get their sides, the first weights, and all later ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reference_impl.core import channel
from reference_impl.core.errors import WorkerError
from reference_impl.weights.errors import AnswerTimeout, joined
from reference_impl.weights.flattening import Flattener
from reference_impl.weights.packing import weights_of
from reference_impl.weights.recipe import by_worker, grouped
from reference_impl.weights.sender import Sender

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Literal

    from reference_impl.core.channel import End
    from reference_impl.core.clock import Deadline
    from reference_impl.weights.flattening import Flat
    from reference_impl.weights.packing import Source, Strategy
    from reference_impl.weights.recipe import Recipe
    from reference_impl.weights.store import SnapshotReader

UNWAITED_MAX: Final = 64  # sends that nobody has waited for, and that are not simply done


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What a worker needs to receive.

    Attributes:
        worker: index of the worker.
        end: its end of the channel.
        reader: reads payloads.
        trainers_memory: addresses that its model must not share; they mean something in one process
            only.
    """

    worker: int
    end: End
    reader: SnapshotReader
    trainers_memory: frozenset[int] = frozenset()

    def abandon(self) -> None:
        """Drop this process's copy; the worker's lives on."""
        channel.abandon(self.end)
        self.reader.close()

    def close(self) -> None:
        """Hang up."""
        channel.close(self.end)
        self.reader.close()


class Outgoing:
    """The sender of a scheme, with what it was told at set-up.

    Attributes:
        sender: sends.
        recipe: whose weights are meant.
        sides: those that no worker was given yet.
        connected: workers that were brought their first weights.
    """

    def __init__(self, recipe: Recipe, strategy: Strategy) -> None:
        self.recipe = recipe
        self.sender = Sender(recipe.num_workers)
        self._flattener = Flattener(strategy)
        # Made at once: a worker that is forked, with the scheme among its arguments, finds its side in it.
        self.sides = {w: self._side(w, "process") for w in range(recipe.num_workers)}
        self.connected: set[int] = set()
        self._unwaited: list[int] = []

    def side_for(
        self, worker: int, kind: Literal["process", "thread"], deadline: Deadline, *, replace: bool
    ) -> Side:
        """Return the side of one worker, which has none yet, or is replaced by another.

        Raises:
            ValueError: there is no such worker, or it was given its side already.
            AnswerTimeout: a send held the old one until the deadline.
        """
        if worker not in range(self.sender.num_workers):
            raise ValueError(f"worker_idx {worker} is unknown: there are {self.sender.num_workers}")
        unused = self.sides.pop(worker, None)
        if unused is None and not replace:
            raise ValueError(f"worker_idx {worker} has its side already")
        if unused is not None and kind == "process":
            return unused
        if unused is not None:
            unused.close()
        with self.sender.turn("for_worker", deadline):
            return self._side(worker, kind)

    def connect(
        self,
        workers: tuple[int, ...],
        weights: Source | None,
        operation: str,
        deadline: Deadline,
        *,
        wait: bool,
    ) -> None:
        """Bring each worker what it should hold: `weights`, or the current version, or else the first one.

        Raises:
            Exception: as `send`.
        """
        sender, ledger = self.sender, self.sender.conversation.ledger
        with sender.turn(operation, deadline):
            requests = []
            # Who has had nothing yet gets what the others have, if there is anything that all have.
            first = not self.connected or not self.recipe.uniform
            known = [w for w in workers if not first or ledger.current(w) is not None]
            fresh = tuple(w for w in workers if weights is not None or w not in known)
            if fresh:
                sources = self.recipe.sources(fresh) if weights is None else [(fresh, weights)]
                requests.append(sender.post(self._flat(sources)))
            requests += [sender.bring(worker) for worker in known if worker not in fresh]
            if wait:
                self._gather(requests, operation, deadline)
            else:
                for request in requests:
                    sender.conversation.drop(request)
        self.connected.update(workers)
        for worker in workers:
            if (side := self.sides.pop(worker, None)) is not None:
                side.abandon()  # its worker has it by now

    def send(
        self,
        weights: Source | Mapping[int, Source] | None,
        worker_ids: int | Iterable[int] | None,
        deadline: Deadline,
        *,
        wait: bool,
    ) -> int:
        """Send a snapshot, and wait for the workers to take it, or not; return its version.

        Raises:
            Exception: as the scheme's `send`.
        """
        sender = self.sender
        own = by_worker(weights)
        named = tuple(own) if own is not None and worker_ids is None else worker_ids
        targets = sender.conversation.ledger.targets(named)
        if missing := [worker for worker in targets if worker not in self.connected]:
            raise RuntimeError(f"send: call connect first: workers {missing} are not connected")
        with sender.turn("send", deadline):
            self._tidy()
            if own is not None:
                sources: Iterable[tuple[tuple[int, ...], Source]] = grouped(targets, own)
            elif weights is None:
                sources = self.recipe.sources(targets)
            else:
                sources = [(targets, weights)]
            request = sender.post(self._flat(sources))
            version = sender.version
            if wait:
                sender.gather(request, "send", deadline)
            else:
                self._unwaited.append(request)
        return version

    def wait(self, deadline: Deadline) -> int:
        """Wait for all sends that nobody has waited for; return the last version that was sent.

        Raises:
            Closed, WorkerError, AnswerTimeout: what `send` would have raised, of all of them.
        """
        with self.sender.turn("wait_async", deadline):
            self._forget_dropped()
            self._gather(self._unwaited, "send", deadline)
            return self.sender.version

    def close(self) -> None:
        """Hang up on every worker."""
        self.sender.close()
        self.abandon_sides()

    def abandon(self) -> None:
        """In a fork, drop what was inherited; those that it belongs to go on."""
        self.sender.abandon()
        self.abandon_sides()

    def abandon_sides(self) -> None:
        """Drop this process's copies of the sides that nobody was given."""
        for side in self.sides.values():
            side.abandon()
        self.sides.clear()

    def _side(self, worker: int, kind: Literal["process", "thread"]) -> Side:
        end, reader = self.sender.link(worker, kind)
        memory: frozenset[int] = frozenset()
        if kind == "thread" and self.recipe.uniform:
            memory = memory_of(self.recipe.base())
        return Side(worker=worker, end=end, reader=reader, trainers_memory=memory)

    def _flat(
        self, sources: Iterable[tuple[tuple[int, ...], Source]]
    ) -> Iterator[tuple[tuple[int, ...], Flat]]:
        for workers, source in sources:
            yield workers, self._flattener.flatten(source)

    def _gather(self, requests: list[int], operation: str, deadline: Deadline) -> None:
        """Wait for requests, which are taken from the list one by one: an interrupt leaves those still to be told."""
        errors: list[WorkerError | AnswerTimeout] = []
        while requests:
            try:
                self.sender.gather(requests[0], operation, deadline)
            except (WorkerError, AnswerTimeout) as error:
                errors.append(error)
            del requests[0]  # only now: one that is open and in no list would never be dropped
        if errors:
            raise joined(errors)

    def _tidy(self) -> None:
        talk = self.sender.conversation
        self._forget_dropped()
        done = [request for request in self._unwaited if talk.ledger.done(request)]
        for request in done:
            talk.drop(request)
        self._unwaited = [request for request in self._unwaited if request not in done]
        if len(self._unwaited) > UNWAITED_MAX:
            raise RuntimeError(f"send: call wait_async: {UNWAITED_MAX} sends were not waited for")

    def _forget_dropped(self) -> None:
        """Leave out what an interrupt has ended just when it was to be waited for later."""
        ledger = self.sender.conversation.ledger
        self._unwaited = [request for request in self._unwaited if ledger.is_open(request)]


def memory_of(source: Source) -> frozenset[int]:
    """Return the addresses of the storages of a source's tensors."""
    tensors = weights_of(source).tensors.values()
    return frozenset(t.untyped_storage().data_ptr() for t in tensors if t.numel())
