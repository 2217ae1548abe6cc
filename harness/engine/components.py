"""What the engine knows of each component: its setup, its verbs, its faults."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from harness.faults.registry import PoolFault, StorageFault, WeightsFault
from harness.model.scenario import Heal, Phase
from harness.ports import pool, pool_verbs, storage, weights, weights_verbs


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One port as the engine needs it.

    Attributes:
        name: as scenarios name it.
        clean: the scenario of its clean run: what that catches, others need not be there for.
        setup: its setup dataclass.
        capabilities: the dataclass of what backends declare.
        verbs: its verbs' dataclasses, by `do`.
        faults: its faults' dataclasses, by `fault`.
        always: verbs that every backend with this port has.
        optional: capabilities beyond those.
        worker_ops: operations of a worker, where faults can be placed.
        session: `module:attr` of its interpreter, which runs in the driver.
        payload: the module of what it puts into workers; the server imports it ahead of every cell.
    """

    name: str
    clean: str
    setup: type[Any]
    capabilities: type[Any]
    verbs: Mapping[str, type[Any]]
    faults: Mapping[str, type[Any]]
    always: frozenset[str]
    optional: frozenset[str]
    worker_ops: frozenset[str]
    session: str
    payload: str

    def step_type(self, plain: Mapping[str, Any]) -> type[Any]:
        """The dataclass of a step in its plain form."""
        if "do" in plain:
            return self.verbs[plain["do"]]
        if "fault" in plain:
            return self.faults[plain["fault"]]
        return Heal if "heal" in plain else Phase


def _by_tag(union: Any, tag: str) -> dict[str, type[Any]]:
    """The members of a union, by the default of their field `tag`."""
    return {
        str(next(f.default for f in fields(member) if f.name == tag)): member
        for member in typing.get_args(union)
    }


POOL = Component(
    name="pool",
    clean="clean_run",
    setup=pool.PoolSetup,
    capabilities=pool.PoolCapabilities,
    verbs=_by_tag(pool_verbs.PoolVerb, "do"),
    faults=_by_tag(PoolFault, "fault"),
    always=pool_verbs.ALWAYS,
    optional=pool_verbs.OPTIONAL,
    worker_ops=pool.WORKER_OPS,
    session="harness.engine.pool_session:PoolSession",
    payload="harness.payloads.env",
)
WEIGHTS = Component(
    name="weights",
    clean="clean_updates",
    setup=weights.WeightsSetup,
    capabilities=weights.WeightsCapabilities,
    verbs=_by_tag(weights_verbs.WeightsVerb, "do"),
    faults=_by_tag(WeightsFault, "fault"),
    always=weights_verbs.ALWAYS,
    optional=weights_verbs.OPTIONAL,
    worker_ops=weights.WORKER_OPS,
    session="harness.engine.weights_session:WeightsSession",
    payload="harness.payloads.policy",
)
STORAGE = Component(
    name="storage",
    clean="clean_writes",
    setup=storage.StorageSetup,
    capabilities=storage.StorageCapabilities,
    verbs=_by_tag(storage.StorageVerb, "do"),
    faults=_by_tag(StorageFault, "fault"),
    always=storage.ALWAYS,
    optional=storage.OPTIONAL,
    worker_ops=storage.WORKER_OPS,
    session="harness.engine.storage_session:StorageSession",
    payload="harness.payloads.storage_worker",
)
COMPONENTS: Mapping[str, Component] = {each.name: each for each in (POOL, WEIGHTS, STORAGE)}
