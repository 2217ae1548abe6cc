"""Dataclasses go to JSON and back unchanged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import pytest

from harness.model.gate import GateRule
from harness.model.history import Ending, Event, FaultRecord, History, Kind, Leftover
from harness.model.plain import from_plain, to_plain
from harness.model.run import BackendInfo, CellResult, RunRecord
from harness.model.scenario import Expect, Expected, Heal, Phase, Placement
from harness.model.verdict import CheckerReport, Contract, Finding, Outcome, Verdict

EVENT = Event(
    seq=3, ts_ns=10**18, pid=7, role="worker:1", kind=Kind.OBSERVE, op="step", data={"n": [1, None]}
)
RECORD = FaultRecord(name="raise", id="f1", armed=True, reached=True, effect="seen", worker=1)
FINDING = Finding(
    checker="routing", text="a", contract=Contract.LIVENESS, events=(1, 2), leak=True, time=True
)
CELL = CellResult(
    id="pool/x[]@y-1",
    scenario="x.toml",
    title="X",
    component="pool",
    row="",
    backend="y-1",
    outcome=Outcome.HANG,
    reason="late",
    expect=("survives",),
    seconds=0.5,
    replay="harness replay",
    level=2,
    hang="spinning",
    runs={"n": 2, "HANG": 2},
    findings=(FINDING,),
    checkers=(CheckerReport(name="routing", judged=4),),
    faults=(RECORD,),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The forms that the model's own classes do not have all of."""

    either: Placement | tuple[int, ...] | None = None
    names: frozenset[str] = frozenset()
    numbers: list[float] = field(default_factory=list)
    placements: dict[str, Placement] = field(default_factory=dict)


@pytest.mark.parametrize(
    "value",
    [
        EVENT,
        RECORD,
        CELL,
        Ending(signal=9, hang="frozen", ended_by_us=True),
        GateRule(fault="f1", role="worker", op="step", order="signal", signal=9),
        Heal(heal="f1"),
        Phase(phase="converge"),
        Expect(outcome=Expected.RECOVERS),
        Expect(outcome=(Expected.SURVIVES, Expected.FAILS_BOUNDED)),
        Verdict(outcome=Outcome.FAIL, reason="x", findings=(FINDING,), faults=(RECORD,)),
        RunRecord(
            backends=(BackendInfo(id="y-1", name="y", version="1", python="p"),), cells=(CELL,)
        ),
        Shapes(either=Placement(role="driver", op="step")),
        Shapes(either=(1, 2), names=frozenset({"a"}), numbers=[1.5]),
        Shapes(placements={"a": Placement(role="worker:1", op="reset", k=2, edge="after")}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_the_same_after_a_trip_through_json(value):
    assert from_plain(type(value), json.loads(json.dumps(to_plain(value)))) == value


def test_a_history_is_the_same_after_a_trip_through_json():
    history = History(
        component="pool",
        setup={"num_envs": 2},
        expect=("survives", "recovers"),
        faults=({"fault": "raise", "id": "f1"},),
        verbs=frozenset({"reset", "step"}),
        events=(EVENT,),
        ending=Ending(exit_code=0, finished=True),
        leftovers=(Leftover(kind="shm", name="psm_1"),),
    )
    assert from_plain(History, json.loads(json.dumps(to_plain(history)))) == history


def test_enums_come_back_as_enums():
    assert from_plain(Finding, to_plain(FINDING)).contract is Contract.LIVENESS


def test_an_unknown_key_is_refused():
    with pytest.raises(TypeError, match="colour"):
        from_plain(Heal, {"heal": "f1", "colour": "red"})


def test_a_missing_key_is_refused():
    with pytest.raises(TypeError, match="role"):
        from_plain(Placement, {"op": "step"})


def test_an_unknown_word_of_an_enum_is_refused():
    with pytest.raises(ValueError, match="rumour"):
        from_plain(Finding, {**to_plain(FINDING), "contract": "rumour"})


def test_a_value_without_a_plain_form_is_refused_by_type():
    with pytest.raises(TypeError, match="no plain form for a value of type object"):
        to_plain({"a": [object()]})


def test_an_optional_enum_comes_back_as_the_enum():
    plain = json.loads(json.dumps(to_plain(CELL)))
    found = from_plain(CellResult, {**plain, "expected": "FAIL"})
    assert found.expected is Outcome.FAIL
