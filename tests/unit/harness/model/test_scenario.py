"""A scenario's matrix gives rows, and a row on a backend an id."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from harness.model.scenario import NAME_MAX, Expect, Expected, Heal, Scenario, cell_id, slug


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Stands for a component's setup."""

    num_envs: int = 2
    transport: str = "thread"
    pinned: bool = False


def scenario(**matrix) -> Scenario[Setup, Heal]:
    return Scenario(title="X", component="pool", steps=(), setup=Setup(num_envs=3), matrix=matrix)


def test_a_scenario_without_a_matrix_has_one_row_with_its_own_setup():
    (row,) = scenario().rows()
    assert (row.key, row.values, row.setup) == ("", {}, Setup(num_envs=3))


def test_every_combination_is_a_row_with_sorted_keys_and_values_as_given():
    rows = scenario(transport=("thread", "process"), num_envs=(4, 2)).rows()
    assert [row.key for row in rows] == [
        "num_envs=4,transport=thread",
        "num_envs=4,transport=process",
        "num_envs=2,transport=thread",
        "num_envs=2,transport=process",
    ]


def test_a_row_replaces_the_setup_only_where_the_matrix_says_so():
    rows = scenario(transport=("process",)).rows()
    assert rows[0].setup == Setup(num_envs=3, transport="process")


def test_booleans_are_written_as_in_the_file():
    assert [row.key for row in scenario(pinned=(True, False)).rows()] == [
        "pinned=true",
        "pinned=false",
    ]


def test_a_matrix_key_that_the_setup_lacks_is_refused():
    with pytest.raises(TypeError, match="colour"):
        scenario(colour=("red",)).rows()


def test_a_cell_is_named_by_component_scenario_row_and_backend():
    assert cell_id(
        "pool", "closed_channel", "exchange=slots,transport=process", "torchrl-0.14.1"
    ) == ("pool/closed_channel[exchange=slots,transport=process]@torchrl-0.14.1")


@pytest.mark.parametrize(
    ("outcome", "outcomes"),
    [
        (Expected.SURVIVES, (Expected.SURVIVES,)),
        ((Expected.RECOVERS, Expected.SURVIVES), (Expected.RECOVERS, Expected.SURVIVES)),
    ],
)
def test_one_outcome_or_several_are_read_alike(outcome, outcomes):
    assert Expect(outcome=outcome).outcomes == outcomes


def test_a_scenario_expects_its_backend_to_survive_by_default():
    assert scenario().expect.outcomes == (Expected.SURVIVES,)


def test_a_directory_is_called_after_its_cell():
    assert slug("pool/clean_run[host=bare]@ring-0.1") == "pool_clean_run_host=bare_@ring-0.1"


def test_cells_with_long_names_have_directories_of_their_own():
    one, other = (f"pool/row[{'key=value,' * 40}last={i}]@ring-0.1" for i in (1, 2))
    assert len(slug(one)) == len(slug(other)) == NAME_MAX
    assert slug(one) != slug(other)
    assert slug(one) == slug(one)
