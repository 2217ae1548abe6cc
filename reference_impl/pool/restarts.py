"""Workers that are lost are replaced; what they were doing is cut off, and says so.

A new worker gets a new env of the same maker, the parameters in force, and a seed that no worker of
that env had. A step that was lost with the old one, or comes before the new env was reset, is
answered by a transition that goes nowhere: reward zero, the observation that it started from,
truncated.
"""

from __future__ import annotations

import hashlib
import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import torch

from reference_impl.core import channel
from reference_impl.core.clock import MONOTONIC, Deadline
from reference_impl.core.errors import Closed, WorkerError
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import CONTROLS, Done, Operation
from reference_impl.pool.roots import like
from reference_impl.pool.state import Lost
from reference_impl.pool.values import Values, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reference_impl.core.clock import Clock
    from reference_impl.pool.env_params import Update
    from reference_impl.pool.lines import Line
    from reference_impl.pool.messages import Built, Call
    from reference_impl.pool.options import Options
    from reference_impl.pool.state import Delivery
    from reference_impl.pool.workers import Worker, Workers

BACKOFF_S_MAX: Final = 30.0  # a call waits for it
_LOG: Final = logging.getLogger(__name__)
_RESETS: Final = frozenset({Operation.RESET, Operation.PRIVATE_RESET})
_STEPS: Final = frozenset({Operation.STEP, Operation.PRIVATE_STEP})
_ALL_STEPS: Final = _STEPS | {Operation.STEP_AND_MAYBE_RESET, Operation.STEP_THEN_RESET}


class Restarts:
    """How lost workers are replaced, and how often they were.

    Args:
        workers: of the pool.
        built: what its envs said of themselves.
        updates: by env, the updates of parameters that are in force; the pool keeps it current.
        options: of the pool. What is waited before a restart is twice what was before the last one
            of that env, up to `BACKOFF_S_MAX`, and `restart_backoff` once more where its worker
            has lived for longer than it was waited for.
        clock: what lives are measured with.
    """

    def __init__(
        self,
        workers: Workers,
        built: Sequence[Built],
        updates: Mapping[int, Sequence[Update]],
        options: Options,
        clock: Clock = MONOTONIC,
    ) -> None:
        self._workers = workers
        self.built: Final = tuple(built)
        self._updates = updates
        self._limit = options.max_restarts
        self._backoff_s = options.restart_backoff
        self._start_timeout_s = options.start_timeout
        self.counts: Final = [0] * len(built)
        self._clock = clock
        self._waited_s = [0.0] * len(built)  # before the last restart
        self._since = [clock.now()] * len(built)  # when the worker of each env began
        entropy = int.from_bytes(os.urandom(8), "big")
        self.seeds: Final = dict.fromkeys(range(len(built)), entropy)  # the last given, by env

    def replace(self, worker: int, envs: Sequence[int], lost: Lost) -> Lost | None:
        """Start a new worker for `envs` in the place of `worker`; return why there is none, if so.

        Raises:
            Closed: the pool is being closed.
        """
        cause = ""
        first = envs[0]  # they are always lost together
        while self.counts[first] < self._limit:
            wait_s = self._waited_s[first] = self._next_wait_s(first)
            for env in envs:
                self.counts[env] += 1
            _LOG.warning("worker %d is lost (%s): restart %d", worker, lost, self.counts[first])
            if self._workers.closing.wait(wait_s):
                raise Closed("the pool is closed")
            deadline = Deadline.after(self._start_timeout_s)
            renewed = [(self._updates.get(env, ()), self._seed(env)) for env in envs]
            try:
                self._workers.replace(worker, renewed, deadline)
            except WorkerError as error:
                cause = f"; the last one failed: {error.cause}"
            else:
                return None
            finally:
                self._since[first] = self._clock.now()
        told = lost.reason or f"the worker died with exit code {lost.exitcode}"
        reason = f"{told}, after {self._limit} restarts, which is all it gets{cause}"
        return Lost(exitcode=lost.exitcode, reason=reason)

    def _next_wait_s(self, env: int) -> float:
        # A pool that lives for long loses many workers: only those that die young are a reason to wait.
        lived_s = self._clock.now() - self._since[env]
        if lived_s > self._waited_s[env]:
            return self._backoff_s
        return min(2 * self._waited_s[env], max(self._backoff_s, BACKOFF_S_MAX))

    def _seed(self, env: int) -> int:
        # Also for an env that nobody seeded: a forked process would draw what the last one drew.
        text = f"{self.seeds[env]} {env} {self.counts[env]}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


class _Cut(NamedTuple):
    """What a step that was cut off is answered with, once the env that it led to was reset."""

    following: Values
    form: Values | None  # what of the root to return; None: all


