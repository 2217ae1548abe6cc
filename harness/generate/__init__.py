"""Draws scenarios with Hypothesis, and writes scenarios as files that people can read."""

from __future__ import annotations

from harness.generate.storage import storage_scenarios
from harness.generate.strategies import pool_scenarios
from harness.generate.weights import weights_scenarios
from harness.generate.writing import to_toml

__all__ = ["pool_scenarios", "storage_scenarios", "to_toml", "weights_scenarios"]
