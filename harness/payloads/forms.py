"""The forms that a probe's observation takes: encodings of one record, read back with every element checked.

A record is what `harness.model.probe.encode` makes. A form is a leaf, or a mapping of forms by key; what
is written is an array, or a mapping of arrays, of that structure. Each leaf holds the whole record, so that
leaves of two envs, or of two steps, do not go together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Union

import numpy as np
import numpy.typing as npt

from harness.model import probe
from harness.ports.pool import Payload

Array = npt.NDArray[Any]
Tree = Union[Array, Mapping[str, "Tree"]]  # noqa: UP007 - it names itself, which a bare `|` cannot do here
Form = Union["Leaf", Mapping[str, "Form"]]

_CHECK_MODULUS = 251  # the largest prime below 2**8: with what is above it fills 63 bits


class Leaf(Protocol):
    """One array of a form."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""

    @property
    def dtype(self) -> str:
        """Of the array, by numpy's name."""

    def write(self, record: Sequence[int]) -> Array:
        """A new array that holds the record."""

    def read(self, array: Array) -> list[float]:
        """The record back; of the right shape and type already.

        Raises:
            ValueError: an element is not what the others demand.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """The record as float32, as it is, and more entries after it.

    Attributes:
        padding: how often the stamp is repeated at the end.
        specials: what comes after that: NaN and infinities have to arrive as they are.
    """

    padding: int = 0
    specials: tuple[float, ...] = ()
    dtype: str = "float32"

    @property
    def shape(self) -> tuple[int, ...]:
        """One dimension."""
        return (probe.WIDTH + self.padding + len(self.specials),)

    def write(self, record: Sequence[int]) -> Array:
        """Record, stamps, specials.

        Raises:
            ValueError: there were so many episodes that float32 does not tell one from the next.
        """
        if record[0] > probe.EXACT_MAX:
            raise ValueError(
                f"a record holds a stamp of at most {probe.EXACT_MAX}, got {record[0]}"
            )
        return np.array([*record, *[record[0]] * self.padding, *self.specials], dtype=np.float32)

    def read(self, array: Array) -> list[float]:
        """The first entries, whole numbers: whether they are a record is for whoever decodes them."""
        record: list[float] = array[: probe.WIDTH].tolist()
        _agree(array[: probe.WIDTH], np.rint(array[: probe.WIDTH]), "entry", 0)
        after = [record[0]] * self.padding + list(self.specials)
        _agree(array[probe.WIDTH :], np.array(after, dtype=np.float32), "entry", probe.WIDTH)
        return record


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """The record packed into one int64 without a dimension: no bit of it may be lost."""

    shape: tuple[int, ...] = ()
    dtype: str = "int64"

    def write(self, record: Sequence[int]) -> Array:
        """Each field in its bits, with a check above them.

        Whoever tries an env out may give it any action: a negative one, which is nobody's request, is shown as the
        largest there is.

        Raises:
            ValueError: a field does not fit into its bits.
        """
        fields = dict(zip(probe.FIELDS, record, strict=True))
        if fields["action"] < probe.NO_ACTION:
            fields["action"] = probe.packed_max("action")
        total, low = 0, 0
        for name, bits, offset in probe.PACKED:
            value = fields[name] + offset
            if value >> bits:
                most = probe.packed_max(name)
                raise ValueError(f"a packed record holds {name} up to {most}, got {fields[name]}")
            total |= value << low
            low += bits
        return np.array(total | (total % _CHECK_MODULUS) << low, dtype=np.int64)

    def read(self, array: Array) -> list[float]:
        """Unpack it."""
        whole, fields = int(array), {}
        low = sum(bits for _, bits, _ in probe.PACKED)
        total = whole & ((1 << low) - 1)
        if whole < 0 or whole >> low != total % _CHECK_MODULUS:
            raise ValueError(f"{whole} is no packed record: its check does not fit")
        for name, bits, offset in probe.PACKED:
            fields[name] = (total & ((1 << bits) - 1)) - offset
            total >>= bits
        return [float(entry) for entry in probe.encode(**fields)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The record as bytes, again and again: every byte can be told, at both ends and between them."""

    shape: tuple[int, ...]
    dtype: str = "uint8"

    def write(self, record: Sequence[int]) -> Array:
        """Fill it with the record as int64s."""
        block = np.frombuffer(np.array(record, dtype="<i8").tobytes(), dtype=np.uint8)
        return np.resize(block, self.shape)

    def read(self, array: Array) -> list[float]:
        """What its first bytes say, if all the others say the same."""
        block = np.ascontiguousarray(array).reshape(-1)[: 8 * probe.WIDTH]
        record = np.frombuffer(block.tobytes(), dtype="<i8").tolist()
        _agree(array.reshape(-1), self.write(record).reshape(-1), "byte", 0)
        return [float(entry) for entry in record]


