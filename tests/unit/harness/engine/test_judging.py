"""One outcome a cell, by precedence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.engine.judging import judge, judge_directory, read_event
from harness.model.history import EVENT_SCHEMA, Ending, Event, History, Kind
from harness.model.verdict import Contract, Finding, Judgement, Outcome
from harness.ports.checkers import Checker

FINISHED = Ending(finished=True, exit_code=0)


def history(**parts: Any) -> History:
    return History(
        **{"component": "pool", "setup": {}, "expect": ("survives",), "ending": FINISHED, **parts}
    )


def checker(*findings: Finding, judged: int = 1) -> Checker:
    return Checker(
        name="judge",
        components=frozenset({"pool"}),
        check=lambda _: Judgement(findings=findings, judged=judged),
    )


def finding(
    contract: Contract = Contract.LIVENESS, *, leak: bool = False, time: bool = False
) -> Finding:
    return Finding(checker="judge", text="it is wrong", contract=contract, leak=leak, time=time)


def fault_event(record: str) -> Event:
    data = {"id": "f1", "record": record}
    return Event(seq=0, ts_ns=0, pid=1, role="driver", kind=Kind.FAULT, op="raise", data=data)


def outcome(found: History, *checkers: Checker) -> Outcome:
    return judge(found, checkers).outcome


def test_a_clean_history_passes():
    assert outcome(history(), checker()) is Outcome.PASS


def test_a_finding_fails():
    assert outcome(history(), checker(finding())) is Outcome.FAIL


def test_an_opinion_does_not_fail():
    assert outcome(history(), checker(finding(Contract.OPINION))) is Outcome.PASS


def test_a_leak_alone_is_a_leak():
    assert outcome(history(), checker(finding(leak=True))) is Outcome.LEAK


def test_a_leak_beside_another_finding_is_a_failure():
    assert outcome(history(), checker(finding(leak=True), finding())) is Outcome.FAIL


def test_a_checker_that_crashes_is_unknown_and_not_a_pass():
    broken = Checker(name="broken", components=frozenset({"pool"}), check=lambda _: 1 / 0)  # type: ignore[arg-type,return-value] # that is the point
    verdict = judge(history(), [checker(), broken])
    assert verdict.outcome is Outcome.UNKNOWN
    assert "ZeroDivisionError" in verdict.reason


def test_a_checker_that_found_nothing_to_judge_is_unknown():
    assert outcome(history(), checker(judged=0)) is Outcome.UNKNOWN


def test_no_checker_at_all_is_unknown():
    assert outcome(history()) is Outcome.UNKNOWN


@pytest.mark.parametrize("records", [[], ["armed"], ["armed", "reached"]])
def test_a_fault_without_effect_is_vacuous(records: list[str]):
    found = history(
        faults=({"fault": "raise", "id": "f1"},), events=tuple(map(fault_event, records))
    )
    assert outcome(found, checker()) is Outcome.VACUOUS


def test_a_fault_with_effect_counts():
    events = tuple(map(fault_event, ["armed", "reached", "effect"]))
    found = history(faults=({"fault": "raise", "id": "f1"},), events=events)
    assert outcome(found, checker()) is Outcome.PASS


def test_a_finding_comes_before_a_fault_that_did_not_fire():
    found = history(faults=({"fault": "raise", "id": "f1"},))
    verdict = judge(found, [checker(finding())])
    assert verdict.outcome is Outcome.FAIL
    assert verdict.reason.startswith("fault raise (f1) did not fire; ")


@pytest.mark.parametrize(
    ("met", "wanted"), [(9, Outcome.VACUOUS), (10, Outcome.PASS), (None, Outcome.PASS)]
)
def test_a_race_in_which_too_few_met_is_vacuous(met: int | None, wanted: Outcome):
    told = {"deadline_s": 1, "grace_s": 1, "meets": 10}
    done = {} if met is None else {"met": met}
    events = tuple(
        Event(seq=i, ts_ns=i, pid=1, role="driver", op="race", id=1, kind=kind, data=data)
        for i, (kind, data) in enumerate(((Kind.INVOKE, told), (Kind.OK, done)))
    )
    found = judge(history(events=events), (checker(),))
    assert found.outcome is wanted
    assert (found.reason == "race (request 1): 9 batches met another, and 10 had to") == (met == 9)


def test_a_driver_that_died_is_a_crash_whatever_was_found():
    found = history(ending=Ending(signal=11))
    assert outcome(found, checker(finding())) is Outcome.CRASH


def test_a_missed_deadline_is_a_hang():
    found = history(ending=Ending(ended_by_us=True, hang="spinning"))
    assert outcome(found, checker(finding())) is Outcome.HANG


def test_a_cell_that_was_ended_without_a_hang_says_nothing_about_the_backend():
    assert outcome(history(ending=Ending(ended_by_us=True)), checker()) is Outcome.HARNESS_ERROR


def test_only_findings_about_time_ask_for_confirmation():
    assert judge(history(), [checker(finding(time=True))]).only_time
    assert not judge(history(), [checker(finding(time=True), finding())]).only_time


def test_a_directory_without_files_is_a_harness_error(tmp_path: Path):
    assert judge_directory(tmp_path).outcome is Outcome.HARNESS_ERROR


def test_a_journal_of_another_version_is_refused():
    line = {"v": EVENT_SCHEMA + 1, "ts": 1, "pid": 1, "role": "driver", "kind": "note", "op": "x"}
    with pytest.raises(ValueError, match="event schema"):
        read_event(0, json.dumps({**line, "id": None, "data": {}}).encode())


def left(kind: Kind) -> tuple[Event, ...]:
    """A leave, and how it was completed."""
    invoked = Event(
        seq=0,
        ts_ns=0,
        pid=1,
        role="driver",
        kind=Kind.INVOKE,
        op="leave",
        id=1,
        data={"deadline_s": 5.0, "grace_s": 2.0},
    )
    return invoked, replace(invoked, seq=1, ts_ns=1, kind=kind, data={})


def test_a_driver_that_left_as_it_was_told_has_not_crashed():
    found = history(ending=Ending(exit_code=3), events=left(Kind.OK))
    assert outcome(found, checker()) is Outcome.PASS


def test_a_driver_that_a_signal_ends_while_it_leaves_has_crashed():
    found = history(ending=Ending(signal=11), events=left(Kind.OK))
    assert outcome(found, checker()) is Outcome.CRASH


@pytest.mark.parametrize(("number", "wanted"), [(9, Outcome.PASS), (11, Outcome.CRASH)])
def test_a_driver_has_crashed_unless_it_died_of_the_fault(number: int, wanted: Outcome):
    faults = ({"fault": "signal_owner", "id": "f1", "signal": "KILL"},)
    events = tuple(fault_event(record) for record in ("armed", "reached", "effect"))
    found = history(ending=Ending(signal=number), faults=faults, events=events)
    assert outcome(found, checker()) is wanted


@pytest.mark.parametrize(
    ("ending", "wanted"),
    [
        (Ending(exit_code=143), Outcome.PASS),
        (Ending(signal=15), Outcome.PASS),
        (Ending(signal=11), Outcome.CRASH),
    ],
)
def test_an_owner_that_ends_by_its_own_handler_of_sigterm_has_not_crashed(
    ending: Ending, wanted: Outcome
):
    faults = ({"fault": "signal_owner", "id": "f1", "signal": "TERM"},)
    events = tuple(fault_event(record) for record in ("armed", "reached", "effect"))
    assert outcome(history(ending=ending, faults=faults, events=events), checker()) is wanted


def test_a_leak_that_may_only_be_late_asks_for_confirmation():
    late = finding(leak=True, time=True)
    assert judge(history(), [checker(late)]).only_time
    assert not judge(history(), [checker(late, finding(leak=True))]).only_time
