"""What is armed before there is anything to strike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.engine.session import Session, _strikes_construction
from harness.engine.stage import SessionStage
from harness.faults.payload import Exit, Raise
from harness.faults.primitive import CloseChannel
from harness.faults.resources import FullSharedMemory, Limit, OneProcessor
from harness.model.gate import GateRule
from harness.model.scenario import Placement
from harness.ports.pool import PoolSetup
from harness.ports.pool_verbs import Reset


@pytest.mark.parametrize("op", ["pickle", "construct"])
def test_a_fault_of_the_construction_of_a_worker_is_armed_ahead(op):
    assert _strikes_construction(Exit(at=Placement(role="worker:1", op=op)))


@pytest.mark.parametrize("fault", [Limit(), FullSharedMemory(), OneProcessor()])
def test_what_runs_short_ahead_of_all_verbs_strikes_the_construction(fault):
    assert _strikes_construction(fault)


@pytest.mark.parametrize(
    "step",
    [
        Reset(),
        Raise(at=Placement(role="worker:1", op="reset")),
        CloseChannel(channel="results"),
        CloseChannel(channel="results", at=Placement(role="driver", op="shutdown")),
    ],
    ids=["verb", "another operation", "its own step", "the driver's"],
)
def test_everything_else_comes_in_its_turn(step):
    assert not _strikes_construction(step)


def test_a_signal_comes_later_on_a_slow_machine():
    armed: list[GateRule] = []
    session = SimpleNamespace(
        gate=SimpleNamespace(arm=armed.append), request=SimpleNamespace(time_scale=3.0)
    )
    rule = GateRule(fault="f1", role="worker", op="step", order="hold", after_s=0.2)
    SessionStage(session, own_shm=False).arm_gate(rule)  # type: ignore[arg-type]  # all that it looks at
    assert armed[0].after_s == pytest.approx(0.6)


def test_ports_are_handed_a_deadline_of_construction_that_is_scaled():
    setup = {"num_envs": 3, "start_within_s": 2.0}
    session = Session.__new__(Session)
    session.request = SimpleNamespace(setup=setup, time_scale=10.0)  # type: ignore[assignment]  # all that it looks at
    assert session.scaled_setup(PoolSetup) == PoolSetup(num_envs=3, start_within_s=20.0)


def test_only_who_wants_to_know_is_told_how_long_calls_may_take():
    told: list[float] = []
    session = Session.__new__(Session)
    session.request = SimpleNamespace(time_scale=10.0)  # type: ignore[assignment]  # all that it looks at
    session.allow(SimpleNamespace(allow=told.append), 2.0)
    session.allow(SimpleNamespace(), 3.0)
    assert told == [20.0]
