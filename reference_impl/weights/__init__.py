"""Weights: schemes that bring versions of a policy's weights to workers, and workers that act with them."""

from reference_impl.weights.errors import AnswerTimeout, WorkersFailed
from reference_impl.weights.packing import WeightsMismatch
from reference_impl.weights.scheme import (
    MultiProcessWeightSyncScheme,
    SharedMemWeightSyncScheme,
    WeightSyncScheme,
)
from reference_impl.weights.workers import PolicyWorkers

__all__ = [
    "AnswerTimeout",
    "MultiProcessWeightSyncScheme",
    "PolicyWorkers",
    "SharedMemWeightSyncScheme",
    "WeightSyncScheme",
    "WeightsMismatch",
    "WorkersFailed",
]
