"""Fixtures of the weights' tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reference_impl.weights import MultiProcessWeightSyncScheme
from tests.unit.reference_impl.weights.policies import Gate


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate that is closed after the test, so that nobody is left waiting."""
    gate = Gate()
    yield gate
    gate.close()


@pytest.fixture
def scheme() -> Iterator[MultiProcessWeightSyncScheme]:
    """A scheme that is shut down after the test."""
    scheme = MultiProcessWeightSyncScheme()
    yield scheme
    scheme.shutdown()
