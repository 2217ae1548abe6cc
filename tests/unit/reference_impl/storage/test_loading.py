"""A load that fails: what was there is there, or as much of it as was not yet written over."""

from __future__ import annotations

import errno
import itertools
import os
import signal

import pytest

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from reference_impl.storage import NotAStorage, RingBusy, RowsMismatch, SharedStorage, checkpoint
from reference_impl.storage.columns import Columns
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.interrupts import interrupted_at
from tests.unit.reference_impl.storage.rows import rows, stamps


def filled(capacity: int, *batches: int, first: int = 0, **options) -> SharedStorage:
    storage = SharedStorage(capacity, **options)
    for number in batches:
        storage.append(rows(first, number))
        first += number
    return storage


def cut_off(path):
    os.truncate(path / "rows", (path / "rows").stat().st_size - 5000)


def without_rows(path):
    (path / "rows").unlink()


def without_header(path):
    os.truncate(path / "ring", 0)


def other_header(path):
    (path / "ring").write_bytes(b"x" * (path / "ring").stat().st_size)


def other_form(path):
    whole = (path / "ring").read_bytes()
    (path / "ring").write_bytes(whole.replace(b"columns", b"columms"))


BROKEN = [cut_off, without_rows, without_header, other_header, other_form]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_dump_of_which_a_part_is_missing_is_refused_and_changes_nothing(tmp_path, broken):
    filled(7, 5, first=50, path=tmp_path).flush()
    broken(tmp_path)
    before = {one.name: one.stat().st_size for one in tmp_path.iterdir()}
    storage = filled(7, 4)
    with pytest.raises(NotAStorage, match=str(tmp_path)):
        storage.loads(tmp_path)
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == ([0, 1, 2, 3], 0)
    assert {one.name: one.stat().st_size for one in tmp_path.iterdir()} == before


def test_a_disk_that_does_not_give_a_dump_back_is_an_error_and_changes_nothing(
    tmp_path, monkeypatch
):
    filled(7, 5, first=50).dumps(tmp_path)
    storage = filled(7, 4)

    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", fails)
    with pytest.raises(OSError, match="Input/output"):
        storage.loads(tmp_path)
    assert stamps(storage.get(slice(None))) == [0, 1, 2, 3]


def other_rows(state):
    return {**state, "rows": state["rows"].exclude("wide")}


def fewer_rows(state):
    return {**state, "rows": state["rows"][:-1]}


def no_form(state):
    return {key: value for key, value in state.items() if key != "form"}


def runs_elsewhere(state):
    return {**state, "runs": [(start + 2, number) for start, number in state["runs"]]}


def runs_twice(state):
    (run,) = state["runs"]
    return {**state, "runs": [(run[0], 2), (run[0], run[1] - 2)]}


@pytest.mark.parametrize("wrong", [other_rows, fewer_rows, no_form, runs_elsewhere, runs_twice])
@pytest.mark.parametrize("batches", [(), (4,)])
def test_a_state_that_is_none_is_refused_and_changes_nothing(wrong, batches):
    state, storage = filled(7, 5, first=50).state_dict(), filled(7, *batches)
    with pytest.raises((NotAStorage, RowsMismatch)):
        storage.load_state_dict(wrong(state))
    assert storage.initialized == bool(batches)
    assert len(storage) == sum(batches)
    storage.load_state_dict(state)
    assert len(storage) == 5


def test_a_state_of_another_capacity_is_refused_by_a_storage_without_rows():
    storage = SharedStorage(7)
    with pytest.raises(RowsMismatch, match="storage of 5"):
        storage.load_state_dict(filled(5, 3).state_dict())
    assert not storage.initialized


