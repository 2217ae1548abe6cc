"""What wrong variants of the reference's pool are made with.

They fork only, so that rows which spawn are not run: a spawned worker would repeat in ten seconds what
a forked one shows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import torch
from tensordict import TensorDictBase

from harness.adapters.reference import HOOKS, POOL_CAPABILITIES, pool_port_of
from harness.ports.backend import Backend
from harness.ports.pool import Word
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.workers import Worker


def planted(name: str, make_pool: Callable[..., AsyncEnvPool], **only: frozenset[Word]) -> Backend:
    """The reference, whose pools are made by `make_pool`.

    Args:
        name: of the bug.
        make_pool: takes the arguments of `AsyncEnvPool`.
        only: the values that keys of the setup may have, if they are not all that the reference has.
    """
    setup = {**POOL_CAPABILITIES.setup, "start_method": frozenset({"fork"}), **only}
    port = pool_port_of(make_pool, replace(POOL_CAPABILITIES, setup=setup))
    return Backend(
        name=name, version=lambda: "planted", packages=("torchrl",), hooks=HOOKS, pool=port
    )


def replacing(where: ModuleType, name: str, wrong: object) -> type[AsyncEnvPool]:
    """A pool for which a module has something else under a name: in the process of this cell, and in its workers."""

    class Pool(AsyncEnvPool):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            setattr(where, name, wrong)
            super().__init__(*args, **kwargs)

    return Pool


def talking(conversation: Callable[[Sequence[Worker]], Conversation]) -> type[AsyncEnvPool]:
    """A pool that has another conversation with its workers, by value."""

    class Pool(AsyncEnvPool):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._talk = conversation(self._workers.members)

    return Pool


def employing(kind: type[Worker]) -> type[AsyncEnvPool]:
    """A pool whose workers, once they are started, are of another kind."""

    class Pool(AsyncEnvPool):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            members = self._workers.members
            members[:] = [kind(each.runner, each.end, each.envs) for each in members]

    return Pool


def mask_of(tensordict: TensorDictBase | None) -> torch.Tensor | None:
    """The mask at the root of what a reset is given."""
    return None if tensordict is None else tensordict.get("_reset", None)
