"""A trainer, and receivers of its scheme in threads of this process."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict

from tests.unit.reference_impl.weights.policies import TwoReads, weights


def td(value=0.0) -> Any:
    return TensorDict(dict(weights(value)), [])


class Trainer:
    """What a collector is to a scheme."""

    def __init__(self, num_workers=1) -> None:
        self.policy = TwoReads(1.0)
        self.postproc = Post()
        self.policy_device = [torch.device("cpu")] * num_workers
        self.worker_idx = 0
        self.counted = 0

    def increment_version(self) -> None:
        self.counted += 1


class Post:
    """Has a model."""

    def __init__(self) -> None:
        self.adv_module = TwoReads(5.0)
        self.nets = [TwoReads(6.0)]


class Receivers:
    """Sides of a scheme in threads of this process."""

    def __init__(self, scheme, num_workers=1, **options) -> None:
        self.models = [TwoReads(-1.0) for _ in range(num_workers)]
        self.sides = []
        for worker, model in enumerate(self.models):
            side = scheme.for_worker(worker, kind="thread")
            side.init_on_receiver(model=model, worker_idx=worker, **options)
            side.listen()
            self.sides.append(side)

    def values(self) -> Any:
        return [model(None)[0] for model in self.models]

    def stop(self) -> None:
        for side in self.sides:
            side.shutdown()
