"""The reference's pool with one bug each in what it does where a worker has several envs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tensordict import TensorDictBase

from harness.planted.variants import mask_of, planted, replacing, talking
from harness.ports.backend import Backend
from reference_impl.core import channel
from reference_impl.core.errors import WorkerError
from reference_impl.pool import AsyncEnvPool, worker, worker_slot
from reference_impl.pool.controls import Controls
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Built, Call, Done, Operation
from reference_impl.pool.options import Options
from reference_impl.pool.restarts import RestartingConversation, Restarts
from reference_impl.pool.slot_wires import Wire
from reference_impl.pool.slots import Slots
from reference_impl.pool.state import Lost
from reference_impl.pool.worker import Serving
from reference_impl.pool.worker_slot import WorkerSlot, WorkerSlots
from reference_impl.pool.workers import Worker

_IN_SLOTS = frozenset({"slots", "auto"})
_shared = partial(planted, envs_per_worker=frozenset({1, 2, 3, 8}))
_in_processes = partial(_shared, transport=frozenset({"process"}))
_in_either = partial(_in_processes, exchange=_IN_SLOTS | {"value"})


def _in_slots(name: str, wrong: type[WorkerSlots]) -> Backend:
    pool = replacing(worker_slot, "WorkerSlots", wrong)
    return _in_processes(name, pool, exchange=_IN_SLOTS)


_answer = worker._answer  # noqa: SLF001 - where some of the bugs would be
_asked_first: dict[int, Controls] = {}  # by worker


def _answer_by_the_first(controls: Controls, serving: Serving, call: Call) -> None:
    """Have the env answer that was the first to be asked anything."""
    _answer(_asked_first.setdefault(id(serving), controls), serving, call)


_held_back: list[Done] = []  # of the worker process


def _answer_at_the_end(controls: Controls, serving: Serving, call: Call) -> None:
    """Keep answers until the last env of the worker has its own."""
    result = worker._execute(controls, call, shared=False)  # noqa: SLF001 - as the right one does
    _held_back.append(Done(request=call.request, result=result, place=call.place))
    if call.place == len(serving.parts) - 1:
        for done in _held_back:
            channel.send(serving.end, done)
        _held_back.clear()


def _answer_or_end(controls: Controls, serving: Serving, call: Call) -> None:
    """Answer; who cannot ends the worker."""
    try:
        _answer(controls, serving, call)
    except Exception as error:
        raise SystemExit(1) from error


class _FirstEnvLost(Conversation):
    def _lose(self, env: int) -> None:
        """Take note that the first env of the worker is lost."""
        over: Worker = self._workers[env]
        self._line.lose(over)
        self._state.lose(over.envs[0], over.post_mortem())


def _with_neighbours(pool: AsyncEnvPool, envs: Sequence[int]) -> list[int]:
    """These envs, and those that share their workers."""
    count = pool.envs_per_worker
    workers = {env // count for env in envs}
    return [env for env in range(pool.num_envs) if env // count in workers]


class _NeighboursReset(AsyncEnvPool):
    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        mask = mask_of(tensordict)
        if mask is not None and tensordict is not None:
            wider = mask.clone()
            wider[_with_neighbours(self, mask.flatten().nonzero().flatten().tolist())] = True
            tensordict = tensordict.copy().set("_reset", wider)
        return super()._reset(tensordict, **kwargs)


class _NeighboursChanged(AsyncEnvPool):
    def _ask_envs(
        self, operation: Operation, given: Mapping[int, Any]
    ) -> tuple[dict[int, Any], dict[int, WorkerError]]:
        """Ask the neighbours for the same."""
        count = self.envs_per_worker
        by_worker = {env // count: value for env, value in given.items()}
        wider = {env: by_worker[env // count] for env in _with_neighbours(self, list(given))}
        return super()._ask_envs(operation, wider)


class _NeighboursUncut(RestartingConversation):
    """Takes the neighbours of the env that lost a worker for ones that were reset."""

    def _go_on(self, worker: Worker, lost: Lost) -> None:
        super()._go_on(worker, lost)
        self._unreset.difference_update(worker.envs)


class _FirstParams(Restarts):
    """Gives all envs of a new worker what is in force in the first."""

    def replace(self, worker: int, envs: Sequence[int], lost: Lost) -> Lost | None:
        kept = self._updates
        self._updates = {**kept, **dict.fromkeys(envs, kept.get(envs[0], ()))}
        try:
            return super().replace(worker, envs, lost)
        finally:
            self._updates = kept


class _SeededAlike(Restarts):
    """Seeds the envs of a new worker with one seed."""

    _latest = (-1, 0)

    def _seed(self, env: int) -> int:
        count = sum(self.counts)
        if self._latest[0] != count:
            self._latest = (count, super()._seed(env))
        return self._latest[1]


_told = WorkerError.__str__


def _misnaming(error: WorkerError) -> str:
    """What an error says, with the worker's number for the env's."""
    return _told(error).replace(f"of env {error.env}", f"of env {error.worker}", 1)


class _EnvMisnamed(AsyncEnvPool):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        WorkerError.__str__ = _misnaming  # type: ignore[method-assign]  # in the process of this cell
        super().__init__(*args, **kwargs)


def _restarting(
    replaces: type[Restarts] = Restarts,
    talks: type[RestartingConversation] = RestartingConversation,
) -> type[AsyncEnvPool]:
    """A pool that has another way of replacing workers."""

    class Pool(AsyncEnvPool):
        def _conversation(self, options: Options, built: Sequence[Built]) -> Any:
            found = super()._conversation(options, built)
            if self._restarts is not None:
                self._restarts.__class__ = replaces
                found.__class__ = talks
            return found

    return Pool


class _RungAtTheEnd(WorkerSlots):
    def tell(self, slot: WorkerSlot) -> None:  # noqa: ARG002 - whoever it is
        """Ring once there is nothing more to do."""
        self._unsaid = True


class _EndingSlot(WorkerSlot):
    beside: Sequence[WorkerSlot]

    def put_aside(self) -> None:
        """Take all commands of the worker for done."""
        for slot in self.beside:
            WorkerSlot.put_aside(slot)


class _RoundEndsAtAFailure(WorkerSlots):
    def __init__(self, slots: Slots, wire: Wire, end: channel.End, *, strict: bool) -> None:
        super().__init__(slots, wire, end, strict=strict)
        for slot in self._members:
            slot.__class__ = _EndingSlot
            slot.__dict__["beside"] = self._members


class _OneARing(WorkerSlots):
    _taken = False

    def wait(self, end: channel.End) -> None:
        """Wait."""
        super().wait(end)
        self._taken = False

    def asked(self) -> WorkerSlot | None:
        """Return the first slot that has a command, and none after it."""
        found = None if self._taken else super().asked()
        self._taken = True
        return found


first_answers_for_all = _shared(
    "first_answers_for_all", replacing(worker, "_answer", _answer_by_the_first)
)
neighbours_waited_for = _in_processes(
    "neighbours_waited_for", replacing(worker, "_answer", _answer_at_the_end)
)
failing_env_ends_its_worker = _in_processes(
    "failing_env_ends_its_worker", replacing(worker, "_answer", _answer_or_end)
)
first_env_lost = _in_processes("first_env_lost", talking(_FirstEnvLost))
neighbours_reset_along = _in_either("neighbours_reset_along", _NeighboursReset)
neighbours_changed_along = _in_either("neighbours_changed_along", _NeighboursChanged)
neighbours_uncut = _in_either("neighbours_uncut", _restarting(talks=_NeighboursUncut))
params_of_the_first = _in_either("params_of_the_first", _restarting(_FirstParams))
neighbours_seeded_alike = _in_either("neighbours_seeded_alike", _restarting(_SeededAlike))
rung_at_the_end = _in_slots("rung_at_the_end", _RungAtTheEnd)
round_ends_at_a_failure = _in_slots("round_ends_at_a_failure", _RoundEndsAtAFailure)
env_misnamed = _shared("env_misnamed", _EnvMisnamed, exchange=_IN_SLOTS | {"value"})
one_answer_a_ring = _in_slots("one_answer_a_ring", _OneARing)
