"""What an adapter module exports: one `Backend`, with a port for each component that it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.model.gate import Transfer
from harness.ports.pool import PoolPort
from harness.ports.storage import StoragePort
from harness.ports.weights import WeightsPort

Carried = Literal["bytes", "object"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A function through which all transfers of some channels go.

    Attributes:
        target: `module:function` or `module:Class.method`; its first argument is an end of a channel, one
            with `fileno()` where there is a pipe or socket. A put's second argument is the item.
        transfer: whether a call that returns has put an item or got one.
        carried: whether items are pickled already, or are still to be.
    """

    target: str
    transfer: Transfer
    carried: Carried = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """A system under test.

    Attributes:
        name: what `--backend` is given.
        version: finds out the version, which ends up in the cells' ids.
        packages: distributions whose versions the report lists.
        preload: modules that the server imports once, before any cell is forked.
        hooks: functions of its own, beside `multiprocessing`'s, that its channels go through.
        pool: the pool, if it has one.
        weights: the weight sync, if it has one.
        storage: the replay storage, if it has one.
    """

    name: str
    version: Callable[[], str]
    packages: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    hooks: tuple[Hook, ...] = ()
    pool: PoolPort | None = None
    weights: WeightsPort | None = None
    storage: StoragePort | None = None


def own_bound(deadline_s: float) -> float:
    """What a backend's own bound is set to, in s, so that what it does after it ends by the deadline.

    Whoever has waited for the whole bound has still to end and join processes: a fifth of the
    deadline is left for that, and 1.5 s where that is less, but never more than three fifths.
    """
    return max(0.4 * deadline_s, min(0.8 * deadline_s, deadline_s - 1.5))
