"""What an adapter declares says which methods its pool has."""

from __future__ import annotations

from harness.ports.pool import FullPool, PoolCapabilities, methods_of
from harness.ports.pool_verbs import OPTIONAL


def test_a_pool_that_declares_nothing_has_the_least():
    assert methods_of(PoolCapabilities()) == ("reset", "step", "close", "worker_pids")


def test_whatever_is_declared_is_a_method_of_the_port():
    channels = frozenset({"results/owner/reader"})
    everything = PoolCapabilities(
        verbs=OPTIONAL,
        channels={"process": channels},
        transfers={"process": frozenset({"results"})},
    )
    assert [name for name in methods_of(everything) if not hasattr(FullPool, name)] == []
    assert {"enter", "channel", "transfer_ends", "read_params"} <= set(methods_of(everything))
