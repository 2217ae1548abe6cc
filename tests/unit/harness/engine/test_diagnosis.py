"""Of a hung cell's processes, the one that explains the others is named."""

from __future__ import annotations

import pytest

from harness.engine.diagnosis import Condition, Found, Witness, conclude, diagnose
from harness.engine.watchdog import Seen
from harness.model.history import Hang

PIDS = {"driver": 10, "worker:0": 11, "worker:1": 12, "pid:13": 13}


def found(role: str, condition: Condition, last_ns: int = 0) -> Found:
    return Found(role=role, pid=PIDS[role], condition=condition, last_ns=last_ns)


def first(*processes: Found, op: str = "step", killed: frozenset[str] = frozenset()) -> str:
    witness = Witness(pids=dict(PIDS), open={1: op}, killed=set(killed))
    diagnosis = conclude(processes, witness)
    assert diagnosis is not None
    return diagnosis.first


def test_nobody_is_first_where_nobody_is():
    assert conclude((), Witness()) is None


@pytest.mark.parametrize(
    "condition", ["stopped", "dead", "held", "spinning", "sleep", "send", "lock", "join", "event"]
)
def test_a_worker_that_does_not_wait_for_a_command_comes_before_a_waiting_driver(
    condition: Condition,
):
    assert first(found("driver", "receive"), found("worker:1", condition)) == "worker:1"


@pytest.mark.parametrize("condition", ["stopped", "spinning", "lock", "sleep", "join", "receive"])
def test_a_driver_whose_workers_wait_for_commands_is_first(condition: Condition):
    assert first(found("driver", condition), found("worker:1", "receive")) == "driver"


@pytest.mark.parametrize("condition", ["stopped", "dead", "spinning", "sleep"])
def test_who_waits_for_a_lock_comes_after_who_may_hold_it(condition: Condition):
    assert first(found("worker:0", "lock"), found("worker:1", condition)) == "worker:1"


def test_of_two_in_a_lock_the_one_heard_of_last_comes_last():
    assert first(found("worker:0", "lock", 9), found("worker:1", "lock", 5)) == "worker:1"


def test_a_stopped_driver_comes_before_a_worker_in_a_lock():
    assert first(found("driver", "stopped"), found("worker:1", "lock")) == "driver"


def test_a_worker_may_be_gone_when_the_pool_is_shut_down():
    gone = found("worker:0", "dead")
    assert first(found("driver", "lock"), gone, op="shutdown") == "driver"


def test_a_worker_that_was_killed_explains_a_shutdown():
    gone = found("worker:0", "dead")
    killed = frozenset({"worker:0"})
    assert first(found("driver", "join"), gone, op="shutdown", killed=killed) == "worker:0"


def test_a_process_without_a_role_comes_after_a_worker_like_it():
    assert first(found("pid:13", "sleep"), found("worker:1", "sleep")) == "worker:1"


def test_a_worker_that_receives_deeper_than_the_others_is_first():
    deeper = Found(role="worker:1", pid=12, condition="receive", depth=9)
    other = Found(role="worker:0", pid=11, condition="receive", depth=7)
    assert first(found("driver", "receive"), other, deeper) == "worker:1"


def test_the_sentence_says_what_the_driver_waits_for_too():
    driver = Found(role="driver", pid=10, condition="receive", where="recv <- step (pool.py:8)")
    diagnosis = conclude((driver, found("worker:1", "stopped")), Witness())
    assert diagnosis is not None
    assert diagnosis.waits_for == (
        "worker 1 (pid 12) is stopped; the driver (pid 10) waits to receive in recv <- step (pool.py:8)"
    )


def test_a_worker_of_the_second_pool_is_called_that():
    sentence = Found(role="beside:1", pid=12, condition="stopped").sentence()
    assert sentence == "worker 1 of the second pool (pid 12) is stopped"


def test_a_driver_that_waits_for_idle_workers_is_told_so():
    diagnosis = conclude((found("driver", "receive"), found("worker:1", "receive")), Witness())
    assert diagnosis is not None
    assert diagnosis.waits_for.endswith("; nobody is about to send")


def test_a_witness_keeps_the_latest_process_of_a_role():
    witness = Witness()
    for ts, pid in ((1, 11), (2, 21)):
        witness.note({"role": "worker:0", "kind": "observe", "op": "step", "pid": pid, "ts": ts})
    assert witness.pids == {"worker:0": 21}
    assert witness.last_ns == {"worker:0": 2}


def test_a_witness_knows_whom_a_fault_signalled():
    witness = Witness()
    data = {"record": "reached", "worker": 1}
    witness.note(
        {"role": "worker:1", "kind": "fault", "op": "signal", "pid": 12, "ts": 1, "data": data}
    )
    assert witness.killed == {"worker:1"}


RECEIVES = """    wait (threading.py:327)
    get (queue.py:171)"""
NOBODY = 0  # no process has this id, so that the kernel is not asked


def of_threads(kind: Hang, *stacks: str) -> str:
    """What is said of a driver with these threads, the main thread first."""
    heads = ['"MainThread"', *(f'"env-{i}"' for i in range(len(stacks) - 1))]
    dump = "\n\n".join(
        f"Thread {60 + i} ({stack.partition(':')[0]}): {head}\n{stack.partition(':')[2]}"
        for i, (head, stack) in enumerate(zip(heads, stacks, strict=True))
    )
    seen = Seen(pid=NOBODY, command="python", state="S", busy=0.0, hang=kind)
    diagnosis = diagnose([seen], {NOBODY: dump}, Witness(pids={"driver": NOBODY}))
    assert diagnosis is not None
    return diagnosis.waits_for


def test_a_thread_that_is_deeper_in_its_code_than_its_like_is_named():
    said = of_threads(
        "blocked",
        f"idle:{RECEIVES}\n    step (pool.py:9)",
        f"idle:{RECEIVES}\n    work (pool.py:30)",
        "idle:    works (env.py:7)\n    work (pool.py:33)",
    )
    assert said.startswith("the driver (pid 0) waits in works (env.py:7), thread env-1")


def test_threads_that_all_wait_for_work_are_not_named():
    waiting = f"idle:{RECEIVES}\n    work (pool.py:30)"
    said = of_threads("blocked", f"idle:{RECEIVES}\n    step (pool.py:9)", waiting, waiting)
    assert said.startswith("the driver (pid 0) waits to receive in get <- step (pool.py:9)")


def test_the_thread_that_spins_is_named_and_not_the_one_that_waits_for_it():
    said = of_threads(
        "spinning",
        f"idle:{RECEIVES}\n    step (pool.py:9)",
        f"idle:{RECEIVES}\n    work (pool.py:30)",
        "active+gil:    works (env.py:7)\n    work (pool.py:33)",
    )
    assert said.startswith("the driver (pid 0) spins in works (env.py:7), thread env-1")
