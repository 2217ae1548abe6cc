"""What the user can put right is one line that names file, key and value, and exit code 64."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.command import NEVER_HELD, SERIAL, THREE_STEPS, harness, write

BAD_FILES = {
    "unknown key": (
        'do = "step"\ntims = 3',
        "steps[1].tims: unknown key (known are times, within_s), got 3",
    ),
    "unknown verb": ('do = "stepp"', "steps[1].do: unknown, must be one of"),
    "unknown fault": ('fault = "explode"', "steps[1].fault: unknown, must be one of"),
    "wrong type": ('do = "step"\ntimes = "3"', "steps[1].times:"),
    "two kinds": ('do = "step"\nphase = "converge"', "got do and phase"),
    "no kind": ("within_s = 1.0", "exactly one of"),
    "no such placement": (
        'fault = "raise"\nat = { role = "worker:0", op = "dance" }',
        "steps[1].at.op: a worker of pool does close, construct, pickle, reset, step, got 'dance'",
    ),
    "a placement too late": (
        'fault = "close_channel"\nchannel = "results"\nat = { role = "driver", op = "reset", k = 9 }',
        "steps[1].at: reset number 9 does not come after this step",
    ),
    "no such fault to heal": (
        'heal = "f7"',
        "steps[1].heal: no fault before it has the id 'f7'",
    ),
    "a leave before the end": (
        'do = "leave"',
        "steps[1].do: leave is the last step, 1 come after it",
    ),
    "a verb that leaves the twin behind": (
        'do = "compare"\nentry = "step"',
        "steps[0].do: where calls are compared there are only close_beside, compare, idle,",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_mistake_in_a_file_is_one_line_with_file_key_and_value(tmp_path: Path, case: str):
    step, expected = BAD_FILES[case]
    text = THREE_STEPS.replace('do = "step"\ntimes = 3\nwithin_s = 1.0', step)
    path = write(tmp_path / "bad.toml", text)
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path)
    assert done.code == 64
    assert len(done.errors) == 1
    assert str(path) in done.err
    assert expected in done.err


def test_a_payload_that_cannot_be_compared_is_one_line(tmp_path: Path):
    text = 'title = "x"\ncomponent = "pool"\n[setup]\npayload = "image"\n[[steps]]\ndo = "compare"\nentry = "step"'
    done = harness(
        "run",
        write(tmp_path / "bad.toml", text),
        "--backend",
        SERIAL,
        "--reports",
        tmp_path,
    )
    assert (done.code, len(done.errors)) == (64, 1)
    assert "setup.payload: what is compared is one of plain, reused, reward_array" in done.err


BAD_PLACEMENTS = {
    "an item that is struck where it is got": (
        'fault = "drop_transfer"\nchannel = "results"\nrole = "driver"',
        "steps[1].role: results are put by a worker, got 'driver'",
    ),
    "an item of a worker that is not there": (
        'fault = "delay_transfer"\nchannel = "results"\nrole = "worker:9"',
        "workers, got 'worker:9'",
    ),
    "an item before the first": (
        'fault = "drop_transfer"\nchannel = "commands"\nrole = "driver"\nk = 0',
        "steps[1].k: counts from 1, got 0",
    ),
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
        "component: must be one of pool, weights, storage, got 'poool'",
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
    "a library whose import leaves a thread of its own": (
        ["--backend", "tests.backends.restless:backend"],
        "importing it leaves 2 threads running",
    ),
    "an adapter that leaves when it is imported": (
        ["--backend", "tests.backends.importing:exits"],
        "the server did not start: it left with exit code 7; it said nothing",
    ),
    "an adapter that crashes when it is imported": (
        ["--backend", "tests.backends.importing:segfaults"],
        "the server did not start: SIGSEGV ended it; it said nothing",
    ),
    "an attribute that is not there": (["--backend", "tests.backends.serial:nothing"], "'nothing'"),
    "something that is no backend": (
        ["--backend", "tests.backends.serial:np"],
        "not a harness Backend",
    ),
    "no such interpreter": (["--backend", SERIAL, "--python", "/no/python"], "/no/python"),
    "empty selection": (["--backend", SERIAL, "--row", "stack=soft"], "stack=soft"),
    "a row beside another that is not there": (
        ["--row", "", "--row", "stack=soft"],
        "--row: stack=soft: no scenario has such a row",
    ),
    "a row with its backend": (
        ["--row", "pool/three_steps[]@serial-1"],
        "--row: pool/three_steps[]@serial-1: a row is named without a backend",
    ),
    "unknown option": (["--colour"], "--colour"),
    "bad number": (["--repeat", "0"], "--repeat"),
    "a time scale that is no number": (["--time-scale", "nan"], "a finite number, got nan"),
    "a time scale without end": (["--time-scale", "inf"], "a finite number, got inf"),
    "a time scale below 1": (["--time-scale", "0.5"], "at least 1, got 0.5"),
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


def test_a_mistake_in_a_list_of_outcomes_is_one_line(tmp_path: Path, scenario: Path):
    path = write(
        tmp_path / "scenarios" / "expected" / "serial.toml",
        '[[cells]]\ncell = "x"\noutcome = "FALL"\nreason = "r"\nexpires = "2"\n',
    )
    done = harness("run", scenario, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert str(path) in done.err
    assert "'FALL'" in done.err


def test_a_backend_that_is_named_twice_is_one_line(tmp_path: Path, scenario: Path):
    done = harness("run", scenario, "--backend", SERIAL, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert f"--backend: {SERIAL}: is named twice" in done.err


def test_two_backends_of_one_name_are_one_line(tmp_path: Path, scenario: Path):
    other = "tests.backends.broken_adapter:serial"
    words = ("--backend", SERIAL, "--backend", other, "--reports", tmp_path)
    done = harness("run", scenario, *words)
    assert (done.code, len(done.errors)) == (64, 1)
    assert f"--backend: {other}: calls itself serial-1, and so does {SERIAL}" in done.err


def test_two_files_of_one_name_are_one_line(tmp_path: Path, scenario: Path):
    other = write(tmp_path / "three_steps.toml", THREE_STEPS)
    done = harness("run", scenario, other, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "two cells have the id pool/three_steps[]@serial-1" in done.err


def test_an_entry_point_with_the_name_of_our_own_backend_is_one_line(tmp_path: Path):
    about = tmp_path / "other-1.dist-info"
    write(about / "METADATA", "Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    write(about / "entry_points.txt", "[harness.backends]\nreference = other:backend\n")
    done = harness("backends", "check", "reference", path=tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    wrong = "may be other:backend or harness.adapters.reference:backend: say which by module:attr"
    assert f"--backend: reference: {wrong}" in done.err


def test_a_title_that_is_misspelt_is_named_rather_than_the_one_that_is_missing(tmp_path: Path):
    path = write(tmp_path / "bad.toml", THREE_STEPS.replace("title =", "titel ="))
    done = harness("run", path, "--backend", SERIAL, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert "titel: unknown key (known are title, component" in done.err


def test_a_word_that_the_port_does_not_have_is_one_line(tmp_path: Path, scenario: Path):
    backend = "tests.backends.broken_adapter:misspelt"
    done = harness("run", scenario, "--backend", backend, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert (
        "capabilities.setup.transport: must be one of 'thread', 'process', got 'threads'"
        in done.err
    )


def test_a_replay_of_a_cell_that_is_not_of_this_file_is_one_line(tmp_path: Path, scenario: Path):
    cell = "pool/four_steps[]@serial-1"
    done = harness("replay", cell, "--scenario", scenario, "--reports", tmp_path)
    assert (done.code, len(done.errors)) == (64, 1)
    assert f"CELL: {cell}: {scenario} is pool/three_steps" in done.err
