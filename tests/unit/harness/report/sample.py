"""A small run with every outcome, and the files that its cells would have left.

`python -m tests.unit.harness.report.sample DIR` writes the whole report there, to be looked at.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from harness.model.history import FaultRecord
from harness.model.run import BackendInfo, CellResult, RunRecord
from harness.model.scenario import cell_id
from harness.model.selftest import BugSeen, RowSeen, Selftest
from harness.model.verdict import CheckerReport, Contract, Finding, Outcome
from harness.report import write_all

REFERENCE, TORCHRL, GYMNASIUM = "reference-0.1.0", "torchrl-0.14.1", "gymnasium-1.4.0"
BACKENDS = (REFERENCE, TORCHRL, GYMNASIUM)
MS = 1_000_000

CLOSED = ("pool", "closed_result_channel", "Shutdown returns when the result channel is closed")
KILLED = ("pool", "killed_in_a_step", "A worker killed in a step is reported, with its cause")
MASKED = ("pool", "partial_reset", "A masked reset restarts the masked envs and moves no other")
ALIASED = ("weights", "trainer_mutates", "A worker acts only on versions that were sent")
HELD = ("weights", "held_forward", "One forward sees one version, in every tensor and buffer")


def cell(scenario: tuple[str, str, str], row: str, backend: str, outcome: Outcome) -> CellResult:
    component, name, title = scenario
    identity = cell_id(component, name, row, backend)
    supported = outcome is not Outcome.UNSUPPORTED
    return CellResult(
        id=identity,
        scenario=f"scenarios/{component}/{name}.toml",
        title=title,
        component=component,
        row=row,
        backend=backend,
        outcome=outcome,
        reason="every checker looked and found nothing",
        expect=("survives",),
        seconds=0.21,
        replay=f"harness replay '{identity}' --seed 7 --time-scale 1.5",
        level=2 if component == "weights" else 3,
        runs={"n": 1, outcome.value: 1},
        checkers=(
            CheckerReport(name="bounded_calls", judged=6),
            CheckerReport(name="episode_model", judged=12),
            CheckerReport(name="no_leaks", judged=1),
        )
        if supported
        else (),
        directory=f"cells/{component}-{name}-{row}-{backend}" if supported else None,
    )


def hang() -> CellResult:
    row = "exchange=value,transport=process"
    return replace(
        cell(CLOSED, row, TORCHRL, Outcome.HANG),
        reason="shutdown was still open after 5.0 s and 2.5 s of grace: the driver was spinning",
        hang="spinning",
        runs={"n": 5, "HANG": 3, "FAIL": 2},
        expected=Outcome.HANG,
        expected_reason="shutdown polls a closed queue, pytorch/rl#4701",
        seconds=7.62,
        findings=(
            Finding(
                checker="failure_attributed",
                text="the error names no worker",
                contract=Contract.OPINION,
                events=(8,),
            ),
            Finding(
                checker="bounded_shutdown",
                text="shutdown (call 4) was open after 7.5 s of a deadline of 5.0 s; spinning",
                contract=Contract.LIVENESS,
                events=(9, 10),
            ),
        ),
        faults=(
            FaultRecord(
                name="close_channel",
                id="f1",
                armed=True,
                reached=True,
                effect="results: owner end closed",
            ),
        ),
    )


def fail() -> CellResult:
    return replace(
        cell(MASKED, "host=transformed,transport=thread", TORCHRL, Outcome.FAIL),
        reason="reset_mask: env 1 was not masked and restarted",
        findings=(
            Finding(
                checker="reset_mask",
                text="env 1 was not masked, yet its step went from 3 to 0 and its episode grew",
                contract=Contract.EQUIVALENCE,
                events=(4, 5, 7),
            ),
            Finding(
                checker="spec_conformance",
                text="`_reset` is documented as a mask of the envs to restart",
                contract=Contract.DOCUMENTED,
                events=(4,),
            ),
        ),
    )


def crash() -> CellResult:
    return replace(
        cell(KILLED, "transport=process", GYMNASIUM, Outcome.CRASH),
        reason="the driver was ended by SIGSEGV in step",
        expected=Outcome.FAIL,
        expected_reason="the cause is lost, but the call raises",
        expect=("fails-bounded", "recovers"),
        faults=(
            FaultRecord(name="signal", id="f1", armed=True, reached=True, effect="died", worker=1),
        ),
    )


def leak() -> CellResult:
    return replace(
        cell(CLOSED, "exchange=value,transport=thread", TORCHRL, Outcome.LEAK),
        reason="no_leaks: 2 threads and 1 descriptor more than before",
        findings=(
            Finding(
                checker="no_leaks",
                text="2 threads were left: Thread-3 (_run), Thread-4 (_run)",
                contract=Contract.LIVENESS,
                events=(2, 11),
                leak=True,
            ),
        ),
    )


def better() -> CellResult:
    return replace(
        cell(ALIASED, "start_method=fork", TORCHRL, Outcome.PASS),
        expected=Outcome.FAIL,
        expected_reason="CPU weights are shared with the trainer",
    )


def vacuous() -> CellResult:
    return replace(
        cell(HELD, "", TORCHRL, Outcome.VACUOUS),
        reason="hold_forward (f1) was armed but never reached",
        faults=(FaultRecord(name="hold_forward", id="f1", armed=True, reached=False, effect=None),),
    )


def unknown() -> CellResult:
    return replace(
        cell(MASKED, "host=bare,transport=process", GYMNASIUM, Outcome.UNKNOWN),
        reason="episode_model had nothing to look at",
        checkers=(CheckerReport(name="episode_model", judged=0, error="no answered transition"),),
    )


def unsupported(scenario: tuple[str, str, str], row: str) -> CellResult:
    missing = cell(scenario, row, GYMNASIUM, Outcome.UNSUPPORTED)
    return replace(missing, reason="gymnasium has no weight sync", checkers=(), runs={})


def broken() -> CellResult:
    return replace(
        cell(KILLED, "transport=process", TORCHRL, Outcome.HARNESS_ERROR),
        reason="the guardian ended before its driver",
        directory="cells/missing",
    )


def record() -> RunRecord:
    """Every outcome, every standing, three backends, two components."""
    one, two = "exchange=value,transport=process", "exchange=value,transport=thread"
    fine = [
        cell(CLOSED, one, REFERENCE, Outcome.PASS),
        cell(CLOSED, two, REFERENCE, Outcome.PASS),
        cell(KILLED, "transport=process", REFERENCE, Outcome.PASS),
        cell(MASKED, "host=transformed,transport=thread", REFERENCE, Outcome.PASS),
        cell(MASKED, "host=bare,transport=process", REFERENCE, Outcome.PASS),
        cell(MASKED, "host=bare,transport=process", TORCHRL, Outcome.PASS),
        cell(ALIASED, "start_method=fork", REFERENCE, Outcome.PASS),
        cell(HELD, "", REFERENCE, Outcome.PASS),
        cell(CLOSED, one, GYMNASIUM, Outcome.PASS),
    ]
    red = [hang(), fail(), crash(), leak(), better(), vacuous(), unknown(), broken()]
    absent = [unsupported(ALIASED, "start_method=fork"), unsupported(HELD, "")]
    names = [f"{c}/{n}" for c, n, _ in (CLOSED, KILLED, MASKED, ALIASED, HELD)]
    cells = sorted([*fine, *red, *absent], key=lambda c: names.index(c.id.partition("[")[0]))
    return RunRecord(
        versions={"harness": "0.1.0", "python": "3.11.9", "torch": "2.13.0+cpu"},
        machine={"system": "Linux 6.1 x86_64", "cores": 2, "memory_gib": 15.6},
        seed=7,
        time_scale=1.5,
        seconds=34.2,
        backends=tuple(backend(name) for name in BACKENDS),
        cells=tuple(cells),
    )


MASK_LOST = BugSeen(
    name="mask_lost",
    text="The mask is lost.",
    caught_by="reset_mask",
    right=True,
    red=("pool/partial_reset[transport=thread]",),
    expected=("pool/partial_reset[transport=thread]",),
    hidden=(),
    checkers=("reset_mask",),
)
STEP_LOST = replace(
    MASK_LOST,
    name="step_lost",
    caught_by="routing",
    right=False,
    red=("pool/clean_run[transport=thread]", "pool/partial_reset[transport=thread]"),
    expected=("pool/clean_run[transport=thread]", "pool/failing_env[transport=thread]"),
    checkers=("routing", "reset_mask"),
    untried=3,
)


def selftest() -> RunRecord:
    """Two planted bugs, one of them not caught in a row where it should have been; a row of each kind."""
    rows = [
        row_seen("clean_run[transport=thread]", ("step_lost",), ()),
        row_seen("partial_reset[transport=thread]", ("mask_lost", "step_lost"), ("mask_lost",)),
        row_seen("failing_env[transport=thread]", (), ()),
        replace(row_seen("spawned_clean_run[]", (), ()), seconds=None),
    ]
    cells = [
        cell(MASKED, "transport=thread", "mask_lost-planted", Outcome.FAIL),
        cell(MASKED, "transport=process", "mask_lost-planted", Outcome.PASS),
    ]
    return RunRecord(
        cells=tuple(cells),
        backends=(backend("mask_lost-planted"),),
        selftest=Selftest(bugs=(MASK_LOST, STEP_LOST), rows=tuple(rows)),
    )


def row_seen(row: str, catches: tuple[str, ...], beyond: tuple[str, ...]) -> RowSeen:
    clean = row.startswith("clean_run")
    return RowSeen(row=f"pool/{row}", clean=clean, catches=catches, beyond=beyond, seconds=0.25)


def backend(identity: str) -> BackendInfo:
    name, _, version = identity.rpartition("-")
    return BackendInfo(
        id=identity,
        name=name,
        version=version,
        python="python3.11",
        versions={name: version, "numpy": "2.4.6"},
        properties={"autoreset": "next_step" if name == "gymnasium" else "same_step"},
    )


def event(ms: float, kind: str, op: str, number: int | None = None, **data: object) -> str:
    plain: dict[str, object] = {
        "v": 1,
        "ts": int(5_000 * MS + ms * MS),
        "pid": 41,
        "role": "driver",
    }
    return json.dumps({**plain, "kind": kind, "op": op, "id": number, "data": data})


def journal(outcome: Outcome) -> list[str]:
    """The lines of a cell of the pool; in a HANG and a CRASH the last operation never ends."""
    rows = [{"env": env, "obs": [0.0] * 8, "reward": 1.0, "terminated": False} for env in (0, 1)]
    error = {"type": "EOFError", "message": "the channel is closed", "causes": []}
    lines = [
        event(0, "note", "phase", phase="chaos"),
        event(0.2, "census", "opening", threads=["MainThread"]),
        event(1, "invoke", "reset", 1, deadline_s=10.0, grace_s=5.0),
        event(41, "ok", "reset", 1, rows=rows),
        event(42, "invoke", "step", 2, deadline_s=5.0, grace_s=2.5, actions=[1, 2]),
        event(43, "ok", "step", 2, rows=rows),
        event(44, "fault", "close_channel", id="f1", record="armed", detail="at shutdown"),
        event(45, "invoke", "step", 3, deadline_s=0.5, grace_s=2.5, actions=[3, 4]),
        event(950, "fail", "step", 3, error=error),
        event(951, "invoke", "shutdown", 4, deadline_s=5.0, grace_s=2.5),
        event(952, "fault", "close_channel", id="f1", record="reached", detail="before shutdown"),
        event(953, "fault", "close_channel", id="f1", record="effect", detail="closed"),
    ]
    if outcome in (Outcome.HANG, Outcome.CRASH):
        return lines
    return [*lines, event(990, "ok", "shutdown", 4), event(991, "note", "finished")]


def write_cells(run: RunRecord, run_dir: Path) -> None:
    """Leave what the cells would have left; that of the HARNESS-ERROR stays missing."""
    for each in run.cells:
        if each.directory is None or each.outcome is Outcome.HARNESS_ERROR:
            continue
        write_cell(run_dir / each.directory, each.outcome)


def write_cell(path: Path, outcome: Outcome) -> None:
    path.mkdir(parents=True)
    hung = outcome is Outcome.HANG
    left: list[dict[str, str]] = []
    how: dict[str, object] = {"exit_code": 0}
    if hung:
        how = {"hang": "spinning"}
        left = [{"kind": "process", "name": "python (pid 57)"}]
    if outcome is Outcome.CRASH:
        how = {"signal": 11}
    if outcome is Outcome.LEAK:
        left = [{"kind": "shm", "name": "psm_4c1f"}]
    ending = {"ended_by_us": hung, "leftovers": left, **how}
    (path / "request.json").write_text(json.dumps({"scenario": "…", "seed": 7}, indent=1))
    (path / "journal.jsonl").write_text("\n".join(journal(outcome)) + "\n")
    (path / "stderr.txt").write_text("a warning\n" if hung else "")
    (path / "ending.json").write_text(json.dumps(ending))
    if hung:
        stack = (
            "Thread 41 (active): MainThread\n    get (queues.py:113)\n    shutdown (pool.py:88)\n"
        )
        (path / "stacks.txt").write_text(stack)


def main() -> None:
    run_dir = Path(sys.argv[1])
    run_dir.mkdir(parents=True, exist_ok=True)
    write_cells(record(), run_dir)
    write_all(record(), run_dir)


if __name__ == "__main__":
    main()
