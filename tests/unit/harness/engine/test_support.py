"""A backend declares the words of its own keys; those of the harness's keys it need not know."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engine.components import POOL, WEIGHTS
from harness.engine.request import CellRequest
from harness.engine.support import lacking, unsupported
from harness.faults.payload import Raise
from harness.faults.resources import FullSharedMemory
from harness.model.plain import to_plain
from harness.model.scenario import Placement
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.weights import WeightsCapabilities, WeightsSetup


def reason(**setup: Any) -> str | None:
    request = CellRequest(
        cell="pool/c[]@b",
        adapter="a:b",
        component="pool",
        setup=to_plain(PoolSetup(**setup)),
        steps=(),
        expect=("survives",),
    )
    return unsupported(request, POOL, {"pool": to_plain(PoolCapabilities())})


def test_a_word_that_it_does_not_declare_is_unsupported():
    assert reason(stack="lazy") == "the backend declares no stack=lazy"


@pytest.mark.parametrize("setup", [{"factory": "lambda"}, {"built": "in_a_thread"}], ids=str)
def test_what_the_harness_does_around_it_needs_no_declaration(setup):
    assert reason(**setup) is None


def test_what_this_machine_lacks_for_a_fault_makes_its_rows_unsupported(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(FullSharedMemory, "lacking", "no right to mount")
    assert lacking(filling()) == "no right to mount"


def test_what_this_machine_lacks_is_no_matter_of_the_backend(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FullSharedMemory, "lacking", "no right to mount")
    assert unsupported(filling(), POOL, {"pool": to_plain(PoolCapabilities())}) is None


def filling() -> CellRequest:
    """A row that fills /dev/shm."""
    return CellRequest(
        cell="pool/c[]@b",
        adapter="a:b",
        component="pool",
        setup=to_plain(PoolSetup()),
        steps=(FullSharedMemory(),),
        expect=("survives",),
    )


def test_a_number_that_is_a_choice_has_to_be_declared_as_words_have():
    assert reason(envs_per_worker=2) == "the backend declares no envs_per_worker=2"
    assert reason(num_envs=7) is None


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (frozenset({"forward"}), "the backend's workers pass no apply"),
        (frozenset({"forward", "apply"}), None),
    ],
    ids=["without", "with"],
)
def test_a_fault_at_a_point_that_workers_do_not_pass_is_unsupported(passed, expected):
    request = CellRequest(
        cell="weights/c[]@b",
        adapter="a:b",
        component="weights",
        setup=to_plain(WeightsSetup()),
        steps=(Raise(at=Placement(role="worker:0", op="apply")),),
        expect=("survives",),
    )
    declared = {"weights": to_plain(WeightsCapabilities(worker_ops=passed))}
    assert unsupported(request, WEIGHTS, declared) == expected
