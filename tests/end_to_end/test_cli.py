"""The command as its users meet it: exit codes, replays, re-judging."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.end_to_end.command import (
    NEVER_HELD,
    ROOT,
    SERIAL,
    THREE_STEPS,
    harness,
    outcomes,
    record,
    write,
)

RAISES = "tests.backends.hostile:raises"


def test_a_clean_run_exits_0_and_leaves_all_its_files(tmp_path: Path, scenario: Path):
    done = harness("run", scenario, "--backend", SERIAL, "--reports", tmp_path)
    assert done.code == 0, done.err
    assert {"index.html", "run.json", "junit.xml", "summary.md", "cells"} <= {
        path.name for path in (tmp_path / "latest").iterdir()
    }


def test_a_red_cell_exits_1_and_prints_a_command_that_repeats_it(tmp_path: Path, scenario: Path):
    done = harness("run", scenario, "--backend", RAISES, "--reports", tmp_path)
    assert done.code == 1
    line = next(line for line in done.out.splitlines() if line.startswith("  harness replay"))
    words = shlex.split(line)[1:]
    latest = (tmp_path / "latest").resolve()
    again = harness(*words, "--reports", tmp_path)
    assert again.code == 1
    assert (tmp_path / "latest").resolve() == latest
    replayed = Path(again.out.splitlines()[-1].removeprefix("report: ")).parent
    assert replayed != latest
    cells = json.loads((replayed / "run.json").read_text())["cells"]
    assert {cell["id"]: cell["outcome"] for cell in cells} == outcomes(tmp_path)


def test_a_listed_outcome_exits_0(tmp_path: Path, scenario: Path):
    listed = '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "FAIL"\nreason = "it exits"\nexpires = "2"\n'
    write(tmp_path / "scenarios" / "expected" / "raises.toml", listed)
    assert harness("run", scenario, "--backend", RAISES, "--reports", tmp_path).code == 0
    assert record(tmp_path)["cells"][0]["expected"] == "FAIL"


def test_a_listed_outcome_that_has_expired_does_not_count(tmp_path: Path, scenario: Path):
    listed = '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "FAIL"\nreason = "it exits"\nexpires = "1"\n'
    write(tmp_path / "scenarios" / "expected" / "raises.toml", listed)
    assert harness("run", scenario, "--backend", RAISES, "--reports", tmp_path).code == 1


def test_a_listed_cell_that_passes_is_announced_and_fails_only_strictly(
    tmp_path: Path, scenario: Path
):
    listed = (
        '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "FAIL"\nreason = "old"\nexpires = "2"\n'
    )
    write(tmp_path / "scenarios" / "expected" / "serial.toml", listed)
    words = ("run", scenario, "--backend", SERIAL, "--reports", tmp_path)
    done = harness(*words)
    assert done.code == 0
    assert "listed as FAIL, but now PASS" in done.out
    assert harness(*words, "--strict").code == 1


NEVER = """
title = "A fault that is never reached"
component = "pool"

[setup]
transport = "thread"

[[steps]]
do = "reset"

[[steps]]
fault = "raise"
at = { role = "worker:0", op = "step", k = 99 }

[[steps]]
do = "step"

