"""What the schemes know about torchrl's collectors, which may be given one of them for one of torchrl's.

A collector's main process sets the scheme up, and starts workers to which the scheme goes with their
other arguments; workers set up their sides and later say which collector they are.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from reference_impl.core.clock import Deadline

_LOG: Final = logging.getLogger("reference_impl.weights")


def register(scheme: type[Any]) -> None:
    """Have torchrl's collectors take `scheme` for a weight sync scheme, which they ask for by its class."""
    from torchrl.weight_update import WeightSyncScheme

    WeightSyncScheme.register(scheme)


def count_version(context: Any) -> None:
    """Tell the collector of a worker that its policy has new weights.

    Its own update would write the weights again, without the lock.
    """
    try:
        if hasattr(context, "increment_version"):
            context.increment_version()
    except Exception:  # noqa: BLE001 - the policy has its weights: the send did not fail
        _LOG.exception("the collector has not counted a version")


@dataclass(frozen=True, slots=True)
class StartedElsewhere:
    """A process that a collector has started, as its death is seen."""

    process: BaseProcess

    @property
    def sentinel(self) -> int | None:
        """What is readable once it is gone; None once its owner has closed it."""
        try:
            return self.process.sentinel
        except ValueError:
            return None

    @property
    def exitcode(self) -> int | None:
        """The exit code; None if it runs, or is not known."""
        try:
            return self.process.exitcode
        except ValueError:
            return None

    def join(self, deadline: Deadline) -> bool:
        """Wait for its end; return whether it ended."""
        sentinel = self.sentinel
        if sentinel is None:
            return True
        return bool(wait([sentinel], deadline.left()))
