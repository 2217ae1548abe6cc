"""Where each entry of each env lies in the shared memory of a pool: computed from specs, pure.

There is a header an env, and three regions: what an env is given, what it shows after a step
(`following`), and the root of its next step. Entries lie by column: those of one key of all envs
follow one another, so that a batch is one copy a key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch
from torchrl.data import Composite, NonTensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tensordict.utils import NestedKey

_LINE: Final = 64  # bytes of a cache line: no two envs' headers share one, and columns start on one
WORDS: Final = _LINE // 8
LEAVES_MAX: Final = 62  # the entries that are present are the bits of one signed word
PARTS: Final = {
    "input_spec": ("full_action_spec", "full_state_spec"),
    "output_spec": ("full_observation_spec", "full_reward_spec", "full_done_spec"),
}
"""What the specs of an env consist of."""


class NotStatic(ValueError):  # noqa: N818 - a property of the specs, not a mistake
    """The specs do not say what comes: shared slots cannot hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One entry.

    Attributes:
        bit: its number in its region.
        shape: of one env's entry.
        dtype: of its elements.
        offset: of the column, in bytes.
    """

    bit: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    offset: int

    @property
    def nbytes(self) -> int:
        """The bytes of one env's entry."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A TensorDict of entries.

    Attributes:
        batch_size: of one env's.
        entries: fields and nested nodes, by key.
    """

    batch_size: tuple[int, ...]
    entries: Mapping[str, Field | Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The whole of it.

    Attributes:
        num_envs: how many envs.
        size: of all, in bytes; the headers come first.
        given: action, state, and one boolean entry for each reset key.
        following: observation, reward and done.
        root: observation, done and state.
        masks: the reset keys.
        dropped: what no root of a next step holds: the reset keys, and rewards that are no state.
    """

    num_envs: int
    size: int
    given: Node
    following: Node
    root: Node
    masks: frozenset[tuple[str, ...]]
    dropped: frozenset[tuple[str, ...]]


Tree: TypeAlias = dict[str, Any]  # nested: (shape, dtype) at the leaves
Sizes: TypeAlias = dict[tuple[str, ...], tuple[int, ...]]


def layout_of(specs: Sequence[Any], reset_keys: Iterable[NestedKey]) -> Layout:
    """Return the layout for envs with these `EnvBase.specs`, which must be equal.

    Raises:
        NotStatic: they differ, or hold something other than CPU tensors of known shapes.
    """
    parts = [_parts(one) for one in specs]
    for env, part in enumerate(parts):
        if part != parts[0]:
            raise NotStatic(f"the specs of env {env} differ from those of env 0")
    trees, sizes = parts[0]
    action, state, observation, reward, done = trees.values()
    masks = _masks(reset_keys, done)
    builder = _Builder(len(specs), sizes)
    given = builder.region(action, state, masks)
    following = builder.region(observation, reward, done)
    root = builder.region(observation, done, state)
    return Layout(
        num_envs=len(specs),
        size=builder.end,
        given=given,
        following=following,
        root=root,
        masks=frozenset(_leaves(masks)),
        dropped=frozenset(_leaves(reward)) - frozenset(_leaves(state)) | frozenset(_leaves(masks)),
    )


def is_plain(layout: Layout) -> bool:
    """Return whether envs of this layout have no batch of their own, and no nested entries."""
    regions = (layout.given, layout.following, layout.root)
    flat = all(isinstance(entry, Field) for node in regions for entry in node.entries.values())
    return flat and layout.masks == {("_reset",)} and not layout.root.batch_size


def _parts(specs: Any) -> tuple[dict[str, Tree], Sizes]:
    """Return shapes and dtypes by part, in the order of `PARTS`, and the batch sizes of all nodes."""
    sizes: Sizes = {}
    trees = {}
    for side, names in PARTS.items():
        for name in names:
            trees[name] = _tree(specs[side][name], (), sizes)
    return trees, sizes


def _tree(spec: Any, path: tuple[str, ...], sizes: Sizes) -> Tree:
    if type(spec) is not Composite or getattr(spec, "data_cls", None) is not None:
        raise NotStatic(f"{name_of(path)} is a {type(spec).__name__}")
    if sizes.setdefault(path, tuple(spec.shape)) != tuple(spec.shape):
        raise NotStatic(f"{name_of(path)} has several batch sizes")
    tree: Tree = {}
    for key, child in spec.items():
        if child is None:
            continue
        if isinstance(child, Composite):
            tree[key] = _tree(child, (*path, key), sizes)
        else:
            tree[key] = _leaf(child, (*path, key))
    return tree


def _leaf(spec: Any, path: tuple[str, ...]) -> tuple[tuple[int, ...], torch.dtype]:
    if isinstance(spec, NonTensor) or spec.dtype is None:
        raise NotStatic(f"{name_of(path)} is a {type(spec).__name__}")
    if spec.device is not None and spec.device.type != "cpu":
        raise NotStatic(f"{name_of(path)} is on {spec.device}")
    try:
        shape = tuple(spec.shape)  # a stack of differing specs has none
    except RuntimeError as error:
        raise NotStatic(f"{name_of(path)} has no single shape") from error
    if any(size < 0 for size in shape):
        raise NotStatic(f"{name_of(path)} has the variable shape {shape}")
    return shape, spec.dtype


def name_of(path: tuple[str, ...]) -> str:
    """Return an entry's key as users write it."""
    return repr(path[0] if len(path) == 1 else path) if path else "the root"


def _masks(reset_keys: Iterable[NestedKey], done: Tree) -> Tree:
    """Return one boolean entry for each reset key, of the shape of the done entry beside it."""
    masks: Tree = {}
    for key in reset_keys:
        path = (key,) if isinstance(key, str) else tuple(key)
        beside, into = done, masks
        for part in path[:-1]:
            beside, into = beside[part], into.setdefault(part, {})
        shape = next(leaf[0] for leaf in beside.values() if isinstance(leaf, tuple))
        into[path[-1]] = (shape, torch.bool)
    return masks


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = []
    for key, child in tree.items():
        below = (*path, key)
        found += _leaves(child, below) if isinstance(child, dict) else [below]
    return found


class _Builder:
    """Lays one column after the other."""

    def __init__(self, num_envs: int, sizes: Sizes) -> None:
        self._num_envs = num_envs
        self._sizes = sizes
        self.end = num_envs * _LINE

    def region(self, *trees: Tree) -> Node:
        merged: Tree = {}
        for tree in trees:
            _merge(merged, tree)
        if len(_leaves(merged)) > LEAVES_MAX:
            raise NotStatic(f"there are more than {LEAVES_MAX} entries")
        self._bit = 0
        return self._node(merged, ())

    def _node(self, tree: Tree, path: tuple[str, ...]) -> Node:
        entries: dict[str, Field | Node] = {}
        for key, child in tree.items():
            if isinstance(child, dict):
                entries[key] = self._node(child, (*path, key))
                continue
            shape, dtype = child
            field = Field(bit=self._bit, shape=shape, dtype=dtype, offset=self.end)
            self._bit += 1
            self.end += -(-field.nbytes * self._num_envs // _LINE) * _LINE
            entries[key] = field
        return Node(batch_size=self._sizes[path], entries=entries)


def _merge(into: Tree, tree: Tree) -> None:
    for key, child in tree.items():
        if isinstance(child, dict):
            _merge(into.setdefault(key, {}), child)
        else:
            into[key] = child
