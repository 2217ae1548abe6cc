"""What a cell's directory is called."""

from __future__ import annotations

from harness.engine.plan import NAME_MAX, slug


def test_a_directory_is_called_after_its_cell():
    assert slug("pool/clean_run[host=bare]@ring-0.1") == "pool_clean_run_host=bare_@ring-0.1"


def test_cells_with_long_names_have_directories_of_their_own():
    one, other = (f"pool/row[{'key=value,' * 40}last={i}]@ring-0.1" for i in (1, 2))
    assert len(slug(one)) == len(slug(other)) == NAME_MAX
    assert slug(one) != slug(other)
    assert slug(one) == slug(one)
