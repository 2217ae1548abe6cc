"""What is kept of a storage while others write, and brought back."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from reference_impl.storage import (
    NoRoom,
    NotAStorage,
    RingBusy,
    RowsMismatch,
    SharedReplayBuffer,
    SharedStorage,
    SharedTensorDictReplayBuffer,
    checkpoint,
    places,
    replacing,
)
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.storage.locks import held
from tests.unit.reference_impl.storage.rows import rows, stamps
from tests.unit.reference_impl.storage.test_lock import others_find_it_held


def filled(capacity: int, *batches: int, **options) -> SharedStorage:
    storage, first = SharedStorage(capacity, **options), 0
    for number in batches:
        storage.append(rows(first, number))
        first += number
    return storage


def by_dump(of: SharedStorage, to: SharedStorage, path) -> None:
    of.dumps(path / "kept")
    to.loads(path / "kept")


def by_state(of: SharedStorage, to: SharedStorage, _path) -> None:
    to.load_state_dict(of.state_dict())


WAYS = pytest.mark.parametrize("way", [by_dump, by_state])


@WAYS
@pytest.mark.parametrize("batches", [(), (3,), (7,), (7, 4), (5, 5, 5)])
@pytest.mark.parametrize("before", [(), (2,), (7, 6)])
def test_rows_come_back_to_their_slots(tmp_path, way, batches, before):
    storage, other = filled(7, *batches), filled(7, *before)
    way(storage, other, tmp_path)
    assert len(other) == len(storage)
    if batches:
        assert stamps(other.get(slice(None))) == stamps(storage.get(slice(None)))
        assert other._last_cursor_index == storage._last_cursor_index
        assert other.append(rows(90, 2)).tolist() == storage.append(rows(90, 2)).tolist()
        assert stamps(other.get(slice(None))) == stamps(storage.get(slice(None)))


@WAYS
def test_lost_rows_do_not_come_back(tmp_path, way):
    storage, other = filled(7, 7), SharedStorage(7)
    storage.shared.lose(storage.shared.claim(2))
    storage.append(rows(9, 1))
    storage.shared.claim(1)
    way(storage, other, tmp_path)
    assert stamps(other.get(slice(None))) == [9, 4, 5, 6]


def test_a_dump_is_a_storage(tmp_path):
    filled(5, 7).dumps(tmp_path / "kept")
    assert stamps(SharedStorage(5, path=tmp_path / "kept").get(slice(None))) == [5, 6, 2, 3, 4]


def test_a_dump_replaces_the_one_before_and_leaves_no_other_file(tmp_path):
    for number in (2, 4):
        filled(5, number).dumps(tmp_path / "kept")
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]
    assert len(list((tmp_path / "kept").iterdir())) == 2
    assert len(SharedStorage(5, path=tmp_path / "kept")) == 4


def test_a_dump_replaces_the_one_before_where_its_path_ends_with_a_slash(tmp_path):
    filled(7, 3).dumps(tmp_path / "kept")
    filled(7, 5).dumps(f"{tmp_path / 'kept'}/")
    assert len(SharedStorage(7, path=tmp_path / "kept")) == 5


def test_a_dump_that_finds_no_room_leaves_the_one_before(tmp_path, monkeypatch):
    filled(5, 2).dumps(tmp_path / "kept")

    def full(*_):
        raise OSError(28, "No space left on device")

    storage = filled(5, 4)
    with monkeypatch.context() as patch:
        patch.setattr("os.posix_fallocate", full)
        with pytest.raises(NoRoom):
            storage.dumps(tmp_path / "kept")
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]
    assert len(list((tmp_path / "kept").iterdir())) == 2
    assert len(SharedStorage(5, path=tmp_path / "kept")) == 2


def test_a_dump_leaves_other_files_in_its_directory(tmp_path):
    (tmp_path / "notes").write_text("mine")
    for number in (2, 4):
        filled(5, number).dumps(tmp_path)
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_dump_does_not_replace_what_is_none(tmp_path):
    (tmp_path / "ring").write_text("mine")
    with pytest.raises(NotAStorage, match="no header"):
        filled(5, 2).dumps(tmp_path)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("ring", "mine")]


def killed_at(point, storage, path):
    """Dump, and be killed before or after a call of the system, whose number it is."""
    left = point

    def count(_frame, event, argument):
        nonlocal left
        if event in ("c_call", "c_return") and argument.__module__ in (
            "posix",
            "fcntl",
            "io",
            "_io",
        ):
            left -= 1
            if left == -1:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    storage.dumps(path)
    sys.setprofile(None)


@pytest.mark.parametrize("first", [True, False])
def test_whenever_a_dump_is_killed_the_old_or_the_new_one_is_there(tmp_path, first):
    old, new = filled(5, 2), filled(5, 7)
    seen, point, code = set(), -1, None
    while code != 0:
        point += 1
        path = tmp_path / str(point)
        if not first:
            old.dumps(path)
        process = start_process(killed_at, (point, new, path), name="dumper", start_method="fork")
        assert process.join(Deadline.after(PATIENCE_S))
        code = process.exitcode
        process.release()
        found = SharedStorage(5)
        try:
            found.loads(path)
        except NotAStorage:
            assert first
        seen.add(len(found))
        assert code != 0 or len(found) == 5
        new.dumps(path)
        assert len(list(path.iterdir())) == 2  # nothing is left of what was killed
    assert seen == ({0, 5} if first else {2, 5})
    assert point > 40


def test_dumps_into_one_directory_at_the_same_time_leave_one_of_them(tmp_path, monkeypatch):
    old, inner, outer = filled(5, 1), filled(5, 2), filled(5, 3)
    old.dumps(tmp_path)
    fill, times = checkpoint._fill, []

    def meanwhile(*given):
        times.append(1)
        if len(times) == 1:
            inner.dumps(tmp_path)
            assert len(SharedStorage(5, path=tmp_path)) == 2
        fill(*given)

    monkeypatch.setattr(checkpoint, "_fill", meanwhile)
    outer.dumps(tmp_path)
    assert len(SharedStorage(5, path=tmp_path)) == 3
    assert len(list(tmp_path.iterdir())) == 2


def test_who_opens_a_dump_while_it_is_replaced_has_the_old_or_the_new_one(tmp_path, monkeypatch):
    filled(5, 2).dumps(tmp_path)
    name_of, newer = places.rows_file, filled(5, 4)

    def late(fd):
        name = name_of(fd)
        monkeypatch.undo()
        newer.dumps(tmp_path)
        return name

    monkeypatch.setattr(places, "rows_file", late)
    assert len(SharedStorage(5, path=tmp_path)) == 4
    assert len(list(tmp_path.iterdir())) == 2


def test_looking_at_a_dump_does_not_take_the_lock_of_who_writes_it(tmp_path):
    storage = SharedStorage(5, path=tmp_path)
    storage.append(rows(0, 2))
    with held(storage.shared._lock):
        replacing.check(tmp_path)
        assert others_find_it_held(storage.shared._place.head.fileno())


def test_a_storage_is_no_dump_of_itself(tmp_path):
    storage = filled(5, 3, path=tmp_path)
    for call in (storage.dumps, storage.loads):
        with pytest.raises(ValueError, match="lies in"):
            call(tmp_path)
    assert stamps(SharedStorage(5, path=tmp_path).get(slice(None))) == [0, 1, 2]


def test_rows_that_are_written_over_before_they_were_copied_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_CHUNK_BYTES", 1)
    storage, copied = filled(6, 6), []
    runs = checkpoint._runs

    def slow(view, layout):
        for run in runs(view, layout):
            copied.append(run[0])
            if len(copied) == 2:
                storage.append(rows(6, 4))
            yield run

    monkeypatch.setattr(checkpoint, "_runs", slow)
    storage.dumps(tmp_path / "kept")
    monkeypatch.undo()
    assert copied == [0, 1, 4, 5]
    assert stamps(SharedStorage(6, path=tmp_path / "kept").get(slice(None))) == [0, 1, 4, 5]


def write_for_ever(storage):
    for first in range(0, 1 << 40, 5):
        storage.append(rows(first, 5))


def test_dumps_and_loads_beside_writers_are_of_whole_rows(tmp_path):
    storage = filled(64, 64)
    process = start_process(write_for_ever, (storage,), name="writer", start_method="fork")
    try:
        for _ in range(10):
            storage.dumps(tmp_path / "kept")
            kept = sorted(stamps(SharedStorage(64, path=tmp_path / "kept").get(slice(None))))
            assert len(set(kept)) == len(kept)
            storage.loads(tmp_path / "kept")
            stamps(storage.get(slice(None)))
    finally:
        process.kill()
        assert process.join(Deadline.after(PATIENCE_S))
        process.release()


@WAYS
def test_a_load_for_which_others_do_not_make_way_changes_nothing(tmp_path, way):
    storage = filled(7, 4, patience_s=0.05)
    claim = storage.shared.claim(1)
    with pytest.raises(RingBusy):
        way(filled(7, 6), storage, tmp_path)
    assert stamps(storage.get(slice(4))) == [0, 1, 2, 3]
    storage.shared.lose(claim)


def test_what_is_no_dump_is_refused_and_changes_nothing(tmp_path):
    storage = filled(5, 3)
    with pytest.raises(NotAStorage, match="nowhere"):
        storage.loads(tmp_path / "nowhere")
    filled(6, 3).dumps(tmp_path / "kept")
    with pytest.raises(RowsMismatch):
        storage.loads(tmp_path / "kept")
    assert stamps(storage.get(slice(None))) == [0, 1, 2]


@pytest.mark.parametrize("kind", [SharedReplayBuffer, SharedTensorDictReplayBuffer])
def test_a_buffer_is_kept_and_brought_back(tmp_path, kind):
    buffer, other, third = (kind(storage=SharedStorage(5), batch_size=2) for _ in range(3))
    for first in range(0, 8, 2):
        buffer.extend(rows(first, 2))
    buffer.dumps(tmp_path / "kept")
    other.loads(tmp_path / "kept")
    third.load_state_dict(buffer.state_dict())
    for one in (other, third):
        assert (len(one), one.write_count, one.writer._cursor) == (5, 8, 3)
        assert stamps(one[:]) == stamps(buffer[:])
