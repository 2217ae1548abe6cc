"""A process that leaves without closing is gone in time, with its own exit code, and quietly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.checkers.clean_exit import CHECKER
from harness.model.history import Ending, History, Kind
from harness.model.verdict import Contract, Judgement
from tests.unit.harness.checkers.histories import Recorder

IGNORED = "Exception ignored in: <function Pool.__del__>"
CODES = [("return", 0, 0), ("exit", 3, 3), ("exception", 0, 1)]


def left(how: str, code: int = 0, *, after_s: float = 0.3, **ended: int) -> Recorder:
    """A script that has left."""
    recorder = Recorder()
    recorder.call("reset")
    recorder.ok(recorder.invoke("leave", how=how, code=code), after_s, **ended)
    return recorder


def aftermath(
    recorder: Recorder, tracebacks: int = 0, *ignored: str, **more: list[str]
) -> Recorder:
    said = {"bytes": 0, "tracebacks": tracebacks, "raised": [], "ignored": list(ignored), **more}
    recorder.write(Kind.NOTE, "aftermath", role="guardian", bound_s=10.0, processes=[], stderr=said)
    return recorder


def judge(recorder: Recorder, *faults: tuple[str, str], ending: Ending | None = None) -> Judgement:
    history: History = recorder.history(faults=faults, ending=ending or Ending(exit_code=0))
    assert CHECKER.applies(history)
    return CHECKER.check(history)


@pytest.mark.parametrize(("how", "code", "wanted"), CODES)
def test_who_ends_with_its_own_exit_code_passes(how: str, code: int, wanted: int):
    judgement = judge(aftermath(left(how, code, exit_code=wanted), int(how == "exception")))
    assert (judgement.findings, judgement.judged) == ((), 2)


@pytest.mark.parametrize(("how", "code", "wanted"), CODES)
def test_another_exit_code_is_found(how: str, code: int, wanted: int):
    (finding,) = judge(left(how, code, exit_code=9)).findings
    assert finding.text.startswith("the process ended with exit code 9")
    assert finding.text.endswith(f"exit code {wanted}")


def test_a_signal_that_nobody_sent_is_found():
    (finding,) = judge(left("return", signal=11)).findings
    assert finding.text.startswith("the process ended with signal 11")


def test_leaving_late_is_found_and_is_about_time_only():
    (finding,) = judge(left("return", after_s=6.0, exit_code=0)).findings
    assert finding.time


def test_a_process_that_never_ends_is_found():
    recorder = Recorder()
    recorder.invoke("leave", how="return", code=None)
    (finding,) = judge(recorder, ending=Ending(ended_by_us=True, hang="blocked")).findings
    assert finding.text.startswith("leave (request 0) had not ended")


def test_a_worker_that_died_must_not_end_in_exit_code_0_when_nothing_was_raised():
    recorder = Recorder()
    recorder.fault("f1", "effect")
    recorder.ok(recorder.invoke("leave", how="uncaught", code=None), exit_code=0)
    (finding,) = judge(recorder, ("signal", "f1")).findings
    assert "a call that a fault has hit is to raise" in finding.text


@pytest.mark.parametrize(("ended", "passes"), [(0, True), (1, False)])
def test_where_no_fault_has_struck_nothing_is_to_be_raised(ended: int, *, passes: bool):
    recorder = Recorder()
    recorder.fault("f1", "armed")
    recorder.ok(recorder.invoke("leave", how="uncaught", code=None), exit_code=ended)
    assert (judge(recorder, ("signal", "f1")).findings == ()) is passes


@pytest.mark.parametrize(("ended", "passes"), [(1, True), (0, False)])
def test_what_a_call_raised_and_nobody_caught_ends_in_exit_code_1(ended: int, *, passes: bool):
    recorder = Recorder()
    recorder.failing("step")
    recorder.ok(recorder.invoke("leave", how="uncaught", code=None), exit_code=ended)
    assert (judge(recorder, ("signal", "f1")).findings == ()) is passes


@pytest.mark.parametrize(
    ("ended", "passes"),
    [({"signal": 2}, True), ({"exit_code": 130}, True), ({"exit_code": 0}, False)],
)
def test_an_uncaught_interrupt_ends_as_one(ended: dict[str, int], *, passes: bool):
    recorder = Recorder()
    recorder.fail(recorder.invoke("step"), "", error="KeyboardInterrupt")
    recorder.ok(recorder.invoke("leave", how="uncaught", code=None), **ended)
    assert (judge(recorder, ("signal_owner", "f1")).findings == ()) is passes


def test_an_ignored_exception_is_found():
    (finding,) = judge(aftermath(left("return", exit_code=0), 0, IGNORED)).findings
    assert finding.text == f"a finalizer failed at exit: {IGNORED}"


def test_a_traceback_on_the_way_out_of_a_script_that_raised_nothing_is_found():
    (finding,) = judge(aftermath(left("return", exit_code=0), 1)).findings
    assert finding.text == "1 tracebacks on stderr instead of 0"


def test_an_exception_whose_traceback_nobody_sees_is_found():
    (finding,) = judge(aftermath(left("exception", exit_code=1), 0)).findings
    assert finding.text == "its own traceback is not on stderr"


def interrupted(tracebacks: int) -> Recorder:
    recorder = Recorder()
    recorder.fail(recorder.invoke("step"), "", error="KeyboardInterrupt")
    recorder.call("shutdown")
    return aftermath(recorder, tracebacks)


def test_one_traceback_for_an_interrupt_passes():
    judgement = judge(interrupted(1), ("signal_owner", "f1"))
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_a_traceback_a_worker_is_found():
    (finding,) = judge(interrupted(2), ("signal_owner", "f1")).findings
    assert finding.text == "2 tracebacks on stderr instead of 1"
    assert finding.contract is Contract.EQUIVALENCE


def test_tracebacks_of_workers_are_told_as_theirs():
    recorder = Recorder()
    recorder.fail(recorder.invoke("step"), "", error="KeyboardInterrupt")
    recorder.call("shutdown")
    printed = {"workers": ["ForkProcess-1"], "raised": ["KeyboardInterrupt"]}
    (finding,) = judge(aftermath(recorder, 2, **printed), ("signal_owner", "f1")).findings
    assert finding.text == (
        "2 tracebacks on stderr instead of 1, 1 from workers (ForkProcess-1), one of KeyboardInterrupt"
    )


def test_what_workers_of_a_killed_owner_print_is_a_matter_of_taste():
    (finding,) = judge(interrupted(2), ("signal_owner", "f1"), ending=Ending(signal=9)).findings
    assert finding.contract is Contract.OPINION


def test_no_traceback_is_owed_where_a_signal_has_ended_the_owner():
    (finding,) = judge(interrupted(1), ("signal_owner", "f1"), ending=Ending(signal=15)).findings
    assert finding.text == "1 tracebacks on stderr instead of 0"
    assert finding.contract is Contract.OPINION


def test_workers_that_another_fault_struck_may_say_so():
    faults = (("signal_owner", "f1"), ("raise", "f2"))
    assert judge(interrupted(2), *faults).findings == ()


def test_a_history_without_an_aftermath_is_no_evidence():
    recorder = Recorder()
    recorder.call("step")
    assert judge(recorder, ("signal_owner", "f1")).judged == 0


def test_it_does_not_apply_where_nobody_leaves():
    recorder = Recorder()
    recorder.call("shutdown")
    assert not CHECKER.applies(recorder.history())


def terminated(**ending: int) -> Judgement:
    """An owner that was sent SIGTERM, and how it ended."""
    recorder = Recorder()
    recorder.call("reset")
    for record in ("armed", "reached", "effect"):
        recorder.fault("f1", record)
    history = aftermath(recorder).history(
        faults=[("signal_owner", "f1")],
        ending=Ending(**ending),  # type: ignore[arg-type]  # exit_code or signal
    )
    fault = {**history.faults[0], "signal": "TERM"}
    return CHECKER.check(replace(history, faults=(fault,)))


@pytest.mark.parametrize("ending", [{"exit_code": 143}, {"signal": 15}])
def test_who_is_terminated_may_end_by_its_own_handler(ending: dict[str, int]):
    judgement = terminated(**ending)
    assert (judgement.findings, judgement.judged) == ((), 1)


def test_who_is_terminated_and_calls_that_a_success_is_found():
    (finding,) = terminated(exit_code=0).findings
    assert finding.text.startswith("the process ended with exit code 0: it was sent SIGTERM")
