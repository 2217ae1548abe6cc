"""Steps a pool that replaces lost workers for long, while workers are killed, stopped and fail.

Usage: `python -m tools.long_restarts [STEPS] [--seed N] [--exchange shm|queue|both] [--start-method
fork|forkserver|spawn]`. Prints one JSON object a run; `problems` is empty, and the exit code 0, if nothing
was lost but what killed workers held, nothing was done twice, no seed repeats, nothing is left and no
call took long.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import faulthandler
import json
import os
import pickle
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import psutil
import torch
from tensordict import TensorDict

from harness.engine import linux
from harness.model.probe import Observation, decode
from harness.ports.clock import Deadline, now_ns, pause
from reference_impl.core.errors import WorkerError
from reference_impl.core.ownership import START_METHODS
from reference_impl.pool import AsyncEnvPool
from tools.restart_envs import Demand, StampedEnv
from tools.restart_records import Done, Entry, Fate, Records, Step, problems

ENVS: Final = 4
HORIZON: Final = 12
RESTARTS_MAX: Final = 1_000_000  # where they end is not what is looked at
FAULTS_EVERY: Final = 20  # steps, on average
CALL_S_MAX: Final = 15.0  # a restart on a loaded machine, many times over
RUN_S_MAX: Final = (
    60.0,
    0.05,
)  # in all, and for each step; then stacks are printed and the run ends
STOPPED_S: Final = 0.02  # how long the others are waited for while one is stopped
SETTLE_S: Final = 10.0
GROWTH_MIB_MAX: Final = 8.0
_shm_is_ours = False  # else names there may be anybody's, and are not judged
MEMORY: Final = "memory in MiB"
JOURNAL: Final = "journal"
STEPS: Final = "steps"
PROBLEMS_MAX: Final = 20  # that are told


class Trouble(enum.Enum):
    """What befalls one env in one step."""

    KILL_IDLE = "killed between two calls"
    KILL_BUSY = "killed after it was asked"
    DIE_BEFORE = "killed before its step"
    DIE_AFTER = "killed before its answer"
    RAISE = "raises"
    STOP_CONTINUE = "stopped in its step, continued"
    STOP_KILL = "stopped in its step, killed"
    STOP_IDLE = "stopped between two calls, continued"


STOPS: Final = frozenset({Trouble.STOP_CONTINUE, Trouble.STOP_KILL, Trouble.STOP_IDLE})
DEMANDS: Final = {
    Trouble.DIE_BEFORE: Demand.DIE_BEFORE,
    Trouble.DIE_AFTER: Demand.DIE_AFTER,
    Trouble.RAISE: Demand.RAISE,
    Trouble.STOP_CONTINUE: Demand.STOP,
    Trouble.STOP_KILL: Demand.STOP,
}
KILLS: Final = frozenset(
    {
        *(Trouble.KILL_IDLE, Trouble.KILL_BUSY, Trouble.STOP_KILL),
        *(Trouble.DIE_BEFORE, Trouble.DIE_AFTER),
    }
)


class Run:
    """One pool, and what it did so far."""

    def __init__(self, pool: AsyncEnvPool, seed: int, log: BinaryIO) -> None:
        self._pool = pool
        self._log = log  # of steps: in memory they would be taken for a leak
        self._draw = random.Random(seed)
        self._next_id = 1
        self._killed: set[int] = set()  # and not yet found out
        self.records = Records()
        self.troubles: Counter[str] = Counter()
        self.longest_s = 0.0
        pool.set_seed(seed)
        self._shown: list[Observation] = []
        self._reset()

    def go_on(self, steps: int, *, calmly: bool = False) -> None:
        """Step all envs so many times; with `calmly`, nothing befalls them."""
        for _ in range(steps):
            trouble, victim = None, -1
            spared = sorted(set(range(ENVS)) - self._killed)
            if not calmly and spared and self._draw.randrange(FAULTS_EVERY) == 0:
                trouble = self._draw.choice(list(Trouble))
                victim = self._draw.choice(spared)
            self._befall(trouble, victim)

    def once_each(self) -> None:
        """Have every trouble befall some env, and every worker be killed at least once."""
        for index, trouble in enumerate(Trouble):
            if self._killed:
                self.go_on(1, calmly=True)  # a loss that is not found out yet
            self._befall(trouble, index % ENVS)

    def _befall(self, trouble: Trouble | None, victim: int) -> None:
        """Step all envs, one of which is in trouble."""
        if trouble is not None:
            self.troubles[trouble.value] += 1
        pids = self._pool.worker_pids
        steps = self._asked()
        if trouble in KILLS:
            self.records.kills[victim] += 1
            self._killed.add(victim)
        if trouble is Trouble.KILL_IDLE:
            os.kill(pids[victim], signal.SIGKILL)
        if trouble is Trouble.STOP_IDLE:
            os.kill(pids[victim], signal.SIGSTOP)
        td = self._td(steps, DEMANDS.get(trouble, Demand.NOTHING) if trouble else 0, victim)
        for step in steps:
            step.killed = step.env in self._killed
        if trouble is Trouble.KILL_BUSY or trouble in STOPS or self._draw.random() < 0.5:
            self._in_parts(steps, td, trouble, victim, pids)
        else:
            self._at_once(steps, td, victim)
        pickle.dump(steps, self._log)

    def _asked(self) -> list[Step]:
        steps = [
            Step(id=self._next_id + env, env=env, before=self._shown[env]) for env in range(ENVS)
        ]
        self._next_id += ENVS
        return steps

    def _td(self, steps: Sequence[Step], demand: int, victim: int) -> TensorDict:
        actions = [[step.id, demand if step.env == victim else 0] for step in steps]
        shown = [_entries(step.before) for step in steps]
        entries = {"action": torch.tensor(actions), "observation": torch.tensor(shown)}
        return TensorDict(entries, batch_size=[len(steps)])

    def _at_once(self, steps: Sequence[Step], td: TensorDict, victim: int) -> None:
        try:
            stepped, root = self._timed(self._pool.step_and_maybe_reset, td)
        except WorkerError as error:
            for step in steps:
                step.fate = Fate.RAISED if step.env == error.worker else Fate.GIVEN_UP
            if error.worker != victim:
                raise
            self._reset()
            return
        self._take(steps, stepped, root)

    def _in_parts(
        self,
        steps: Sequence[Step],
        td: TensorDict,
        trouble: Trouble | None,
        victim: int,
        pids: Sequence[int],
    ) -> None:
        order = list(range(ENVS))
        self._draw.shuffle(order)
        cut = self._draw.randrange(ENVS)
        for part in (order[:cut], order[cut:]):
            if part:
                self._timed(self._pool.async_step_and_maybe_reset_send, td[part], part)
        if trouble is Trouble.KILL_BUSY:
            os.kill(pids[victim], signal.SIGKILL)
        left = ENVS
        if trouble in STOPS:
            left -= self._receive(steps, ENVS - 1, timeout=CALL_S_MAX / 2, max_get=ENVS - 1)
            with contextlib.suppress(TimeoutError):
                left -= self._receive(steps, left, timeout=STOPPED_S)
            _await_stopped(pids[victim])
            heal = signal.SIGKILL if trouble is Trouble.STOP_KILL else signal.SIGCONT
            os.kill(pids[victim], heal)
        while left:
            left -= self._receive(steps, self._draw.randint(1, left))

    def _receive(self, steps: Sequence[Step], min_get: int, **options: Any) -> int:
        recv = self._pool.async_step_and_maybe_reset_recv
        try:
            stepped, root = self._timed(partial(recv, min_get, **options))
        except WorkerError as error:
            steps[error.worker].fate = Fate.RAISED
            return 1
        envs = [int(env) for env in stepped["env_index"]]
        self._take([steps[env] for env in envs], stepped, root)
        return len(envs)

    def _take(self, steps: Sequence[Step], stepped: TensorDict, root: TensorDict) -> None:
        following = stepped["next"]
        for row, step in enumerate(steps):
            shown, after, reward = (
                decode(following["observation"][row].tolist()),
                decode(root["observation"][row].tolist()),
                float(following["reward"][row]),
            )
            step.following, step.root, step.reward = shown, after, reward
            step.ended = (
                bool(following["terminated"][row]),
                bool(following["truncated"][row]),
            )
            step.fate = Fate.CUT if reward == 0.0 else Fate.CAME
            if step.fate is Fate.CUT:
                self._killed.discard(step.env)
            self._shown[step.env] = after

    def _reset(self) -> None:
        root = self._timed(self._pool.reset)
        self._shown = [decode(row) for row in root["observation"].tolist()]
        self._killed.clear()

    def told(self) -> dict[str, Any]:
        """What befell the envs, and what became of their steps, as counts."""
        records = self.records
        return {
            "longest_call_s": round(self.longest_s, 3),
            "troubles": dict(self.troubles),
            "fates": dict(Counter(step.fate.value for step in records.steps)),
            "carried_out": sum(entry.done is Done.STEPPED for entry in records.journal),
            "restarts": list(records.restarts),
        }

    def _timed(self, call: Callable[..., Any], *args: Any) -> Any:
        began = now_ns()
        try:
            return call(*args)
        finally:
            self.longest_s = max(self.longest_s, (now_ns() - began) / 1e9)


def run(
    steps: int,
    seed: int,
    exchange: str,
    *,
    make_pool: Callable[..., AsyncEnvPool] = AsyncEnvPool,
    start_method: str = "fork",
) -> dict[str, Any]:
    """Make a pool, step it so often under faults, close it; return what is to be told.

    Args:
        steps: of all envs together.
        seed: of faults, actions and envs.
        exchange: of the pool.
        make_pool: takes the arguments of `AsyncEnvPool`.
        start_method: of the pool.
    """
    began = now_ns()
    with tempfile.TemporaryDirectory(prefix="long-restarts-") as folder:
        journal = Path(folder, JOURNAL)
        makers = [partial(StampedEnv, env, str(journal), HORIZON) for env in range(ENVS)]
        options = {"exchange": exchange, "start_method": start_method}
        make_pool(makers[:1], **options).close()  # what starts once stays
        journal.unlink(missing_ok=True)
        counts = {"first": _count()}
        restarting = {"on_worker_failure": "restart", "max_restarts": RESTARTS_MAX}
        pool = make_pool(makers, restart_backoff=0.001, **restarting, **options)
        faulthandler.dump_traceback_later(RUN_S_MAX[0] + RUN_S_MAX[1] * steps, exit=True)
        try:
            with Path(folder, STEPS).open("wb") as log:
                going = Run(pool, seed, log)
                grown = _stepped(going, steps, counts)
        finally:
            pool.close()
            faulthandler.cancel_dump_traceback_later()
        counts["closed"], left = _settled(counts["first"] | {MEMORY: counts["end"][MEMORY]})
        _read_up(going.records, Path(folder))
    going.records.restarts = pool.stats()["restarts"]
    found = problems(going.records, HORIZON)
    found += [f"while it ran: {each}" for each in grown]
    found += [f"after it was closed: {each}" for each in left]
    if going.longest_s > CALL_S_MAX:
        found.append(f"a call took {going.longest_s:.1f} s")
    return {
        "seed": seed,
        "exchange": pool.resolved_exchange,
        "steps": steps,
        "seconds": round((now_ns() - began) / 1e9, 1),
        **going.told(),
        "replies_dropped": pool.stats()["replies_dropped"],
        "counts": counts,
        "problems": found[:PROBLEMS_MAX],
        "problems_in_all": len(found),
    }


def _read_up(records: Records, folder: Path) -> None:
    """Put on record what lies in files."""
    lines = (folder / JOURNAL).read_text().splitlines()
    records.journal = [Entry.of(line) for line in lines]
    with (folder / STEPS).open("rb") as log:
        while log.peek():
            records.steps += pickle.load(log)


def _stepped(going: Run, steps: int, counts: dict[str, dict[str, float]]) -> list[str]:
    """Step so often, and count after a quarter and at the end; return what has grown meanwhile."""
    going.once_each()  # a forked worker that comes later inherits more
    going.go_on(steps // 4)
    going.go_on(2, calmly=True)
    counts["quarter"] = _count()
    going.go_on(steps - steps // 4)
    going.go_on(2, calmly=True)
    counts["end"], grown = _settled(counts["quarter"])
    return grown


def _entries(shown: Observation) -> list[int]:
    return [getattr(shown, name) for name in Observation.__dataclass_fields__]


def _await_stopped(pid: int) -> None:
    """Wait until a process stands still, or is gone."""
    deadline = Deadline.after(SETTLE_S)
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_STOPPED:
        if deadline.expired:
            raise TimeoutError(f"process {pid} has not stopped")
        pause(0.001)


def _count() -> dict[str, float]:
    """What could grow, of this process and those that it started."""
    me = psutil.Process()
    children = me.children(recursive=True)
    fds = [_descriptors(child) for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return {
        "processes": len(children),
        "threads": me.num_threads(),
        "descriptors": me.num_fds(),
        "descriptors of children": sum(fds),
        "names in /dev/shm": len(os.listdir("/dev/shm")) if _shm_is_ours else 0,
        MEMORY: round(me.memory_info().rss / 2**20, 1),
    }


def _descriptors(process: psutil.Process) -> int:
    try:
        return int(process.num_fds())
    except psutil.Error:
        return 0  # it has ended meanwhile


def _settled(before: dict[str, float]) -> tuple[dict[str, float], list[str]]:
    """Count until nothing has grown, or that takes too long."""
    deadline = Deadline.after(SETTLE_S)
    while True:
        after = _count()
        grown = [
            f"{name}: {after[name]} instead of {before[name]}"
            for name in before
            if after[name] > before[name] + GROWTH_MIB_MAX * (name == MEMORY)
        ]
        if not grown or deadline.expired:
            return after, grown
        pause(0.05)


def main(argv: list[str]) -> int:
    """Run, print, say whether all was well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--exchange", choices=("shm", "queue", "both"), default="both")
    parser.add_argument("--start-method", choices=sorted(START_METHODS), default="fork")
    options = parser.parse_args(argv)
    global _shm_is_ours
    _shm_is_ours = linux.private_shared_memory()
    well = True
    for exchange in ("shm", "queue") if options.exchange == "both" else (options.exchange,):
        told = run(options.steps, options.seed, exchange, start_method=options.start_method)
        print(json.dumps(told, indent=1), flush=True)
        well = well and not told["problems"]
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
