"""A ring of numpy arrays: the least that holds the last rows, of one process."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
import numpy.typing as npt

from harness.ports.backend import Backend
from harness.ports.storage import (
    ROWS,
    Columns,
    Sampled,
    StorageCapabilities,
    StoragePort,
    StorageSetup,
    Stored,
)


class NumpyRing:
    """Arrays, and where the next row goes."""

    def __init__(self, setup: StorageSetup) -> None:
        self._rows = setup.row_count
        self._dims = setup.dims
        self._width = setup.width if setup.dims == 2 else 1
        self._arrays: dict[str, npt.NDArray[np.generic]] = {}
        self._written = 0
        self._random = np.random.default_rng(0)

    def extend(self, columns: Columns) -> None:
        """Append rows; of more than there is room for, the last."""
        if not self._arrays:
            self._arrays = {
                key: np.zeros((self._rows, *value.shape[1:]), value.dtype)
                for key, value in columns.items()
            }
        self._check(columns)
        rows = len(next(iter(columns.values())))
        kept = min(rows, self._rows)
        places = np.arange(self._written + rows - kept, self._written + rows) % self._rows
        for key, value in columns.items():
            self._arrays[key][places] = value[rows - kept :]
        self._written += rows

    def sample(self, size: int) -> Sampled:
        """Draw elements."""
        rows = self._random.integers(0, min(self._written, self._rows), size)
        if self._dims == 1:
            return Sampled(
                slots=[[int(row)] for row in rows],
                columns={key: value[rows] for key, value in self._arrays.items()},
            )
        envs = self._random.integers(0, self._width, size)
        return Sampled(
            slots=[[int(row), int(env)] for row, env in zip(rows, envs, strict=True)],
            columns={key: value[rows, envs] for key, value in self._arrays.items()},
        )

    def read_all(self) -> Stored:
        """Everything."""
        rows = min(self._written, self._rows)
        slots: Sequence[int] = range(rows)
        none = np.zeros((0,) * self._dims, dtype="int64")
        columns = {key: value[:rows].copy() for key, value in self._arrays.items()}
        return Stored(
            length=rows * self._width,
            slots=slots,
            columns=columns or {"stream": none, "number": none},
        )

    def empty(self) -> None:
        """Drop all rows."""
        self._written = 0

    def close(self) -> None:
        """Nothing is to be let go."""
        self._arrays = {}

    def _check(self, columns: Columns) -> None:
        """Refuse what does not fit.

        Raises:
            ValueError: names, shapes or types are others than the first batch's.
        """
        if columns.keys() != self._arrays.keys():
            raise ValueError(f"rows have {sorted(self._arrays)}, got {sorted(columns)}")
        for key, value in columns.items():
            own = self._arrays[key]
            if value.shape[1:] != own.shape[1:] or value.dtype != own.dtype:
                raise ValueError(
                    f"{key} is {own.dtype} {own.shape[1:]}, got {value.dtype} {value.shape[1:]}"
                )


def _make(setup: StorageSetup, path: str | None) -> NumpyRing:
    assert path is None
    return NumpyRing(setup)


backend = Backend(
    name="numpy_ring",
    version=lambda: version("numpy"),
    packages=("numpy",),
    preload=("numpy",),
    storage=StoragePort(
        capabilities=StorageCapabilities(
            verbs=frozenset({"empty"}),
            setup={"writers": frozenset({"driver"}), "dims": frozenset({1, 2}), "rows": ROWS},
        ),
        make=_make,
    ),
)
