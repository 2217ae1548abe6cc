"""The command as its users meet it: exit codes, one-line errors, replays."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.end_to_end.command import THREE_STEPS, harness, outcomes, record, write

SERIAL = "tests.backends.serial:backend"
RAISES = "tests.backends.hostile:raises"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return write(tmp_path / "scenarios" / "pool" / "three_steps.toml", THREE_STEPS)


BAD_FILES = {
    "unknown key": ("tims = 3", 'do = "step"\ntims = 3', "steps[1].tims: unknown key, got 3"),
    "unknown verb": ("", 'do = "stepp"', "steps[1].do: unknown, must be one of"),
    "unknown fault": ("", 'fault = "explode"', "steps[1].fault: unknown, must be one of"),
    "wrong type": ("", 'do = "step"\ntimes = "3"', "steps[1].times:"),
    "two kinds": ("", 'do = "step"\nphase = "converge"', "got do and phase"),
    "no kind": ("", "within_s = 1.0", "exactly one of"),
    "no such placement": (
        "",
        'fault = "raise"\nat = { role = "worker:0", op = "dance" }',
        "steps[1].at.op: a worker of pool does construct, reset, step, got 'dance'",
    ),
    "a placement too late": (
        "",
        'fault = "close_channel"\nchannel = "results"\nat = { role = "driver", op = "reset", k = 9 }',
        "steps[1].at: reset number 9 does not come after this step",
    ),
    "no such fault to heal": (
        "",
        'heal = "f7"',
        "steps[1].heal: no fault before it has the id 'f7'",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_mistake_in_a_file_is_one_line_with_file_key_and_value(tmp_path: Path, case: str):
    _, step, expected = BAD_FILES[case]
    text = THREE_STEPS.replace('do = "step"\ntimes = 3\nwithin_s = 1.0', step)
    path = write(tmp_path / "bad.toml", text)
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path)
    assert done.code == 64
    assert len(done.errors) == 1
    assert str(path) in done.err
    assert expected in done.err


BAD_PLACEMENTS = {
    "a worker's fault at the driver": (
        'fault = "raise"\nat = { role = "driver", op = "step" }',
        "steps[1].at.role: raise strikes worker or worker:INDEX, got 'driver'",
    ),
    "a driver's fault at a worker": (
        'fault = "collect_cycle"\nat = { role = "worker", op = "step" }',
        "steps[1].at.role: collect_cycle strikes driver, got 'worker'",
    ),
    "a worker that is not there": (
        'fault = "raise"\nat = { role = "worker:7", op = "step" }',
        "steps[1].at.role: there are 2 workers, got 'worker:7'",
    ),
}


@pytest.mark.parametrize("case", BAD_PLACEMENTS)
def test_a_placement_that_cannot_be_reached_is_one_line(tmp_path: Path, case: str):
    step, expected = BAD_PLACEMENTS[case]
    text = THREE_STEPS.replace('do = "step"\ntimes = 3\nwithin_s = 1.0', step)
    path = write(tmp_path / "bad.toml", text)
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert expected in done.err


def test_a_hold_that_outlasts_what_runs_during_it_is_one_line(tmp_path: Path):
    during = 'during = { do = "mutate", version = 2, within_s = 1.0 }'
    path = write(tmp_path / "bad.toml", NEVER_HELD.replace("k = 99 }", "k = 1 }\nbound_s = 1.5"))
    path.write_text(path.read_text().replace('during = { do = "mutate", version = 2 }', during))
    done = harness("run", path, "--backend", "reference", "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "steps[1].bound_s: below the deadline" in done.err


BAD_TEXTS = {
    "broken TOML": ("title = ", "not valid TOML"),
    "no steps": ('title = "x"\ncomponent = "pool"', "steps: a scenario has at least one step"),
    "unknown component": (
        'title = "x"\ncomponent = "poool"\n[[steps]]\ndo = "reset"',
        "component: must be one of pool, weights, got 'poool'",
    ),
    "unknown matrix key": (
        THREE_STEPS + "\n[matrix]\ncolour = [1]",
        "matrix.colour: no such setup key",
    ),
    "bad matrix value": (THREE_STEPS + '\n[matrix]\ntransport = ["carrier"]', "got 'carrier'"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_a_file_that_is_no_scenario_is_one_line(tmp_path: Path, case: str):
    text, expected = BAD_TEXTS[case]
    path = write(tmp_path / "bad.toml", text)
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert str(path) in done.err
    assert expected in done.err


BAD_WORDS = {
    "unknown backend": (["--backend", "nonesuch"], "nonesuch"),
    "an adapter that fails to import": (
        ["--backend", "tests.backends.broken:backend"],
        "no_such_package",
    ),
    "an attribute that is not there": (["--backend", "tests.backends.serial:nothing"], "'nothing'"),
    "something that is no backend": (
        ["--backend", "tests.backends.serial:np"],
        "not a harness Backend",
    ),
    "no such interpreter": (["--backend", SERIAL, "--python", "/no/python"], "/no/python"),
    "empty selection": (["--backend", SERIAL, "--row", "stack=soft"], "stack=soft"),
    "unknown option": (["--colour"], "--colour"),
    "bad number": (["--repeat", "0"], "--repeat"),
    "bad budget": (["--budget", "soon"], "soon"),
}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_a_mistake_on_the_command_line_is_one_line(tmp_path: Path, scenario: Path, case: str):
    words, expected = BAD_WORDS[case]
    done = harness("run", scenario, "--reports", tmp_path, *words)
    assert (done.code, len(done.errors)) == (64, 1), done.err
    assert expected in done.err


def test_a_missing_file_is_one_line(tmp_path: Path):
    done = harness("run", tmp_path / "none.toml", "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "none.toml" in done.err


def test_a_directory_without_scenarios_is_one_line(tmp_path: Path):
    done = harness("run", tmp_path, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "no scenario files" in done.err


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
    again = harness(*words, "--reports", tmp_path / "again")
    assert again.code == 1
    assert outcomes(tmp_path / "again") == outcomes(tmp_path)


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


def test_a_mistake_in_a_list_of_outcomes_is_one_line(tmp_path: Path, scenario: Path):
    path = write(
        tmp_path / "scenarios" / "expected" / "serial.toml",
        '[[cells]]\ncell = "x"\noutcome = "FALL"\nreason = "r"\nexpires = "2"\n',
    )
    done = harness("run", scenario, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert str(path) in done.err
    assert "'FALL'" in done.err


NEVER = """
title = "A fault that is never reached"
component = "pool"

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


