"""The catalogue of planted bugs: complete, and each of its entries names things that exist."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from harness.checkers import CHECKERS
from harness.engine.loader import backend_of
from harness.engine.loading import find, load
from harness.model.planted import PlantedBug
from harness.planted.catalogue import PLANTED
from tests.patience import PATIENCE_S

SCENARIOS = Path(__file__).parents[4] / "scenarios"
each_bug = pytest.mark.parametrize("bug", PLANTED, ids=lambda bug: bug.name)


@pytest.fixture(scope="module")
def rows() -> frozenset[str]:
    return frozenset(row for loaded in map(load, find((SCENARIOS,))) for row in loaded.row_ids())


def test_no_two_bugs_have_one_name():
    assert [name for name, n in Counter(bug.name for bug in PLANTED).items() if n > 1] == []


def test_no_two_bugs_have_one_backend():
    assert [ref for ref, n in Counter(bug.backend for bug in PLANTED).items() if n > 1] == []


def test_each_checker_has_a_bug_that_it_must_catch():
    assert {bug.caught_by for bug in PLANTED} == {checker.name for checker in CHECKERS}


@each_bug
def test_a_bug_is_to_be_seen_somewhere(bug: PlantedBug):
    assert bug.rows


@each_bug
def test_its_rows_are_rows_of_scenarios(bug: PlantedBug, rows: frozenset[str]):
    assert bug.rows - rows == frozenset()


@each_bug
def test_its_backend_is_called_after_it(bug: PlantedBug):
    assert backend_of(bug.backend).name == bug.name


@each_bug
def test_its_backend_has_exactly_the_component_of_its_rows(bug: PlantedBug):
    backend = backend_of(bug.backend)
    ports = {"pool": backend.pool, "weights": backend.weights, "storage": backend.storage}
    components = {row.partition("/")[0] for row in bug.rows}
    assert {name for name, port in ports.items() if port is not None} == components


@each_bug
def test_its_backend_only_forks(bug: PlantedBug):
    backend = backend_of(bug.backend)
    port = backend.pool or backend.weights or backend.storage
    assert port is not None
    assert port.capabilities.setup["start_method"] == {"fork"}


def test_importing_the_catalogue_brings_no_backend():
    program = (
        "import sys; import harness.planted.catalogue; "
        "print(sorted({'torch', 'torchrl', 'reference_impl'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert done.stdout.strip() == "[]"
