"""What these tests do with torchrl's collectors, in a process of its own: they leave much behind where they ran."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import select
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.data import Composite, LazyMemmapStorage, ReplayBuffer, Unbounded
from torchrl.envs import EnvBase
from torchrl.modules import ValueOperator
from torchrl.objectives.value import GAE

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process

WORKERS, FRAMES = (1, 2), 8  # a worker's rows are told from those that nobody wrote
VALUE = "postproc.adv_module.value_network"
RUN_S = 120.0
SLOWER_S = 0.002  # a step, for each worker after the first: batches do not come in turns


def alone(run, *args) -> Any:
    """Return what `run(*args)` returns in a forked process; JSON."""
    read, write = os.pipe()
    process = start_process(_answer, (write, run, args), name="collecting", start_method="fork")
    os.close(write)
    with os.fdopen(read) as answer:
        assert select.select([answer], [], [], RUN_S)[0]
        text = answer.readline()  # not to its end: the collector's workers have it, too
    assert process.join(Deadline.after(RUN_S))
    process.release()
    return json.loads(text)


def _answer(write, run, args) -> None:
    # Its collectors have children, and it is killed with the test as any daemon.
    process: Any = multiprocessing.current_process()
    process._config["daemon"] = False
    warnings.simplefilter("ignore")
    with os.fdopen(write, "w") as answer:
        answer.write(json.dumps(run(*args)) + "\n")


class Ones(EnvBase):
    """Observes a one for ever, and says whose it is."""

    def __init__(self, worker=WORKERS[0]) -> None:
        super().__init__(device="cpu", batch_size=[])
        self._worker = torch.full((1,), float(worker))
        self._slower_s = SLOWER_S * WORKERS.index(worker)
        self.observation_spec = Composite(observation=Unbounded((1,)), worker=Unbounded((1,)))
        self.action_spec = Unbounded((1,))
        self.reward_spec = Unbounded((1,))

    def _reset(self, _tensordict=None, **_) -> Any:
        return TensorDict(self._observed(), [])

    def _step(self, _tensordict) -> Any:
        threading.Event().wait(self._slower_s)
        outcome = {"reward": torch.zeros(1), "done": torch.zeros(1, dtype=torch.bool)}
        return TensorDict({**self._observed(), **outcome}, [])

    def _observed(self) -> Any:
        return {"observation": torch.ones(1), "worker": self._worker.clone()}

    def _set_seed(self, seed) -> None:
        """It draws nothing."""


def make_policy(value=1.0) -> Any:
    policy = TensorDictModule(nn.Linear(1, 1), in_keys=["observation"], out_keys=["action"])
    fill(policy, value)
    return policy


def fill(policy, value) -> None:
    with torch.no_grad():
        policy.module.weight.zero_()
        policy.module.bias.fill_(value)


def weights(value) -> Any:
    module = {"weight": torch.zeros(1, 1), "bias": torch.full((1,), value)}
    return TensorDict({"module": module}, [])


class Collected:
    """A collector of either kind, and what its workers act with."""

    def __init__(self, kind, start_method, **options) -> None:
        from torchrl import collectors

        multiprocessing.set_start_method(start_method, force=True)
        self.collector = getattr(collectors, kind)(
            [functools.partial(Ones, worker) for worker in WORKERS],
            frames_per_batch=FRAMES,
            total_frames=-1,
            track_policy_version=True,
            **options,
        )
        self.batches = iter(self.collector)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error) -> None:
        self.collector.shutdown()

    def fresh(self) -> Iterator[Any]:
        """Batches of which every frame is collected from now on: a worker has one under way at most."""
        delivered: set[float] = set()
        for batch in self.batches:
            workers = set(batch["worker"].flatten().tolist())
            if workers <= delivered:
                yield batch
            delivered |= workers

    def seen(self, key="action") -> Any:
        return sorted(set(next(self.fresh())[key].flatten().tolist()))

    def refused(self, *args, **kwargs) -> str:
        """What an update says that is to fail."""
        with suppress(TimeoutError):
            try:
                self.collector.update_policy_weights_(*args, **kwargs)
            except RuntimeError as error:
                return f"{type(error).__name__}: {error}"
        return "not refused"


def what_is_sent(kind, scheme, start_method) -> Any:
    policy = make_policy(1.0)
    with Collected(
        kind, start_method, policy=policy, weight_sync_schemes={"policy": scheme()}
    ) as collected:
        found = [collected.seen()]
        fill(policy, 2.0)
        found.append(collected.seen())
        collected.collector.update_policy_weights_()
        found.append(collected.seen())
        collected.collector.update_policy_weights_(weights(3.0))
        found += [collected.seen(), collected.seen("policy_version")]
        return found


def what_does_not_fit(kind, scheme) -> Any:
    with Collected(
        kind, "fork", policy=make_policy(1.0), weight_sync_schemes={"policy": scheme()}
    ) as collected:
        wrong = weights(2.0)
        wrong["module", "weight"] = torch.zeros(2, 2)
        found = [collected.refused(wrong), collected.seen()]
        collected.collector.update_policy_weights_(weights(3.0))
        found.append(collected.seen())
        return found


def what_one_worker_is_sent(kind, scheme) -> Any:
    with Collected(
        kind, "fork", policy=make_policy(1.0), weight_sync_schemes={"policy": scheme()}
    ) as collected:
        collected.collector.update_policy_weights_(weights(2.0), worker_ids=[1])
        found: dict[float, float] = {}
        for batch in collected.fresh():
            whose, acted = (batch[key].flatten().tolist() for key in ("worker", "action"))
            found |= zip(whose, acted, strict=True)
            if len(found) == len(WORKERS):
                break
        return sorted(found.items())


def what_a_factorys_policy_is_sent(kind, scheme) -> Any:
    with Collected(
        kind,
        "fork",
        policy=make_policy(5.0),
        policy_factory=make_policy,
        weight_sync_schemes={"policy": scheme()},
    ) as collected:
        return collected.seen()


def what_factories_alone_give(kind, scheme) -> Any:
    with Collected(
        kind, "fork", policy_factory=make_policy, weight_sync_schemes={"policy": scheme()}
    ) as collected:
        found = [collected.seen()]
        collected.collector.update_policy_weights_(weights(4.0))
        return [*found, collected.seen()]


def what_a_factory_raises(kind, scheme) -> Any:
    try:
        Collected(
            kind,
            "fork",
            policy=make_policy(),
            policy_factory=_not_in_a_worker,
            weight_sync_schemes={"policy": scheme()},
        )
    except RuntimeError as error:
        return str(error)
    return "not refused"


def _not_in_a_worker() -> Any:
    raise RuntimeError("not in a worker")


def what_a_killed_worker_is(kind, scheme) -> Any:
    with Collected(
        kind, "fork", policy=make_policy(1.0), weight_sync_schemes={"policy": scheme()}
    ) as collected:
        collected.seen()
        process = collected.collector.procs[0]
        process.kill()
        process.join()
        return collected.refused(weights(2.0))


class Judging(nn.Module):
    """Estimates advantages, and shows what the value network holds in the place of the observation."""

    def __init__(self, value) -> None:
        super().__init__()
        net = nn.Linear(1, 1)
        with torch.no_grad():
            net.weight.zero_()
            net.bias.fill_(value)
        network = ValueOperator(net, in_keys=["observation"])
        self.adv_module = GAE(gamma=0.99, lmbda=0.95, value_network=network)

    def forward(self, batch) -> Any:
        judged = self.adv_module(batch.clone())
        return batch.set("observation", judged["state_value"].detach().clone())


def what_a_postproc_is_sent(kind, scheme) -> Any:
    storage = ReplayBuffer(storage=LazyMemmapStorage(1_000), batch_size=FRAMES, shared=True)
    with Collected(
        kind,
        "fork",
        policy=make_policy(1.0),
        postproc=Judging(10.0),
        replay_buffer=storage,
        weight_sync_schemes={"policy": scheme(), VALUE: scheme()},
    ) as collected:
        update = collected.collector.update_policy_weights_
        found = [_newest(collected, storage)]
        update(weights(20.0), model_id=VALUE)
        found.append(_newest(collected, storage))
        update(weights(2.0))
        found.append(_newest(collected, storage))
        return found


def _newest(collected, storage) -> Any:
    """Action and value of the rows that a worker collected from now on.

    Its first batch since may have been under way, and of its last not all may be written.
    """
    begun = len(storage)
    while True:
        next(collected.batches)
        rows = storage[begun : len(storage)]
        for worker in WORKERS:
            its = rows[rows["worker"].flatten() == worker][FRAMES:-FRAMES]
            if len(its):
                return [
                    sorted(set(its[key].flatten().tolist())) for key in ("action", "observation")
                ]