_PLAIN = Vector()
_NESTED: Form = {
    "state": _PLAIN,
    "inner": {"number": Scalar(), "picture": Image(shape=(6, 8, 4))},
}
# How many envs of the pool live in one child: side by side in its batch, or as groups with keys of their own.
LANES: Mapping[Payload, int] = {"batched": 3, "grouped": 2}


def form_of(payload: Payload, env_index: int) -> Form:
    """How an env of this payload shows its record."""
    match payload:
        case "scalar":
            return Scalar()
        case "image":
            return Image(shape=(84, 84, 4))
        case "huge":
            return Image(shape=(512, 512, 8))
        case "nested":
            return _NESTED
        case "special":
            return Vector(specials=(float("nan"), float("inf"), float("-inf")))
        case "differing":
            return Vector(padding=env_index)
        case "plain" | "batched" | "grouped" | "reused" | "reward_array":
            return _PLAIN


def write(form: Form, record: Sequence[int]) -> Tree:
    """New arrays that hold the record."""
    if isinstance(form, Mapping):
        return {key: write(each, record) for key, each in form.items()}
    return form.write(record)


def read(form: Form, tree: Any) -> list[float]:
    """The record's entries, every element of every leaf checked.

    Args:
        form: what was written.
        tree: what came back; whatever numpy reads, where there should be an array.

    Raises:
        ValueError: keys, shapes, types or elements are others, or leaves disagree; says which.
    """
    found = {"/".join(path): _read_leaf(path, leaf, tree) for path, leaf in leaves(form)}
    extra = {"/".join(path) for path, _ in leaves(tree)} - set(found)
    if extra:
        raise ValueError(f"there is no {', '.join(sorted(extra))} in an observation")
    (first, record), *others = found.items()
    for name, other in others:
        if other != record:
            raise ValueError(f"{first} shows {record}, and {name} shows {other}")
    return record


def leaves(tree: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """The leaves of a form or of what was written, with their keys."""
    if not isinstance(tree, Mapping):
        return [(path, tree)]
    return [found for key, each in tree.items() for found in leaves(each, (*path, key))]


def _read_leaf(path: tuple[str, ...], leaf: Leaf, tree: Any) -> list[float]:
    for key in path:
        if not isinstance(tree, Mapping) or key not in tree:
            raise ValueError(f"{'/'.join(path)} is missing")
        tree = tree[key]
    array, name = np.asarray(tree), "/".join(path) or "an observation"
    if array.dtype != np.dtype(leaf.dtype) or array.shape != leaf.shape:
        wanted, got = f"{leaf.dtype} {list(leaf.shape)}", f"{array.dtype} {list(array.shape)}"
        raise ValueError(f"{name} is {wanted}, got {got}")
    try:
        return leaf.read(array)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _agree(found: Array, expected: Array, what: str, first: int) -> None:
    """Every element is the one expected, NaN included."""
    same = (found == expected) | ((found != found) & (expected != expected))
    if not same.all():
        k = int(np.argmin(same))
        wrong = f"{what} {first + k} is {found[k]}, not {expected[k]}"
        raise ValueError(f"{wrong}; {int((~same).sum())} of {same.size} do not fit")
