"""A server that dies or stops costs the cells that run on it; those that wait get another."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.engine import cell, servers
from harness.engine.loading import load
from harness.engine.plan import Options
from harness.engine.runs import run
from harness.model.run import RunRecord
from harness.report.console import Progressing
from tests.end_to_end.command import THREE_STEPS, write

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hostile")]

ONE_STEP = THREE_STEPS.replace("times = 3", "times = 1")  # in which no hostile backend strikes


def ran(tmp_path: Path, backend: str) -> RunRecord:
    texts = {"a_first": THREE_STEPS, "b_second": ONE_STEP, "c_third": THREE_STEPS}
    files = [write(tmp_path / f"{name}.toml", text) for name, text in texts.items()]
    root = tmp_path / "run"
    root.mkdir()
    options = Options(backends=(f"tests.backends.hostile:{backend}",), jobs=1, time_scale=1.0)
    silent = Progressing(quiet=True)
    return run([load(path) for path in files], options, root, audience=silent)


def test_a_server_that_died_is_started_again(tmp_path: Path):
    found = [(each.outcome, each.reason) for each in ran(tmp_path, "kills_its_server").cells]
    lost = ("HARNESS-ERROR", "the backend's server died")
    assert [found[0], found[1][0], found[2]] == [lost, "PASS", lost]


def test_a_server_that_kills_itself_in_every_cell_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(servers, "RESTARTS_MAX", 0)
    found = [(each.outcome, each.reason) for each in ran(tmp_path, "kills_its_server").cells]
    assert found == [("HARNESS-ERROR", "the backend's server died")] * 3


def test_a_server_that_does_not_answer_is_given_up_in_time_and_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cell, "HEAR_S", 0.5)
    monkeypatch.setattr(servers, "END_S", 0.5)
    found = [each.outcome for each in ran(tmp_path, "stops_its_server").cells]
    assert found == ["PASS"] * 3  # their guardians have left an account of each
