"""Wrong weight sync where workers join their sender, and where they lose it: its process, or only the channel to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.planted.weights import planted, replaced
from reference_impl.core import ownership
from reference_impl.weights import conversation, recipe
from reference_impl.weights.ledger import Died, Failed, Ledger


class _Forgetful(Ledger):
    """Takes every worker that is lost for one that has ended."""

    def on_lost(self, worker: int, fate: Failed | Died, *, gone: bool) -> None:
        """Enter it, and nothing of what it may act on."""
        del gone
        super().on_lost(worker, fate, gone=True)


def _the_first(
    workers: tuple[int, ...], entries: Mapping[int, Any]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Give what is meant for the first worker to all."""
    yield workers, entries[min(entries)]


first_weights_for_all = replaced("first_weights_for_all", recipe, "grouped", _the_first)
trainer_unwatched = planted(
    "trainer_unwatched",
    (ownership, "_die_with_parent", lambda: None),
    (ownership, "_end_with", lambda _: None),
)
cut_off_forgotten = replaced("cut_off_forgotten", conversation, "Ledger", _Forgetful)