[[steps]]
do = "shutdown"
"""


def test_a_fault_that_never_fires_is_vacuous_and_exits_2(tmp_path: Path):
    path = write(tmp_path / "never.toml", NEVER)
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path)
    assert done.code == 2, done.out
    assert list(outcomes(tmp_path).values()) == ["VACUOUS"]


def test_a_run_judged_again_from_its_journals_says_the_same(tmp_path: Path, scenario: Path):
    harness("run", scenario, "--backend", SERIAL, "--backend", RAISES, "--reports", tmp_path)
    before = record(tmp_path)
    done = harness("judge", tmp_path / "latest")
    assert done.code == 1
    assert record(tmp_path)["cells"] == before["cells"]


def test_a_journal_that_was_changed_is_judged_as_it_is_now(tmp_path: Path, scenario: Path):
    harness("run", scenario, "--backend", SERIAL, "--reports", tmp_path)
    journal = tmp_path / "latest" / record(tmp_path)["cells"][0]["directory"] / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"reward": 1.0', '"reward": 7.0'))
    assert harness("judge", tmp_path / "latest").code == 1
    assert list(outcomes(tmp_path).values()) == ["FAIL"]


def test_list_says_what_a_backend_can_run_and_what_would_unlock_the_rest():
    done = harness("list", "--backend", SERIAL)
    assert done.code == 0
    assert "pool/clean_run[host=bare,transport=thread]" in done.out
    assert "rows more without this: the backend has no weights" in done.out


def test_doctor_says_what_the_machine_allows():
    done = harness("doctor")
    assert done.code == 0
    assert "time scale" in done.out


@pytest.mark.parametrize("component", ["pool", "weights"])
def test_the_schema_names_verbs_and_placements(component: str):
    names = json.loads(harness("schema", component).out)["$defs"]
    assert {"Placement", "Expect", "Shutdown"} <= set(names)


@pytest.mark.parametrize("backend", [SERIAL, "numpy_ring"])
def test_an_adapter_without_mistakes_checks_clean(backend: str):
    done = harness("backends", "check", backend)
    assert done.code == 0, done.out + done.err


def test_an_adapters_own_mistake_is_told_from_a_backends_defect():
    done = harness("backends", "check", "tests.backends.broken_adapter:backend")
    assert done.code == 1
    assert "the adapter's mistake" in done.out


def test_a_hold_that_nobody_comes_to_is_vacuous_and_leaves_nothing(tmp_path: Path):
    path = write(tmp_path / "never_held.toml", NEVER_HELD)
    done = harness("run", path, "--backend", "reference", "--reports", tmp_path)
    assert done.code == 2, done.out
    assert list(outcomes(tmp_path).values()) == ["VACUOUS"]


def test_what_the_budget_left_no_time_for_is_unknown_and_exits_2(tmp_path: Path, scenario: Path):
    done = harness("run", scenario, "--backend", SERIAL, "--reports", tmp_path, "--budget", "0s")
    assert done.code == 2
    assert list(outcomes(tmp_path).values()) == ["UNKNOWN"]
    assert "budget" in record(tmp_path)["cells"][0]["reason"]


def test_a_file_that_is_named_twice_runs_once(tmp_path: Path, scenario: Path):
    words = ("--backend", SERIAL, "--reports", tmp_path)
    assert harness("run", scenario, scenario.parent, *words).code == 0
    assert len(outcomes(tmp_path)) == 1


def test_a_backend_that_dies_does_not_check_clean():
    done = harness("backends", "check", "tests.backends.hostile:exits")
    assert done.code == 1
    assert "CRASH" in done.out


def test_a_crash_beside_a_child_that_lives_on_is_a_crash(tmp_path: Path, scenario: Path):
    backend = "tests.backends.slow:crashes_beside_a_child"
    words = ("--backend", backend, "--reports", tmp_path, "--time-scale", "3")
    assert harness("run", scenario, *words).code == 1
    assert list(outcomes(tmp_path).values()) == ["CRASH"]


def test_a_failure_about_time_that_a_run_alone_repeats_is_a_failure(tmp_path: Path, scenario: Path):
    words = ("--backend", "tests.backends.slow:always_late", "--time-scale", "1")
    assert harness("run", scenario, *words, "--reports", tmp_path).code == 1
    assert list(outcomes(tmp_path).values()) == ["FAIL"]


def test_a_failure_about_time_that_a_run_alone_does_not_repeat_is_unknown(
    tmp_path: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HARNESS_TEST_ONCE", str(tmp_path / "once"))
    words = ("--backend", "tests.backends.slow:late_once", "--time-scale", "1")
    assert harness("run", scenario, *words, "--reports", tmp_path).code == 2
    assert record(tmp_path)["cells"][0]["reason"].startswith("time, 1 of 2: ")
    assert harness("judge", tmp_path / "latest").code == 2
    assert record(tmp_path)["cells"][0]["reason"].startswith("time, 1 of 2: ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no_batch", "the port wants a Batch, got ndarray"),
        ("column_of_reward", "Batch.reward has shape [2], got [2, 1]"),
        ("no_close", "NoClose has no close, which the port wants (the adapter's mistake: tests"),
        ("no_transfers", "SerialPool has no transfer_ends, which the port wants"),
        ("objects", "Batch.reward holds numbers or booleans, got objects (the adapter's mistake"),
        ("reversed_pids", "but the envs in order of their index live in ["),
        ("unclosed", "close was never called on the envs 0, 1"),
        ("no_autoreset", "episode_model"),
        ("claims_processes", "worker_pids says []"),
        ("rows_one_off", "storage: rows_whole"),
        ("no_distribution", "packages: there is no distribution 'no-such-distribution'"),
        (
            "wrong_ends",
            "transfer_ends: descriptor 0 is neither a pipe nor a socket (the adapter's mistake",
        ),
        ("other_ends", "transfer_ends or hooks: no item was seen on a channel"),
        ("next_step", "autoreset: 'next_step' is declared, but the other is what the pool does"),
    ],
)
def test_typical_mistakes_of_an_adapter_are_found_by_its_check(name: str, expected: str):
    done = harness("backends", "check", f"tests.backends.broken_adapter:{name}")
    assert done.code == 1
    assert expected in done.out
    assert "not the adapter's" not in done.out


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bad_transport", "capabilities.transfers: must be one of 'thread', 'process', got"),
        ("bad_write", "capabilities.writes_input: must be one of 'next', 'root', 'env_index', got"),
        ("one_word", "capabilities.setup.transport: wants a set, as frozenset({'thread'}), got"),
        ("verbs_of_one", "capabilities.verbs: wants a set, as frozenset({'seed'}), got 'seed'"),
        ("nothing", "has no pool and no weights and no storage: there is nothing to run"),
        ("no_version", "version(): a word like 0.15, got None"),
        ("odd_name", "name: letters, digits and _, got 'my/back end@1'"),
        ("no_hook", "hooks no_such_module:put: No module named 'no_such_module'"),
        ("bad_autoreset", "capabilities.autoreset: must be one of 'same_step', 'next_step', got"),
    ],
)
def test_a_word_that_the_port_does_not_have_is_refused(name: str, expected: str):
    done = harness("backends", "check", f"tests.backends.broken_adapter:{name}")
    assert (done.code, len(done.errors)) == (64, 1)
    assert expected in done.err


def test_what_is_wrong_with_one_declaration_is_one_line():
    done = harness("backends", "check", "tests.backends.broken_adapter:no_autoreset")
    assert len(done.out.splitlines()) < 4
    assert "episode_model: " in done.out
    assert " more) (the adapter's, or the backend's)" in done.out


def test_a_check_says_what_it_did_not_look_at():
    done = harness("backends", "check", SERIAL)
    assert "pool: tried reset, step, shutdown; not tried: build_anew," in done.out


def test_a_run_that_judged_nothing_says_so(tmp_path: Path):
    words = ("--backend", SERIAL, "--reports", tmp_path)
    done = harness("run", "scenarios/weights/clean_updates.toml", *words)
    assert "nothing was judged" in done.out
    assert done.code == 2


def test_a_fault_that_did_not_fire_is_named_before_what_follows_from_it(tmp_path: Path):
    expected = '[expect]\noutcome = "fails-bounded"\n'
    path = write(tmp_path / "never.toml", f"{NEVER}\n{expected}")
    assert harness("run", path, "--backend", SERIAL, "--reports", tmp_path).code != 0
    assert record(tmp_path)["cells"][0]["reason"].startswith("fault raise (f1) did not fire")


@pytest.mark.parametrize(("name", "level"), [("writer_held_in_a_row", 2), ("clean_writes", 3)])
def test_a_cell_in_which_a_writer_is_held_rests_on_a_chosen_interleaving(
    tmp_path: Path, name: str, level: int
):
    path = ROOT / "scenarios" / "storage" / f"{name}.toml"
    harness("run", path, "--backend", "numpy_ring", "--reports", tmp_path)
    assert {cell["level"] for cell in record(tmp_path)["cells"]} == {level}


def test_a_list_is_printed_for_a_backend_by_its_own_name(tmp_path: Path, scenario: Path):
    harness("run", scenario, "--backend", RAISES, "--reports", tmp_path)
    words = ("--backend", "raises", "--expires", "2")
    done = harness("expect", tmp_path / "latest", *words)
    assert done.code == 0
    assert done.err == "for scenarios/expected/raises.toml:\n"
    assert 'checkers = ["expected_outcome"]' in done.out
    write(tmp_path / "scenarios" / "expected" / "raises.toml", done.out)
    assert harness("run", scenario, "--backend", RAISES, "--reports", tmp_path).code == 0


def test_a_list_that_is_printed_again_keeps_what_it_said(tmp_path: Path, scenario: Path):
    listed = '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "FAIL"\ncheckers = ["expected_outcome"]\n'
    listed += 'reason = "it exits"\nconfirmed = "raises-1/it_exits.py"\nexpires = "1.5"\n'
    write(tmp_path / "scenarios" / "expected" / "raises.toml", listed)
    harness("run", scenario, "--backend", RAISES, "--reports", tmp_path)
    words = ("--backend", "raises", "--expires", "2")
    assert listed in harness("expect", tmp_path / "latest", *words).out


def test_a_listed_cell_in_which_another_checker_finds_something_is_worse(
    tmp_path: Path, scenario: Path
):
    listed = '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "FAIL"\nreason = "it exits"\nexpires = "2"\n'
    listed += 'checkers = ["routing"]\n'
    write(tmp_path / "scenarios" / "expected" / "raises.toml", listed)
    done = harness("run", scenario, "--backend", RAISES, "--reports", tmp_path)
    assert done.code == 1
    assert "0 as listed" in done.out
    assert "FAIL pool/three_steps[]@raises-1: beside what is listed, expected_outcome: " in done.out


@pytest.mark.parametrize(
    ("row", "cells"),
    [("horizon=2", 1), ("pool/three_steps[horizon=2]", 1), ("pool/three_steps", 2)],
)
def test_a_row_is_asked_for_by_whatever_names_it(
    tmp_path: Path, scenario: Path, row: str, cells: int
):
    write(scenario, THREE_STEPS + "\n[matrix]\nhorizon = [2, 3]\n")
    done = harness("run", scenario, "--backend", SERIAL, "--row", row, "--reports", tmp_path)
    assert done.code == 0
    assert len(outcomes(tmp_path)) == cells


def test_a_listed_hang_that_fails_now_says_why_and_how_to_repeat_it(tmp_path: Path, scenario: Path):
    listed = (
        '[[cells]]\ncell = "pool/three_steps[]"\noutcome = "HANG"\nreason = "old"\nexpires = "2"\n'
    )
    write(tmp_path / "scenarios" / "expected" / "raises.toml", listed)
    done = harness("run", scenario, "--backend", RAISES, "--reports", tmp_path)
    assert done.code == 0
    lines = done.out.splitlines()
    told = lines.index("listed as HANG, but now FAIL: pool/three_steps[]@raises-1")
    assert lines[told + 1].startswith("  expected_outcome: ")
    assert lines[told + 2].startswith("  harness replay ")