def test_an_adapter_without_mistakes_checks_clean():
    assert harness("backends", "check", SERIAL).code == 0


def test_an_adapters_own_mistake_is_told_from_a_backends_defect():
    done = harness("backends", "check", "tests.backends.broken_adapter:backend")
    assert done.code == 1
    assert "the adapter's mistake" in done.out


NEVER_HELD = """
title = "A forward that is never held"
component = "weights"

[[steps]]
do = "forward"

[[steps]]
fault = "hold_forward"
at = { role = "worker:0", op = "forward", k = 99 }
during = { do = "mutate", version = 2 }

[[steps]]
do = "shutdown"
"""


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


def test_two_cells_with_one_id_are_one_line(tmp_path: Path, scenario: Path):
    done = harness("run", scenario, "--backend", SERIAL, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "pool/three_steps[]@serial-1" in done.err


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
    backend = "tests.backends.slow:always_late"
    assert harness("run", scenario, "--backend", backend, "--reports", tmp_path).code == 1
    assert list(outcomes(tmp_path).values()) == ["FAIL"]


def test_a_failure_about_time_that_a_run_alone_does_not_repeat_is_unknown(
    tmp_path: Path, scenario: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HARNESS_TEST_ONCE", str(tmp_path / "once"))
    backend = "tests.backends.slow:late_once"
    assert harness("run", scenario, "--backend", backend, "--reports", tmp_path).code == 2
    assert record(tmp_path)["cells"][0]["reason"].startswith("time, 1 of 2: ")
    assert harness("judge", tmp_path / "latest").code == 2
    assert record(tmp_path)["cells"][0]["reason"].startswith("time, 1 of 2: ")
