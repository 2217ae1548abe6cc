"""The reference's pool with a bug each in what it says of batches that are lent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.planted.variants import planted, replacing
from harness.ports.backend import Backend
from harness.ports.pool_verbs import OPTIONAL
from reference_impl.pool import conversation
from reference_impl.pool.state import PoolState


class _LoansForgotten(PoolState):
    def lend(self, envs: Iterable[int]) -> None:
        """Keep nothing in mind: the envs may be asked for what is written over the batch."""


class _NeverGivenBack(PoolState):
    def give_back(self, envs: Iterable[int]) -> None:
        """Take them for lent for ever."""


def _lending(name: str, wrong: type[PoolState]) -> Backend:
    only = {"transport": frozenset({"process"}), "exchange": frozenset({"slots"})}
    backend = planted(name, replacing(conversation, "PoolState", wrong), **only)
    assert backend.pool is not None
    capabilities = replace(backend.pool.capabilities, verbs=OPTIONAL)
    return replace(backend, pool=replace(backend.pool, capabilities=capabilities))


loans_forgotten = _lending("loans_forgotten", _LoansForgotten)
never_given_back = _lending("never_given_back", _NeverGivenBack)
