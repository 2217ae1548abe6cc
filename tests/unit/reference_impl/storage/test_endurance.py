"""Short versions of the long runs of `tools/storage_endurance.py`, and that they see what is wrong."""

from __future__ import annotations

import pytest

from reference_impl.core.clock import Deadline
from reference_impl.storage import columns
from reference_impl.storage.shared_ring import SharedRing
from reference_impl.storage.view import View
from tools.storage_endurance import endure, reopen

ROWS = 6000


def short(capacity: int = 100_000, seed: int = 0):
    return endure(rows=ROWS, writers=3, kills=8, capacity=capacity, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("capacity", [100_000, 501])
def test_rows_of_writers_that_are_killed_are_whole_once_or_not_at_all(capacity):
    seen = short(capacity)
    assert seen.wrong == []
    assert (seen.rows >= ROWS, seen.kills, seen.samples > 10) == (True, 11, True)


@pytest.mark.slow
def test_a_storage_is_found_again_after_each_crash(tmp_path):
    seen = reopen(times=12, capacity=300, seed=1, folder=str(tmp_path / "kept"))
    assert seen.wrong == []
    assert (seen.kills, seen.rows > 300) == (12, True)


@pytest.mark.slow
def test_samples_that_are_not_checked_are_found_to_be_torn(monkeypatch):
    put = columns.put

    def slowly(*given):
        put(*given)
        Deadline.after(1.0).pause(0.001)  # so that readers come between two columns

    monkeypatch.setattr(columns, "put", slowly)
    monkeypatch.setattr(View, "closed", lambda *_: None)
    monkeypatch.setattr(View, "_note", lambda *_: None)
    assert any("torn" in one for one in short(90).wrong)


@pytest.mark.slow
def test_rows_that_are_committed_and_not_written_are_found(monkeypatch):
    monkeypatch.setattr(columns.Columns, "write", lambda *_: None)
    assert any("torn" in one for one in short(90).wrong)


@pytest.mark.slow
def test_batches_that_are_lost_are_found(monkeypatch):
    commit = SharedRing.commit

    def forgets(self, claim, deadline):
        (self.lose if claim.start % 50 == 7 else lambda claim: commit(self, claim, deadline))(claim)

    monkeypatch.setattr(SharedRing, "commit", forgets)
    assert any("are gone" in one for one in short().wrong)
