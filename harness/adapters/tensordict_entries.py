"""Calls every entry point of a pool of torchrl's vocabulary by name, and describes what it took and gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

import numpy as np
import torch
from tensordict import LazyStackedTensorDict, NonTensorStack, TensorDictBase, lazy_stack

from harness.adapters.tensordict_described import (
    below,
    described,
    described_spec,
    overwrite,
    resized,
)
from harness.ports.entries import Described, Entered, Entry
from harness.ports.pool import Bools, Floats, PoolSetup

ROLLOUT_STEPS = 8
MARK = "env_index"
_SPECS = ("observation", "reward", "done", "action", "state")
_TRAJECTORY = ("collector", "traj_ids")

Rollout = Callable[[int], Any]


class Entries:
    """Goes from one entry point to the next, on a pool, bare or inside its host.

    Args:
        env: the outermost env.
        pool: the bare pool.
        setup: of the row.
    """

    def __init__(self, env: Any, pool: Any, setup: PoolSetup) -> None:
        self._env = env
        self._pool = pool
        self._setup = setup
        self._root: Any = None
        self._reward: Any = torch.zeros(setup.num_envs, 1)

    def enter(
        self, entry: Entry, actions: Floats, mask: Bools, rollout: Rollout, *, overwrite_it: bool
    ) -> Entered:
        """Make the call, then take its result for where the next one goes on.

        `rollout` makes one of so many steps of each env, through the host: it is given with each call,
        because whoever kept it would lie in a cycle with the pool.
        """
        asked = np.flatnonzero(mask).tolist()
        if entry == "specs":
            specs = self._specs()
            return Entered(returned=specs, promised=specs)
        given = self._given(entry, actions, mask, asked)
        before = None if given is None else described(given)
        is_rollout = entry == "rollout"
        returned = rollout(ROLLOUT_STEPS) if is_rollout else self._call(entry, given, asked)
        after = None if given is None else described(given)
        told = self._described(entry, returned)
        promised = self._promised(entry, len(asked))
        self._go_on(entry, returned, asked)
        if overwrite_it:
            overwrite(returned if isinstance(returned, tuple) else (returned,))
        return Entered(returned=told, promised=promised, given=before, given_after=after)

    # What goes in.

    def _given(self, entry: Entry, actions: Floats, mask: Bools, asked: list[int]) -> Any:
        """The caller's data, made anew for each call; None if a call is given nothing."""
        whole = len(asked) == self._setup.num_envs
        resets = entry.endswith("reset") and not entry.endswith("maybe_reset")
        if entry == "rollout" or (resets and self._root is None):
            return None
        if self._root is None:
            raise RuntimeError("the pool has to be reset first")
        given = self._with_extras(self._root.clone())
        if resets:
            if entry.startswith("async"):
                return self._rows(given, asked)
            if whole and self._setup.extras == "none":
                return None
            return given if whole else given.set("_reset", torch.from_numpy(mask).unsqueeze(-1))
        if entry == "rand_action":
            return given
        taken = torch.from_numpy(np.asarray(actions, dtype=np.float32).reshape(-1, 1).copy())
        given.set("action", taken)
        return self._rows(given, asked) if entry.startswith("async") else given

    def _rows(self, given: Any, asked: list[int]) -> Any:
        """These rows, marked with whose they are."""
        rows = given.exclude(MARK)[torch.tensor(asked)]
        return rows.set(MARK, NonTensorStack(*asked))

    def _with_extras(self, given: Any) -> Any:
        count = self._setup.num_envs
        match self._setup.extras:
            case "tensors":
                given.set(_TRAJECTORY, torch.arange(count) + 7)
                given.set("visits", torch.arange(count).unsqueeze(-1) + 3)
            case "objects":
                given.set("note", NonTensorStack(*(f"of env {env}" for env in range(count))))
            case "reward":
                given.set("reward", self._reward.clone())
            case "none":
                pass
        return given

    # The calls.

    def _call(self, entry: Entry, given: Any, asked: list[int]) -> Any:
        match entry:
            case "async_reset" | "async_step" | "async_step_and_maybe_reset":
                return self._async(entry, given, asked)
            case "reset":
                return self._env.reset(given)
            case "step":
                return self._env.step(given)
            case "step_and_maybe_reset":
                return self._env.step_and_maybe_reset(given)
            case "private_reset":
                rows = self._env._reset(given)  # noqa: SLF001 - what transforms and collectors call
                return (
                    rows if given is None else rows[torch.tensor(asked)]
                )  # the others mean nothing
            case "private_step":
                return self._env._step(given)  # noqa: SLF001 - what transforms and collectors call
            case "rand_action":
                return self._env.rand_action(given)
            case "specs" | "rollout":
                raise AssertionError(f"{entry} is no call of the pool with the caller's data")
        assert_never(entry)

    def _async(self, entry: Entry, given: Any, asked: list[int]) -> Any:
        getattr(self._pool, f"{entry}_send")(given)
        return getattr(self._pool, f"{entry}_recv")(len(asked))

    # What comes out.

    def _described(self, entry: Entry, returned: Any) -> Described:
        values = entry != "rand_action"
        if isinstance(returned, tuple):
            stepped, root = returned
            return {**described(stepped, prefix="stepped/"), **described(root, prefix="root/")}
        return described(returned, values=values)

    def _specs(self) -> Described:
        found: dict[str, Any] = {}
        for name in _SPECS:
            spec = getattr(self._env, f"full_{name}_spec")
            found |= described_spec(spec, f"full_{name}_spec/")
        return found

    def _promised(self, entry: Entry, rows: int) -> Described:
        spec = {name: described_spec(getattr(self._env, f"full_{name}_spec")) for name in _SPECS}
        root = below("", spec["observation"], spec["done"])
        following = below("next/", spec["observation"], spec["done"], spec["reward"])
        match entry.removeprefix("async_"):
            case "reset" | "private_reset":
                whole = self._setup.num_envs
                return resized(root, whole if entry == "reset" else rows)
            case "step":
                return resized(following, rows)
            case "step_and_maybe_reset":
                return resized(below("", below("stepped/", following), below("root/", root)), rows)
            case "private_step":
                return resized(below("", root, spec["reward"]), rows)
            case "rand_action":
                return resized(spec["action"], rows)
            case _:
                return resized(below("", root, spec["action"], following), rows, ROLLOUT_STEPS)

    def _go_on(self, entry: Entry, returned: Any, asked: list[int]) -> None:
        """Keep a copy of the root from which the next call goes on."""
        if entry in ("rollout", "rand_action"):
            return
        stepped, root = returned if isinstance(returned, tuple) else (returned, returned)
        reward = stepped.get("reward" if entry == "private_step" else ("next", "reward"), None)
        if entry.removeprefix("async_") == "step":
            root = self._env.step_mdp(returned)
        root = root.select(*self._root_keys(root), strict=False).clone()
        if len(asked) == root.shape[0] == self._setup.num_envs:
            self._root, self._reward = root, self._reward if reward is None else reward.clone()
        elif root.shape[0] == len(asked):
            self._merge(root, asked)

    def _root_keys(self, root: TensorDictBase) -> list[Any]:
        """Its entries without those that only say how it was come by."""
        left_out = {"action", "reward", "_reset", "next", "note", "visits", _TRAJECTORY[0]}
        return [key for key in root.keys() if key not in left_out]  # noqa: SIM118 - a TensorDict is no dict

    def _merge(self, root: Any, asked: list[int]) -> None:
        rows = [row.exclude(MARK).to("cpu") for row in self._root.unbind(0)]
        for row, env in enumerate(self._order(root, asked)):
            rows[env] = root[row].exclude(MARK).to("cpu")
        # Rows of different keys are the backend's to answer for: they must not fail here.
        dense = LazyStackedTensorDict.maybe_dense_stack
        self._root = lazy_stack(rows) if self._setup.stack == "lazy" else dense(rows)

    @staticmethod
    def _order(root: Any, asked: list[int]) -> list[int]:
        """Whose rows these are: as the pool says, if it is among those that were asked."""
        said = root.get(MARK, None)
        found = asked if said is None else [int(np.ravel(each)[0]) for each in said.tolist()]
        return found if sorted(found) == asked else asked


class SerialEntries(Entries):
    """The same on torchrl's `SerialEnv`; a call that does not wait is each env's own, one after the other."""

    def _async(self, entry: Entry, given: Any, asked: list[int]) -> Any:
        envs = [self._pool._envs[env] for env in asked]  # noqa: SLF001 - it has no public way to its envs
        name = entry.removeprefix("async_")
        if given is None:
            return torch.stack([env.reset() for env in envs])
        pairs = zip(envs, given.exclude(MARK).unbind(0), strict=True)
        results = [getattr(env, name)(row) for env, row in pairs]
        if isinstance(results[0], tuple):
            return tuple(torch.stack(column) for column in zip(*results, strict=True))
        return torch.stack(results)
