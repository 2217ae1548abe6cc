"""`AsyncEnvPool`: many envs in threads or processes, stepped together or each in its own time."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch
from torchrl.data import Composite, NonTensor
from torchrl.envs import EnvBase

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import OwnedProcess
from reference_impl.pool.column_calls import Batch, ColumnCalls
from reference_impl.pool.control_calls import ControlCalls
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.dense import DenseSteps
from reference_impl.pool.indices import ENV_INDEX, stacked_index
from reference_impl.pool.layout import PARTS, is_plain
from reference_impl.pool.messages import Operation
from reference_impl.pool.options import Options, factories
from reference_impl.pool.restarts import RestartingConversation, Restarts
from reference_impl.pool.roots import Roots, is_partial, like, masked
from reference_impl.pool.signatures import InitSignature
from reference_impl.pool.slot_line import open_line
from reference_impl.pool.slot_wires import Wires
from reference_impl.pool.values import Values, pack, rows, stacked
from reference_impl.pool.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensordict import TensorDictBase

    from reference_impl.core.channel import End
    from reference_impl.core.ownership import StartMethod
    from reference_impl.pool.messages import Built
    from reference_impl.pool.options import Exchange, Kwargs, Maker, OnFailure
    from reference_impl.pool.values import Stack
    from reference_impl.pool.workers import Backend

_HIDDEN: Final = (ENV_INDEX, "next")


class AsyncEnvPool(ControlCalls, EnvBase):
    """A pool of envs in threads or processes, one each or several in one, with torchrl's names.

    It is an `EnvBase` whose first batch dimension counts the envs, and returns the values that
    torchrl's `SerialEnv` returns on the same envs, plus "env_index" in the root. `step` writes
    nothing into the caller's tensordict. What it returns is the caller's, but for what is asked for
    as a `Lease`.

    If an env raises, the call raises `WorkerError` naming env, operation and cause, and the pool
    stays usable; what the others answered to the same call of all envs is dropped. If a worker
    dies, calls that need it raise `WorkerDied` at once, and the other envs stay usable through the
    `async_*` calls.

    Calls without a `timeout` of their own wait for as long as an env works, as torchrl's do. What
    ends the wait for one that hangs is `close` in another thread (the call raises `Closed`), an
    interrupt (the pool stays usable), or the end of the worker (`WorkerDied`).

    Args:
        env_makers: a callable that returns an `EnvBase` or a gymnasium env, an env, or a list of
            those: one an env. Gymnasium envs act as in torchrl's `GymWrapper`, and are stepped
            straight into the slots where their observation is one array.
        backend: "multiprocessing" or "threading".
        stack: "dense" (equal keys and shapes, else RuntimeError), "maybe_dense" or "lazy".
        exchange: "queue" (by value), "shm" (shared slots; for processes, and envs whose specs are
            equal and hold nothing but tensors of known shapes), or "auto", the default: slots where
            that is so. `resolved_exchange` says which.
        envs_per_worker: how many envs, one after the other, a worker has; the last one may have
            fewer. It steps them one after the other, and each answers as soon as it is done. An env
            that raises does not touch its neighbours; a worker that dies takes all of its envs
            along, and a restart brings all of them back. Errors name worker and env.
        create_env_kwargs: keyword arguments of the makers, one dict for all or one for each.
        start_method: of worker processes: "forkserver", "fork" or "spawn".
        on_worker_failure: "raise", or "restart": a worker that dies or cannot be reached is
            replaced, while the call that found out waits. The new env has the parameters in force
            (`update_env_params`) and a seed of its own. The step that was lost, or the next one,
            ends where it started, with reward zero, and is truncated; a reset is made again; other
            calls raise `WorkerDied` once. An env that raises is not replaced. Costs a copy more a
            step where data goes through slots.
        max_restarts: how often an env's worker is replaced; then it is lost, as with "raise".
        restart_backoff: seconds before an env's first restart; twice as many before each next one,
            at most 30, and anew once a worker has lived for longer than it was waited for.
        show_params_version: whether roots and "next" have the entry "env_params_version", which the
            specs then have, too: the version of the env's parameters (`update_env_params`) that
            each was made under. It is 0 before any update.
        worker_affinity: not supported.
        shutdown_timeout: seconds for ending all workers, by `close` or by garbage collection.
        start_timeout: seconds for making all envs.

    Raises:
        ValueError: an argument has a value that is not supported; nothing was started.
        WorkerError: an env could not be made; nothing is left running.
    """

    __signature__: Final = InitSignature()

    def __init__(  # noqa: PLR0913 - torchrl's pool has most of them, too
        self,
        env_makers: Maker | Sequence[Maker],
        *,
        backend: Backend = "multiprocessing",
        stack: Stack = "dense",
        exchange: Exchange | None = None,
        envs_per_worker: int = 1,
        create_env_kwargs: Kwargs = None,
        start_method: StartMethod = "forkserver",
        on_worker_failure: OnFailure = "raise",
        max_restarts: int = 3,
        restart_backoff: float = 0.05,
        show_params_version: bool = False,
        worker_affinity: None = None,
        shutdown_timeout: float = 10.0,
        start_timeout: float = 60.0,
    ) -> None:
        if worker_affinity is not None:
            raise ValueError(f"worker_affinity is not supported, got {worker_affinity!r}")
        options = Options(
            backend=backend,
            stack=stack,
            exchange=exchange or "auto",
            start_method=start_method,
            shutdown_timeout=shutdown_timeout,
            start_timeout=start_timeout,
            on_worker_failure=on_worker_failure,
            max_restarts=max_restarts,
            restart_backoff=restart_backoff,
            envs_per_worker=envs_per_worker,
        )
        makers = factories(env_makers, create_env_kwargs)
        workers, wires = _no_workers_yet(len(makers), options, shows_version=show_params_version)
        # Before the first worker: a collection at any later moment finds them all.
        self.__dict__["_finalizer"] = weakref.finalize(self, workers.end, shutdown_timeout)
        built = workers.start(makers, Deadline.after(start_timeout))
        try:
            self._set_specs(built)
            line = open_line(workers.members, wires, built, strict=exchange == "shm")
            super().__init__(batch_size=self._input_spec.shape, device=self._input_spec.device)
        except BaseException:  # envs that do not go together
            self._finalizer()
            raise
        self.min_get = 1
        self.num_envs, self.envs_per_worker = len(makers), envs_per_worker
        self.env_makers = [factory.maker for factory in makers]
        self.backend, self.stack, self.exchange = options.backend, options.stack, options.exchange
        self.env_batch_sizes = [torch.Size(one.batch_size) for one in built]
        self._shutdown_timeout = shutdown_timeout
        self._workers = workers
        self._line = line
        self._params_log = {}
        self._restarts: Restarts | None = None
        self._roots = Roots()
        self._talk = self._conversation(options, built)
        self._columns = self._column_calls()
        self._fresh: dict[int, Values] = {}
        self._came: dict[int, tuple[Values, Values | None]] = {}
        self.is_closed = False

    def _column_calls(self) -> ColumnCalls | None:
        line = self._line
        if line is None or self.stack == "lazy" or self._restarts is not None:
            return None
        # Whoever overrides what torchrl calls for a step has it called.
        cls, names = type(self), ("_step", "_reset")
        own = all(getattr(cls, name) is vars(AsyncEnvPool)[name] for name in names)
        if not own or not is_plain(line.slots.layout):
            return None
        return ColumnCalls(DenseSteps(line, self.device), line, self._roots)

    def _conversation(self, options: Options, built: Sequence[Built]) -> Conversation:
        if options.on_worker_failure == "raise":
            talk = Conversation(self._workers.members, self._line)
        else:
            self._restarts = Restarts(self._workers, built, self._params_log, options)
            talk = RestartingConversation(self._workers, self._line, self._restarts)
        talk.overhears = partial(self._roots.overheard, self._line)
        return talk

    def _set_specs(self, built: Sequence[Built]) -> None:
        # Part by part: a stack of whole specs of differing envs loses nested keys.
        for name, parts in PARTS.items():
            stacks = {part: torch.stack([one.specs[name][part] for one in built]) for part in parts}
            shape = stacks[parts[0]].shape
            spec = Composite(stacks, shape=shape, device=built[0].specs.device)
            self.__dict__[f"_{name}"] = spec
        state = self._input_spec["full_state_spec"]
        state.set(ENV_INDEX, NonTensor(example_data=0, shape=state.shape))

    @property
    def resolved_exchange(self) -> str:
        """The exchange in use: "queue" or "shm"."""
        return "queue" if self._line is None else "shm"

    @property
    def worker_pids(self) -> list[int]:
        """The process ids of the workers; empty for threads."""
        runners = (worker.runner for worker in self._workers.members)
        return [runner.pid for runner in runners if isinstance(runner, OwnedProcess)]

    def stats(self) -> dict[str, Any]:
        """Return counts, without asking the envs: which are busy or lost, what was dropped."""
        told = self._talk.standing()
        counts = {"num_envs": self.num_envs, "num_workers": len(self._workers.members)}
        return {**counts, "exchange": self.resolved_exchange, **told}

    def channels(self) -> dict[str, list[End]]:
        """Return the owner's ends by what they carry; the channels are duplex, so each is both."""
        ends = [worker.end for worker in self._workers.members]
        return {"commands": ends, "results": list(ends)}

    def reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        """Reset all envs, or those that a reset mask in `tensordict` names.

        Who still works on a step that was given up is waited for, reset or not: it is there then.

        Args:
            tensordict: not changed; its masks ("_reset" and nested ones) say who is reset, and its
                entries are kept for the others, and completed by their last roots.
            kwargs: passed on to each env's `reset`.

        Raises:
            WorkerError: an env failed.
            RuntimeError: one of them, reset or not, is in a step, or the answer to one was not
                received: where it is, is not known. Nobody was reset; `async_reset_send` resets
                some without a look at the others.
        """
        given = tensordict
        if given is not None:
            given = given.exclude(ENV_INDEX)
            # A masked update writes into what it is given, and pads with zeros what is missing.
            masks = is_partial(given, self.reset_keys)
            given = self._completed(given) if masks else given.copy()
        return self._numbered(super().reset(given, **kwargs))

    def step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Step all envs; return a new tensordict with the entries of `tensordict` and "next".

        Raises:
            WorkerError: an env failed.
        """
        # Without its index: copying that costs more than making a new one.
        return self._numbered(super().step(tensordict.exclude(ENV_INDEX)))

    def step_and_maybe_reset(
        self, tensordict: TensorDictBase
    ) -> tuple[TensorDictBase, TensorDictBase]:
        """Step all envs and reset those that are done, in one round trip.

        Returns:
            the steps, as from `step`, and the roots of the next steps.

        Raises:
            WorkerError: an env failed.
        """
        columns = self._columns
        if columns is not None:
            found = columns.step_all(self._talk, Operation.STEP_THEN_RESET, tensordict)
            if isinstance(found, Batch):
                return columns.stepped(found), columns.root(found, emptied=True)
            self._came = found
        self._one_trip = True
        try:
            stepped, root = super().step_and_maybe_reset(tensordict)
        finally:
            self._one_trip = False
            self._fresh, self._came = {}, {}
        return self._numbered(stepped), self._numbered(root)

    _one_trip = False

    def set_seed(
        self,
        seed: int | None = None,
        static_seed: bool = False,  # noqa: FBT001, FBT002 - torchrl's signature
    ) -> int | None:
        """Seed the envs one after the other, each with what the one before returned."""
        for env in range(self.num_envs):
            kwargs = {env: {"seed": seed, "static_seed": static_seed}}
            if self._restarts is not None and seed is not None:
                self._restarts.seeds[env] = seed
            seed = self._talk.ask(Operation.SET_SEED, {env: None}, kwargs)[env]
        return seed

    def _set_seed(self, seed: int | None) -> None:
        self.set_seed(seed)

    def close(self, *, raise_if_closed: bool = True) -> None:  # noqa: ARG002 - no error to close twice
        """End all workers within `shutdown_timeout`; from any thread, any number of times."""
        self.is_closed = True
        if "_talk" in self.__dict__:
            self._workers.give_up()  # first: who replaces a worker holds the lock
            self._talk.close()
            self._workers.end(self._shutdown_timeout)
        self._finalizer.detach()

    def shutdown(self) -> None:
        """Do what `close` does."""
        self.close()

    def __del__(self) -> None:
        """Do nothing: the finalizer ends the workers, without this object."""

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        at_once: Mapping[int, Values] = {}
        columns = None if self._one_trip else self._columns
        if columns is not None:
            found = columns.step_all(self._talk, Operation.PRIVATE_STEP, tensordict)
            if isinstance(found, Batch):
                return columns.following(found)
            at_once = found
        given = rows(tensordict, _HIDDEN, private=False)
        moved = masked(tensordict, ("_step",), self.num_envs)
        calls = {env: values for env, values in enumerate(given) if moved[env]}
        if self._one_trip:
            both = self._came or self._talk.ask(Operation.STEP_THEN_RESET, calls)
            came = {env: result[0] for env, result in both.items()}
            self._fresh = {env: result[1] for env, result in both.items() if result[1] is not None}
        else:
            came = dict(at_once or self._talk.ask(Operation.PRIVATE_STEP, calls))
        for env, values in came.items():
            self._roots.saw(env, values)
        for env in range(self.num_envs):
            if env not in came:
                came[env] = like(came[min(came)], given[env])
        return self._stack(came)

    def _reset(self, tensordict: TensorDictBase | None = None, **kwargs: Any) -> TensorDictBase:
        envs = range(self.num_envs)
        named = masked(tensordict, self.reset_keys, self.num_envs)
        given: Sequence[Values | None] = [None] * self.num_envs
        if tensordict is not None:
            given = rows(tensordict, (ENV_INDEX,), private=False)
        fresh = {env: values for env, values in self._fresh.items() if named[env]}
        missing = {env: _or_none(given[env]) for env in envs if named[env] and env not in fresh}
        # Before anybody is reset: they may be in a step.
        spared = self._last_roots([env for env in envs if not named[env]])
        if missing:
            fresh |= self._talk.ask(Operation.RESET, missing, dict.fromkeys(missing, kwargs))
        for env, values in fresh.items():
            self._roots.saw(env, values)
        if spared:
            template = fresh[min(fresh)] if fresh else self._root_form()
            fresh |= {env: like(template, last, given[env]) for env, last in spared.items()}
        return self._numbered(self._stack(fresh))

    def _completed(self, given: TensorDictBase) -> TensorDictBase:
        """Return a copy of `given` with those entries of the last roots that it does not hold."""
        form, last = self._root_form(), self._last_roots(range(self.num_envs))
        parts = enumerate(rows(given, (ENV_INDEX,), private=False))
        kept = {env: like(form, last[env], part) for env, part in parts}
        return self._stack(kept).update(given.clone())

    def _last_roots(self, envs: Sequence[int]) -> dict[int, Values | None]:
        """Return by env its last root, if there is any.

        Raises:
            RuntimeError: one of them is in a step.
        """

        def read() -> dict[int, Values | None]:
            return {env: self._roots.last(env) for env in envs}

        return self._talk.at_rest(Operation.RESET, envs, read) if envs else {}

    def _root_form(self) -> Values:
        """Return the root of one env, in zeros."""
        zero = self.full_observation_spec.zero()
        zero.update(self.full_done_spec.zero())
        return pack(zero[0])

    def _stack(self, by_env: Mapping[int, Values]) -> TensorDictBase:
        return stacked([by_env[env] for env in sorted(by_env)], self.stack, self.device)

    def _numbered(self, td: TensorDictBase) -> TensorDictBase:
        if self._one_trip:
            return td  # at the end of the trip
        td.set(ENV_INDEX, stacked_index(range(self.num_envs), td.batch_size[1:]))
        return td


def _no_workers_yet(
    num_envs: int, options: Options, *, shows_version: bool
) -> tuple[Workers, Wires | None]:
    count = options.envs_per_worker
    wires = Wires(num_envs, count) if options.may_use_slots else None
    workers = Workers(
        options.backend,
        options.start_method,
        wires,
        shows_version=shows_version,
        envs_per_worker=count,
    )
    return workers, wires


def _or_none(values: Values | None) -> Values | None:
    return values if values is not None and values.entries else None
