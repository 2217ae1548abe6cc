"""Gymnasium envs stepped straight into a slot: numpy in, numpy out, no tensordict between.

What lands in the slot equals what `torchrl.envs.GymWrapper` shows of the same env: `following` is
the final observation where an episode ends, and the root is then that of a new episode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from torchrl.envs import GymWrapper

from reference_impl.pool.gym_envs import GymnasiumEnv
from reference_impl.pool.layout import Field
from reference_impl.pool.messages import CODES, Operation
from reference_impl.pool.slots import ANSWERED, FOLLOWING, OPERATION, REQUEST, ROOT

if TYPE_CHECKING:
    from torchrl.envs import EnvBase

    from reference_impl.pool.layout import Node
    from reference_impl.pool.slots import Shelf, Slots

_SHOWN: Final = frozenset({"observation", "pixels"})
_DONE: Final = frozenset({"done", "terminated", "truncated"})
_AND_RESET: Final = CODES[Operation.STEP_THEN_RESET]
_STEPS: Final = frozenset({_AND_RESET, CODES[Operation.STEP], CODES[Operation.PRIVATE_STEP]})


def gym_steps(env: EnvBase, slots: Slots, index: int) -> GymSteps | None:
    """Return the short way for `env`; None if there is none: its wrapper steps it.

    There is one for a `GymWrapper` as it comes, around an env whose observation is one array and
    whose action is one array or number.
    """
    plain = isinstance(env, GymWrapper) and type(env) in (GymWrapper, GymnasiumEnv)
    if not plain or env.wrapper_frame_skip != 1 or env.info_dict_reader:
        return None
    layout = slots.layout
    shown = _SHOWN & set(layout.root.entries)
    plain = set(layout.following.entries) == {*shown, *_DONE, "reward"} and len(shown) == 1
    if not plain or set(layout.given.entries) != {"action", "_reset"}:
        return None
    inner: Any = env._env  # noqa: SLF001 - what it wraps, with the checks that it adds left out
    discrete = hasattr(inner.action_space, "n")
    if discrete and inner.action_space.start != 0:
        return None
    if not discrete and inner.action_space.shape != _field(layout.given, "action").shape:
        return None
    return GymSteps(inner, slots, index, discrete=discrete)


class GymSteps:
    """Steps one gymnasium env."""

    def __init__(self, env: Any, slots: Slots, index: int, *, discrete: bool) -> None:
        self._env = env
        self._head = slots.head(index)
        (self._key,) = _SHOWN & set(slots.layout.root.entries)
        self._action = _cell(slots.given, index, "action")
        self._one_hot = discrete and self._action.ndim > 0
        self._discrete = discrete
        following, root = slots.following, slots.root
        self._shown = _cell(following, index, self._key)
        self._reward = _cell(following, index, "reward")
        self._following_done = [_cell(following, index, key) for key in _FLAGS]
        self._root_shown = _cell(root, index, self._key)
        self._root_done = [_cell(root, index, key) for key in _FLAGS]
        self._bits = following.full, root.full
        self._flags: tuple[object, ...] | None = None  # those in the slot, if they are known

    def stepped(self) -> bool:
        """Carry out the step in the slot and write its answer; False: it is none of those here."""
        head = self._head
        code = head[OPERATION]
        if code not in _STEPS:
            self._flags = None
            return False
        observation, reward, terminated, truncated, _ = self._env.step(self._taken())
        self._shown[...] = observation
        self._reward[...] = reward
        over = bool(terminated) or bool(truncated)
        flags = (over, terminated, truncated)
        if flags != self._flags:  # nearly always what is there already
            self._flags = flags
            for cell, flag in zip(self._following_done, flags, strict=True):
                cell[...] = flag
        bits, root_bits = self._bits
        if not over or code != _AND_RESET:
            root_bits = 0
        else:
            observation, _ = self._env.reset()
            self._root_shown[...] = observation
            for cell in self._root_done:
                cell[...] = False
        head[FOLLOWING] = bits
        head[ROOT] = root_bits
        head[ANSWERED] = head[REQUEST]  # last, as in `Slots.answer`
        return True

    def _taken(self) -> Any:
        # A copy: an env may keep its action, and the slot is written again.
        if self._one_hot:
            return int(self._action.argmax())
        return int(self._action) if self._discrete else self._action.copy()


_FLAGS: Final = ("done", "terminated", "truncated")


def _field(node: Node, key: str) -> Field:
    entry = node.entries[key]
    assert isinstance(entry, Field)
    return entry


def _cell(shelf: Shelf, index: int, key: str) -> np.ndarray[Any, Any]:
    cell: np.ndarray[Any, Any] = shelf.cells[index][_field(shelf.node, key).bit].numpy()
    return cell