class RestartingConversation(Conversation):
    """A conversation that replaces workers which are lost, under its lock."""

    def __init__(self, workers: Workers, line: Line | None, restarts: Restarts) -> None:
        super().__init__(workers.members, line)
        self._members = workers.members
        self._restarts = restarts
        self._with_cuts = _WithCuts(self._line)
        self._line = cast("Line", self._with_cuts)
        self._unreset: set[int] = set()  # new envs that nobody knows of yet
        self._reset_kwargs: dict[int, dict[str, Any]] = {}  # of the last reset, by env

    def standing(self) -> dict[str, Any]:
        """Return what the conversation without restarts does, and how many there were by env."""
        return {**super().standing(), "restarts": tuple(self._restarts.counts)}

    def _post(self, env: int, call: Call) -> None:
        if call.operation not in CONTROLS:
            self._with_cuts.cuts.pop(env, None)  # its caller gave up on it
        if call.operation in _RESETS:
            self._unreset.discard(env)
            self._reset_kwargs[env] = call.kwargs
        elif env in self._unreset and call.operation in _ALL_STEPS:
            self._unreset.discard(env)
            self._cut(env, call)
            return
        super()._post(env, call)

    def _lose(self, env: int) -> None:
        worker = self._workers[env]
        lost = worker.post_mortem()
        self._line.lose(worker)
        if not self._state.closed and env not in self._state.lost:
            index = next(i for i, one in enumerate(self._members) if env in one.envs)
            try:
                given_up = self._restarts.replace(index, worker.envs, lost)
            except Closed:
                given_up = lost
            if given_up is None:
                self._go_on(self._members[index], lost)
                self._line.posted()
                self._stir()
                return
            lost = given_up
        for each in worker.envs:
            self._state.lose(each, lost)
        self._stir()

    def _go_on(self, worker: Worker, lost: Lost) -> None:
        """Take the new worker in, and see to what the old one was asked."""
        self._line.adopt(worker)
        for env in worker.envs:
            self._workers[env] = worker
        self._unreset.update(worker.envs)
        try:
            for env in worker.envs:
                self._ask_anew(env, lost)
        except channel.ChannelClosed:  # the new one is lost, too
            self._lose(worker.envs[0])

    def _ask_anew(self, env: int, lost: Lost) -> None:
        for id_, operation, given in self._state.take_over(env):
            if operation not in _RESETS | _ALL_STEPS:
                # It may have happened, and cannot be repeated.
                self._state.answer_to(id_, env, lost)
                continue
            kwargs = self._reset_kwargs.get(env, {}) if operation in _RESETS else {}
            self._post(env, self._call(env, id_, operation, given, kwargs))

    def _cut(self, env: int, call: Call) -> None:
        following = cut_off(self._restarts.built[env], call.values)
        if call.operation in _STEPS:
            self._state.answer(env, Done(request=call.request, result=following))
            return
        form = None
        if call.operation is Operation.STEP_THEN_RESET:
            form = _root_form(self._restarts.built[env])
        self._with_cuts.cuts[env] = _Cut(following, form)
        self._line.post(env, replace(call, operation=Operation.RESET, kwargs={}))


class _WithCuts:
    """A line on which resets of new envs answer steps that were cut off."""

    def __init__(self, line: Any) -> None:
        self._line = line
        self.cuts: dict[int, _Cut] = {}  # by env, until their resets are delivered

    def __getattr__(self, name: str) -> Any:
        return getattr(self._line, name)

    def collect(self, deliveries: list[Delivery]) -> list[Delivery]:
        """Return what the line does; where a step was cut off, that and the root of the reset."""
        return [self._joined(each) for each in self._line.collect(deliveries)]

    def _joined(self, delivery: Delivery) -> Delivery:
        if delivery.env not in self.cuts or not isinstance(delivery.result, Values):
            return delivery
        following, form = self.cuts.pop(delivery.env)
        root = delivery.result if form is None else like(form, delivery.result)
        return delivery._replace(result=(following, root))


def cut_off(built: Built, given: Values | None) -> Values:
    """Return what follows a step that nobody will answer: it starts and ends at the same place."""
    spec = built.specs["output_spec"]
    shown = like(pack(spec["full_observation_spec"].zero()), given)
    following = unpack(shown, None)
    following.update(spec["full_reward_spec"].zero())
    done = spec["full_done_spec"].zero()
    for key in done.keys(include_nested=True, leaves_only=True):
        name = key if isinstance(key, str) else key[-1]
        if name != "terminated":
            done.set(key, torch.ones_like(done.get(key)))
    following.update(done)
    return pack(following)


def _root_form(built: Built) -> Values:
    spec = built.specs["output_spec"]
    form = spec["full_observation_spec"].zero()
    form.update(spec["full_done_spec"].zero())
    return pack(form)