@pytest.mark.parametrize("copied", range(4))
def test_of_a_load_that_is_interrupted_what_was_not_written_over_is_there(monkeypatch, copied):
    monkeypatch.setattr(checkpoint, "_CHUNK_BYTES", 1)
    state = filled(6, 8, first=50).state_dict()
    state["runs"] = [(start, 1) for start in range(2, 8)]
    storage, write = filled(6, 9), Columns.write
    left = [copied]

    def interrupted(self, *given):
        write(self, *given)
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(Columns, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        storage.load_state_dict(state)
    monkeypatch.undo()
    gone = [p % 6 for p in range(2, 3 + copied)]
    there = [p for slot, p in enumerate([6, 7, 8, 3, 4, 5]) if slot not in gone]
    assert (stamps(storage.get(slice(None))), storage.lost_rows) == (there, copied + 1)
    assert storage.append(rows(9, 6)).tolist() == [3, 4, 5, 0, 1, 2]
    assert stamps(storage.get(slice(None))) == [12, 13, 14, 9, 10, 11]


def test_a_load_that_is_interrupted_before_its_first_row_changes_nothing(monkeypatch):
    storage, other = filled(6, 9), filled(6, 3, first=50)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "entries_of", interrupted)
    assert other.shared.layout is not None
    with pytest.raises(KeyboardInterrupt):
        checkpoint._fill(storage, other.shared.layout, other.view().ring, [(0, rows(50, 3))])
    assert stamps(storage.get(slice(None))) == [6, 7, 8, 3, 4, 5]
    assert (storage.lost_rows, storage.view()._last_cursor_index) == (0, 2)


def test_what_was_emptied_while_a_load_failed_stays_so(monkeypatch):
    state, storage = filled(6, 4, first=50).state_dict(), filled(6, 4)

    def fails(*_):
        storage.shared.empty(count=True)
        raise MemoryError

    monkeypatch.setattr(Columns, "write", fails)
    with pytest.raises(MemoryError):
        storage.load_state_dict(state)
    monkeypatch.undo()
    assert len(storage) == 0
    assert storage.append(rows(9, 6)).tolist() == list(range(6))


def test_slots_of_a_failed_load_are_given_up_once_the_ring_can_be_had(monkeypatch):
    state, storage = filled(6, 4, first=50).state_dict(), filled(6, 4)

    def busy(*_):
        raise RingBusy

    def fails(*_):
        monkeypatch.setattr(storage.shared._lock, "run", busy)
        raise MemoryError

    monkeypatch.setattr(Columns, "write", fails)
    with pytest.raises(RingBusy):
        storage.load_state_dict(state)
    monkeypatch.undo()
    assert storage.append(rows(9, 6)).tolist() == [4, 5, 0, 1, 2, 3]


def test_a_load_that_is_interrupted_anywhere_keeps_nobody_from_writing():
    state = filled(4, 4, first=50).state_dict()
    old, new = {0, 1, 2, 3}, {50, 51, 52, 53}
    for point in itertools.count():
        storage = filled(4, 4, patience_s=0.2)
        interrupted = interrupted_at(point, storage.load_state_dict, state)
        there = set(stamps(storage.get(slice(None))))
        assert there == new or (interrupted and there <= old)
        storage.append(rows(9, 4))
        assert stamps(storage.get(slice(None))) == [9, 10, 11, 12]
        if not interrupted:
            break
    assert point > 300


def killed_in_a_load(storage, state):
    write = Columns.write

    def dies(self, *given):
        write(self, *given)
        os.kill(os.getpid(), signal.SIGKILL)

    Columns.write = dies  # type: ignore[method-assign]  # in a process of its own
    storage.load_state_dict(state)


def test_whoever_is_killed_in_a_load_holds_up_nobody():
    state, storage = filled(6, 4, first=50).state_dict(), filled(6, 4, patience_s=20.0)
    process = start_process(killed_in_a_load, (storage, state), name="loader", start_method="fork")
    assert process.join(Deadline.after(PATIENCE_S))
    assert process.exitcode == -signal.SIGKILL
    process.release()
    assert storage.append(rows(9, 6)).tolist() == [4, 5, 0, 1, 2, 3]
    assert (sorted(stamps(storage.get(slice(None)))), storage.lost_rows) == ([*range(9, 15)], 6)
