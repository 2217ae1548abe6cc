"""The calls that do not wait for all envs: send to some, receive from whoever is ready.

Each kind of call is received by its own `recv`. A result is delivered once. A batch of results
holds what was sent as a batch; what was sent with `env_index=i` is received with `env_index=i`. An
env that fails makes one `recv` of that kind raise; the ready results of the others are delivered by
the next.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from reference_impl.core.clock import Deadline
from reference_impl.pool.column_calls import Batch, envs_of
from reference_impl.pool.indices import ENV_INDEX, read_indices, single_index, stacked_index
from reference_impl.pool.leases import Lease
from reference_impl.pool.messages import Operation
from reference_impl.pool.values import Values, copied, rows, stacked, unpack
from reference_impl.pool.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch
    from tensordict import TensorDictBase

    from reference_impl.pool.column_calls import ColumnCalls
    from reference_impl.pool.conversation import Conversation
    from reference_impl.pool.roots import Roots
    from reference_impl.pool.state import Delivery, PoolState
    from reference_impl.pool.values import Stack

T = TypeVar("T")
_HIDDEN: Final = (ENV_INDEX, "next")  # the pool's own entry, and what a step is about to make


class AsyncCalls:
    """The sending and receiving half of a pool's public face."""

    min_get: int
    num_envs: int
    stack: Stack
    device: torch.device | None
    env_batch_sizes: list[torch.Size]
    _talk: Conversation
    _roots: Roots
    _columns: ColumnCalls | None

    def _envs(self, env_index: int | Sequence[int] | None) -> list[int]:
        """Return the envs that are named; all by default.

        Raises:
            ValueError: there is no such env, or one is named twice.
        """
        if env_index is None:
            return list(range(self.num_envs))
        envs = [env_index] if isinstance(env_index, int) else [int(env) for env in env_index]
        if any(not 0 <= env < self.num_envs for env in envs) or len(set(envs)) != len(envs):
            raise ValueError(
                f"env_index must name different envs below {self.num_envs}, got {envs}"
            )
        return envs

    def async_step_send(
        self, tensordict: TensorDictBase, env_index: int | Sequence[int] | None = None
    ) -> None:
        """Ask some envs for a step and return at once.

        Args:
            tensordict: one row an env, with the action; a single env's own if `env_index` is an
                int.
            env_index: whose rows these are; by default what the entry "env_index" says.

        Raises:
            RuntimeError: one of the envs is busy; nothing was sent.
            WorkerDied: one of the envs is lost; nothing was sent.
        """
        self._send(Operation.STEP, tensordict, env_index)

    def async_step_recv(
        self,
        min_get: int | None = None,
        env_index: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> TensorDictBase:
        """Return results of `async_step_send`: what was sent, with "next" and "env_index".

        Args:
            min_get: how many results at least; by default 1.
            env_index: wait for this env's result instead and return it unstacked.
            max_get: how many results at most; by default all that are ready.
            timeout: seconds for the whole call; the call then also waits for `max_get` results, or
                all that are outstanding, but returns with `min_get` at the end. None: return as
                soon as `min_get` are in.

        Raises:
            TimeoutError: fewer than `min_get` came in time; they are delivered by the next call.
            RuntimeError: more was asked for than is outstanding.
            WorkerError: an env failed.
        """
        return self._receive_steps(Operation.STEP, Wanted(min_get, env_index, max_get, timeout))

    def async_reset_send(
        self,
        tensordict: TensorDictBase | None = None,
        env_index: int | Sequence[int] | None = None,
    ) -> None:
        """Ask some envs for a reset and return at once; see `async_step_send`."""
        self._send(Operation.RESET, tensordict, env_index)

    def async_reset_recv(
        self,
        min_get: int | None = None,
        env_index: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> TensorDictBase:
        """Return results of `async_reset_send`; arguments and errors as in `async_step_recv`."""
        return self._receive_roots(Operation.RESET, Wanted(min_get, env_index, max_get, timeout))

    def async_step_and_maybe_reset_send(
        self, tensordict: TensorDictBase, env_index: int | Sequence[int] | None = None
    ) -> None:
        """Ask some envs for a step, and a reset if it ends the episode; see `async_step_send`."""
        self._send(Operation.STEP_AND_MAYBE_RESET, tensordict, env_index)

    def async_step_and_maybe_reset_recv(
        self,
        min_get: int | None = None,
        env_index: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> tuple[TensorDictBase, TensorDictBase]:
        """Return (steps, roots of the next steps); arguments and errors as in `async_step_recv`."""
        wanted = Wanted(min_get, env_index, max_get, timeout)
        return self._steps_and_roots(
            self._receive_any(Operation.STEP_AND_MAYBE_RESET, wanted), wanted
        )

    def async_step_lease(
        self,
        min_get: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> Lease[TensorDictBase]:
        """Do what `async_step_recv` does, without copying where the envs lie side by side.

        Raises:
            ValueError: what these envs show is not read by column: it goes by value, or their
                entries are nested, or `stack` is "lazy", or workers are restarted.
        """
        wanted = Wanted(min_get, None, max_get, timeout)
        came = self._receive_any(Operation.STEP, wanted, lend=True)
        return Lease(self._steps(came, wanted), self._to_give_back(came))

    def async_step_and_maybe_reset_lease(
        self,
        min_get: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> Lease[tuple[TensorDictBase, TensorDictBase]]:
        """Do what `async_step_and_maybe_reset_recv` does; see `async_step_lease`.

        Where one of the envs was reset and another was not, the roots are copied.
        """
        wanted = Wanted(min_get, None, max_get, timeout)
        came = self._receive_any(Operation.STEP_AND_MAYBE_RESET, wanted, lend=True)
        return Lease(self._steps_and_roots(came, wanted), self._to_give_back(came))

    def _to_give_back(self, came: Batch | list[Delivery]) -> Callable[[], None]:
        return partial(self._talk.give_back, envs_of(came))

    def _async_private_step_send(
        self, tensordict: TensorDictBase, env_index: int | Sequence[int] | None = None
    ) -> None:
        self._send(Operation.PRIVATE_STEP, tensordict, env_index)

    def _async_private_step_recv(
        self,
        min_get: int | None = None,
        env_index: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> TensorDictBase:
        return self._receive_roots(
            Operation.PRIVATE_STEP, Wanted(min_get, env_index, max_get, timeout)
        )

    def _async_private_reset_send(
        self,
        tensordict: TensorDictBase | None = None,
        env_index: int | Sequence[int] | None = None,
    ) -> None:
        self._send(Operation.PRIVATE_RESET, tensordict, env_index)

    def _async_private_reset_recv(
        self,
        min_get: int | None = None,
        env_index: int | None = None,
        *,
        max_get: int | None = None,
        timeout: float | None = None,
    ) -> TensorDictBase:
        return self._receive_roots(
            Operation.PRIVATE_RESET, Wanted(min_get, env_index, max_get, timeout)
        )

    def _send(
        self,
        operation: Operation,
        td: TensorDictBase | None,
        env_index: int | Sequence[int] | None,
    ) -> None:
        alone = isinstance(env_index, int)
        envs = self._named_envs(td, env_index)
        columns = None if alone or td is None else self._columns
        if columns is not None and columns.send(self._talk, operation, td, envs):
            return
        calls: dict[int, Values | None]
        if td is None:
            calls = dict.fromkeys(envs)
        else:
            if alone or tuple(td.batch_size) == tuple(self.env_batch_sizes[envs[0]]):
                td = td.unsqueeze(0)
            parts = rows(td, _HIDDEN, private=True)
            if len(parts) != len(envs):
                raise ValueError(f"{len(parts)} rows were given for {len(envs)} envs: {envs}")
            calls = dict(zip(envs, parts, strict=True))
        self._talk.send(operation, calls, alone=alone)

    def _named_envs(
        self, td: TensorDictBase | None, env_index: int | Sequence[int] | None
    ) -> list[int]:
        return self._envs(read_indices(td) if env_index is None and td is not None else env_index)

    def _receive(self, operation: Operation, wanted: Wanted) -> list[Delivery]:
        columns = self._columns
        if columns is None:
            find, at_last = wanted.finders(operation, self.min_get, self.num_envs)
            return self._talk.receive(find, Deadline.after(wanted.timeout), at_last=at_last)
        return self._receive_by(columns.rows, operation, wanted)

    def _receive_any(
        self, operation: Operation, wanted: Wanted, *, lend: bool = False
    ) -> Batch | list[Delivery]:
        """Receive by column, where that is possible."""
        columns = self._columns
        if columns is None and lend:
            raise ValueError(
                'a lease needs exchange="shm", stack="dense" or "maybe_dense", no restarts, and envs '
                "without a batch of their own and without nested entries"
            )
        if columns is None or wanted.env_index is not None:
            return self._receive(operation, wanted)
        collect = partial(columns.collect, lent=lend)
        return self._receive_by(collect, operation, wanted, lend=lend)

    def _receive_by(
        self,
        collect: Callable[[list[Delivery]], T],
        operation: Operation,
        wanted: Wanted,
        *,
        lend: bool = False,
    ) -> T:
        find, at_last = wanted.finders(operation, self.min_get, self.num_envs)
        deadline = Deadline.after(wanted.timeout)
        at_least = self.min_get if wanted.min_get is None else wanted.min_get

        def needed(state: PoolState) -> list[int]:
            return state.needed(operation, at_least) if wanted.env_index is None else []

        return self._talk.receive_by(find, deadline, at_last, collect, needed, lend=lend)

    def _receive_steps(self, operation: Operation, wanted: Wanted) -> TensorDictBase:
        return self._steps(self._receive_any(operation, wanted), wanted)

    def _steps(self, came: Batch | list[Delivery], wanted: Wanted) -> TensorDictBase:
        if isinstance(came, Batch):
            assert self._columns is not None
            return self._columns.stepped(came)
        for one in came:
            self._roots.saw(one.env, one.result)
        parts = [(one.env, one.given.joined_by("next", one.result)) for one in came]
        return self._assemble(parts, alone=wanted.env_index is not None)

    def _steps_and_roots(
        self, came: Batch | list[Delivery], wanted: Wanted
    ) -> tuple[TensorDictBase, TensorDictBase]:
        if isinstance(came, Batch):
            assert self._columns is not None
            return self._columns.stepped(came), self._columns.root(came)
        for one in came:
            self._roots.saw(one.env, one.result[1])
        steps = [(one.env, one.given.joined_by("next", one.result[0])) for one in came]
        roots = [(one.env, one.result[1]) for one in came]
        alone = wanted.env_index is not None
        return self._assemble(steps, alone=alone), self._assemble(roots, alone=alone)

    def _receive_roots(self, operation: Operation, wanted: Wanted) -> TensorDictBase:
        came = self._receive_any(operation, wanted)
        if isinstance(came, Batch):
            assert self._columns is not None
            return self._columns.numbered(came)
        for one in came:
            self._roots.saw(one.env, one.result)
        parts = [(one.env, one.result) for one in came]
        return self._assemble(parts, alone=wanted.env_index is not None)

    def _assemble(self, parts: list[tuple[int, Values]], *, alone: bool) -> TensorDictBase:
        """Return results as one tensordict with `env_index`; no memory is shared with the pool."""
        if alone:
            [(env, values)] = parts
            td: Any = unpack(copied(values), self.device)
            td.set(ENV_INDEX, single_index(env, values.batch_size))
            return td
        batch = stacked([values for _, values in parts], self.stack, self.device)
        own_size = batch.batch_size[1:]
        batch.set(ENV_INDEX, stacked_index([env for env, _ in parts], own_size))
        return batch
