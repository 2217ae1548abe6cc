"""What each env last showed: what a reset of some of the envs returns for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from reference_impl.pool.lines import IN_SLOT
from reference_impl.pool.values import Values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tensordict import TensorDictBase
    from tensordict.utils import NestedKey

    from reference_impl.pool.slot_line import SlotLine


class Roots:
    """The last root entries (observation, done and what else a reset returns) by env."""

    def __init__(self) -> None:
        self._seen: dict[int, Values | Callable[[int], Values | None]] = {}

    def saw(self, env: int, values: Values) -> None:
        """Remember what `env` returned; the values must not change any more."""
        self._seen[env] = values

    def saw_later(self, envs: Iterable[int], read: Callable[[int], Values | None]) -> None:
        """Remember that `read(env)` tells what an env returned; None: it cannot be told now."""
        self._seen.update(dict.fromkeys(envs, read))

    def overheard(self, line: SlotLine | None, env: int, result: Any) -> None:
        """Remember what an env answered although its caller had given up on it."""
        if line is not None and result is IN_SLOT:
            self.saw_later((env,), line.last_root)
        elif isinstance(result, tuple):  # a step, and the root of the next one if that was reset
            self.saw(env, result[0] if result[1] is None else result[1])
        elif isinstance(result, Values):
            self.saw(env, result)

    def last(self, env: int) -> Values | None:
        """Return the last root of an env, if there is any."""
        seen = self._seen.get(env)
        return seen(env) if callable(seen) else seen


def like(template: Values, first: Values | None, second: Values | None = None) -> Values:
    """Return the keys of `template` with the entries of `first`, else of `second`, else zeros."""
    entries: dict[str, Any] = {}
    for key, leaf in template.entries.items():
        mine = None if first is None else first.entries.get(key)
        callers = None if second is None else second.entries.get(key)
        if isinstance(leaf, Values):
            entries[key] = like(leaf, _nested(mine), _nested(callers))
        elif mine is not None:
            entries[key] = mine
        elif callers is not None:
            entries[key] = callers
        else:
            entries[key] = torch.zeros_like(leaf) if isinstance(leaf, torch.Tensor) else leaf
    return Values(entries=entries, batch_size=template.batch_size)


def _nested(leaf: Any) -> Values | None:
    return leaf if isinstance(leaf, Values) else None


def masked(td: TensorDictBase | None, mask_keys: Sequence[NestedKey], count: int) -> list[bool]:
    """Return for each row of `td` whether a mask names it; all, if there is no mask."""
    masks = [] if td is None else _effective(td, mask_keys)
    if not masks:
        return [True] * count
    return [any(bool(mask[i].any()) for mask in masks) for i in range(count)]


def is_partial(td: TensorDictBase, mask_keys: Sequence[NestedKey]) -> bool:
    """Return whether `td` holds a mask that spares something."""
    return not all(bool(mask.all()) for mask in _effective(td, mask_keys))


def _effective(td: TensorDictBase, mask_keys: Sequence[NestedKey]) -> list[torch.Tensor]:
    """Return the masks in `td`, without those below another: like `done`, the upper one decides."""
    found: dict[tuple[str, ...], torch.Tensor] = {}
    for key in mask_keys:  # from the root downwards
        place = () if isinstance(key, str) else key[:-1]
        mask = td.get(key, None)
        if mask is not None and not any(place[: len(upper)] == upper for upper in found):
            found[place] = mask
    return list(found.values())
