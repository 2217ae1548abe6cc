"""Drawn scenarios of replay storage are valid, and every verb and fault comes."""

from __future__ import annotations

import pytest
from hypothesis import Phase, find, given, settings

from harness.engine.components import STORAGE
from harness.engine.loading import parse
from harness.generate import storage_scenarios
from harness.model.plain import to_plain
from harness.ports.storage import OPTIONAL, ROWS, WORKER_OPS, StorageCapabilities

EVERYTHING = StorageCapabilities(
    verbs=OPTIONAL,
    setup={
        "writers": frozenset({"process", "driver"}),
        "medium": frozenset({"memory", "disk"}),
        "dims": frozenset({1, 2}),
        "rows": ROWS,
        "sampler": frozenset({"uniform", "slices", "prioritized", "epochs"}),
    },
    worker_ops=WORKER_OPS,
)
LEAST = StorageCapabilities(setup={"writers": frozenset({"driver"})})
quickly = settings(deadline=None, derandomize=True, database=None, max_examples=60)
often = settings(quickly, max_examples=2000, phases=(Phase.generate,))


@pytest.mark.parametrize("able", [EVERYTHING, LEAST], ids=["everything", "least"])
def test_a_drawn_scenario_is_one_that_a_file_may_hold(able):
    @quickly
    @given(scenario=storage_scenarios(able))
    def each_is(scenario):
        plain = {key: value for key, value in to_plain(scenario).items() if value is not None}
        assert parse(plain, "drawn").steps == scenario.steps

    each_is()


@pytest.mark.parametrize("kind", sorted(STORAGE.verbs.keys() | STORAGE.faults.keys()))
def test_every_verb_and_fault_is_drawn(kind):
    def has(scenario) -> bool:
        return any(kind in (getattr(s, "do", ""), getattr(s, "fault", "")) for s in scenario.steps)

    assert has(find(storage_scenarios(EVERYTHING), has, settings=often))


def test_what_a_machine_lacks_is_not_drawn():
    scarce = frozenset({"full_disk", "full_shared_memory"})

    @quickly
    @given(scenario=storage_scenarios(EVERYTHING, without=scarce))
    def none_is(scenario):
        assert not any(getattr(step, "fault", "") in scarce for step in scenario.steps)

    none_is()
