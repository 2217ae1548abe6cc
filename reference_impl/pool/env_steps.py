"""`EnvBase` steps straight into a slot: what `_step` returns is copied there, and nothing is packed.

A step that is more than that (it ends an episode, or what the env returns has to be completed,
reshaped, converted or sent by value) is begun here only, and finished with tensordicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from tensordict import TensorDict
from torchrl.data import Composite

from reference_impl.pool.fast_tensordicts import tensordict_of
from reference_impl.pool.layout import Field, is_plain
from reference_impl.pool.messages import CODES, Operation
from reference_impl.pool.slots import ANSWERED, FOLLOWING, GIVEN, NOTHING, OPERATION, REQUEST, ROOT

if TYPE_CHECKING:
    from tensordict import TensorDictBase
    from torchrl.envs import EnvBase

    from reference_impl.pool.layout import Node
    from reference_impl.pool.slots import Shelf, Slots

_AND_RESET: Final = CODES[Operation.STEP_THEN_RESET]
_NO_BATCH: Final = torch.Size([])


def env_steps(env: EnvBase, slots: Slots, index: int) -> EnvSteps | None:
    """Return the short way for `env`; None if there is none: it has a batch or nested entries."""
    return EnvSteps(env, slots, index) if is_plain(slots.layout) else None


class Episodes:
    """Sees at a glance that an episode goes on, where that is possible."""

    def __init__(self, env: EnvBase) -> None:
        done = dict(env.full_done_spec.items())
        flat = not env.batch_size and not any(isinstance(each, Composite) for each in done.values())
        self._shapes = {key: each.shape for key, each in done.items()} if flat else {"": None}

    def going_on(self, following: TensorDictBase) -> dict[str, Any] | None:
        """Return the entries of what a step returned; None: they have to be completed or looked at.

        No entry that says that an episode is over is missing, or has another shape, or is true.
        """
        if type(following) is not TensorDict:
            return None
        entries = dict(following.items())
        for key, shape in self._shapes.items():
            leaf = entries.get(key)
            if type(leaf) is not torch.Tensor or leaf.shape != shape:
                return None
            if leaf.item() if leaf.numel() == 1 else leaf.any():
                return None
        return entries


class EnvSteps:
    """Steps one env.

    Attributes:
        begun: what an env returned from a step that is to be finished with tensordicts.
    """

    def __init__(self, env: EnvBase, slots: Slots, index: int) -> None:
        self._env = env
        self._head = slots.head(index)
        self._given = [(key, 1 << bit, cell) for key, bit, cell in _cells(slots.given, index)]
        self._shown = {
            key: (cell, cell.dtype, cell.shape) for key, _, cell in _cells(slots.following, index)
        }
        self._episodes = Episodes(env)
        self._full = slots.following.full
        self.begun: TensorDictBase | None = None

    def stepped(self) -> bool:
        """Carry out the step in the slot and write its answer; False: it is not done, or not whole.

        Raises:
            Exception: whatever the env raises.
        """
        head = self._head
        bits = head[GIVEN]
        if head[OPERATION] != _AND_RESET or bits == NOTHING:
            return False
        # Copies: an env may keep what it is given, and the slot is written again.
        given = {key: cell.clone() for key, bit, cell in self._given if bits & bit}
        td = tensordict_of(given, _NO_BATCH, self._env.device)
        following = self._env._step(td)  # noqa: SLF001 - what SerialEnv asks of each env
        if not self._put(following):
            self.begun = following
            return False
        head[FOLLOWING] = self._full
        head[ROOT] = 0
        head[ANSWERED] = head[REQUEST]  # last, as in `Slots.answer`
        return True

    def _put(self, following: TensorDictBase) -> bool:
        """Copy it into the slot, if it is whole as it is and no episode ends with it."""
        shown, leaves = self._shown, self._episodes.going_on(following)
        if leaves is None or leaves.keys() != shown.keys():
            return False
        for key, leaf in leaves.items():
            _, dtype, shape = shown[key]
            if (
                type(leaf) is not torch.Tensor
                or leaf.dtype is not dtype
                or leaf.shape != shape
                or leaf.requires_grad
            ):
                return False
        for key, leaf in leaves.items():
            shown[key][0].copy_(leaf)
        return True


def _cells(shelf: Shelf, index: int) -> list[tuple[str, int, torch.Tensor]]:
    cells, node = shelf.cells[index], shelf.node
    return [(key, field.bit, cells[field.bit]) for key, field in _fields(node).items()]


def _fields(node: Node) -> dict[str, Any]:
    return {key: entry for key, entry in node.entries.items() if isinstance(entry, Field)}
