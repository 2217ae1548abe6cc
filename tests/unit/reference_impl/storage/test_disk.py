"""A storage on disk: found again whole, whoever died; full disks and foreign files are named."""

from __future__ import annotations

import errno
import os
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from reference_impl.storage import NoRoom, NotAStorage, RowsMismatch, SharedStorage
from reference_impl.storage.columns import Columns
from reference_impl.storage.shared_ring import SharedRing
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.storage.rows import rows, stamps


def crash(path, number, where):
    """Write batches of three, and be killed in the one after `number`."""
    storage = SharedStorage(20, path=path)
    for first in range(0, 3 * number, 3):
        storage.append(rows(first, 3))

    def dies(*_given):
        os.kill(os.getpid(), signal.SIGKILL)

    def tears(self, slot, *_):
        self.column(0)[slot] = 999
        dies()

    if where == "row":
        Columns.write = tears  # type: ignore[method-assign]  # in a process of its own
    elif where == "commit":
        SharedRing.commit = dies  # type: ignore[method-assign]  # in a process of its own
    else:
        SharedRing.claim = dies  # type: ignore[method-assign]  # in a process of its own
    storage.append(rows(3 * number, 3))


def crashed(path, number, where):
    process = start_process(crash, (path, number, where), name="writer", start_method="fork")
    assert process.join(Deadline.after(PATIENCE_S))
    assert process.exitcode == -signal.SIGKILL
    process.release()


@pytest.mark.parametrize("where", ["claim", "row", "commit"])
@pytest.mark.parametrize("number", [0, 1, 6, 11])
def test_what_was_committed_is_found_again_and_the_torn_tail_is_not(tmp_path, number, where):
    crashed(tmp_path, number, where)
    storage = SharedStorage(20, path=tmp_path)
    torn = 3 if where != "claim" else 0
    claimed = 3 * number + torn
    there = list(range(max(0, claimed - 20), 3 * number))
    assert sorted(stamps(storage.get(slice(None))) if claimed else []) == there
    assert (len(storage), storage.lost_rows) == (len(there), torn)
    storage.append(rows(500, 20))
    assert sorted(stamps(SharedStorage(20, path=tmp_path).get(slice(None)))) == [*range(500, 520)]


def test_two_that_have_it_open_share_it(tmp_path):
    one, other = SharedStorage(5, path=tmp_path), SharedStorage(5, path=tmp_path)
    one.append(rows(0, 2))
    other.append(rows(2, 2))
    assert stamps(one.get(slice(None))) == [0, 1, 2, 3]
    one.flush()


def test_what_was_emptied_is_empty_after_it_is_opened_again(tmp_path):
    storage = SharedStorage(5, path=tmp_path)
    storage.append(rows(0, 4))
    storage.shared.empty(count=True)
    again = SharedStorage(5, path=tmp_path)
    assert (len(again), again.append(rows(7, 2)).tolist()) == (0, [0, 1])


def test_one_of_another_size_or_of_other_rows_is_refused(tmp_path):
    SharedStorage(5, path=tmp_path).append(rows(0, 2))
    for options in ({"max_size": 6}, {"max_size": 4}, {"max_size": 5, "ndim": 2}):
        with pytest.raises(RowsMismatch, match=r"storage of 5 x \(\) elements"):
            SharedStorage(path=tmp_path, **options)
    with pytest.raises(RowsMismatch, match="missing"):
        SharedStorage(5, path=tmp_path).append(rows(2, 1).exclude("wide"))


def test_files_of_something_else_are_left_alone(tmp_path):
    (tmp_path / "ring").write_text("something else")
    with pytest.raises(NotAStorage, match="14 bytes"):
        SharedStorage(5, path=tmp_path)
    assert (tmp_path / "ring").read_text() == "something else"


def test_a_header_of_something_else_is_refused(tmp_path):
    SharedStorage(5, path=tmp_path)
    size = (tmp_path / "ring").stat().st_size
    (tmp_path / "ring").write_bytes(b"x" * size)
    with pytest.raises(NotAStorage, match="no header"):
        SharedStorage(5, path=tmp_path)


@pytest.mark.parametrize("left", [0, 1, 3, 9])
def test_rows_that_the_file_was_cut_off_before_are_lost_and_the_others_are_not(tmp_path, left):
    storage = SharedStorage(10, path=tmp_path)
    storage.append(rows(0, 13))
    layout = storage.shared.layout
    assert layout is not None
    last = layout.columns[-1]
    os.truncate(tmp_path / "rows", last.offset + last.nbytes * left)
    again = SharedStorage(10, path=tmp_path)
    assert stamps(again.get(slice(None))) == [10, 11, 12, 3, 4, 5, 6, 7, 8, 9][:left]
    assert again.lost_rows == 10 - left
    again.append(rows(13, 10))
    assert sorted(stamps(again.get(slice(None)))) == [*range(13, 23)]


@contextmanager
def files_of_at_most(size: int):
    """A disk that is full: files of this process grow no further."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_who_finds_the_file_mended_by_another_leaves_what_that_has_claimed(tmp_path, monkeypatch):
    SharedStorage(8, path=tmp_path).append(rows(0, 4))
    os.truncate(tmp_path / "rows", 1)
    mend, others = SharedRing._mend, []

    def late(self, layout):
        monkeypatch.undo()
        other = SharedStorage(8, path=tmp_path)
        others.append((other, other.shared.claim(2)))
        mend(self, layout)

    monkeypatch.setattr(SharedRing, "_mend", late)
    storage = SharedStorage(8, path=tmp_path)
    other, claim = others[0]
    other.shared.commit(claim)
    assert (len(storage), storage.lost_rows) == (2, 4)


def test_a_disk_that_has_no_room_for_a_storage_is_a_named_error(tmp_path):
    with files_of_at_most(1 << 16), pytest.raises(NoRoom, match=str(tmp_path)):
        SharedStorage(1000, path=tmp_path)
    storage = SharedStorage(1000, path=tmp_path)
    with files_of_at_most(1 << 20), pytest.raises(NoRoom) as caught:
        storage.append(rows(0, 2))
    assert caught.value.errno == errno.EFBIG
    assert not storage.initialized
    storage.append(rows(0, 2))
    assert stamps(storage.get(slice(None))) == [0, 1]


def test_a_disk_that_fills_up_is_a_named_error_and_loses_nothing(tmp_path, monkeypatch):
    storage = SharedStorage(100_000, path=tmp_path)
    reserve, left = os.posix_fallocate, [6 << 20]

    def fills_up(fd, at, size):
        if size > left[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        left[0] -= size
        reserve(fd, at, size)

    monkeypatch.setattr("os.posix_fallocate", fills_up)
    written = 0
    with pytest.raises(NoRoom, match="No space left"):  # noqa: PT012 - the loop is what fills it
        while True:
            storage.append(rows(written, 100))
            written += 100
    assert written > 500
    assert storage.lost_rows == 0
    assert stamps(SharedStorage(100_000, path=tmp_path).get(slice(None))) == [*range(written)]
    left[0] = 1 << 40
    assert storage.append(rows(written, 100)).tolist()[0] == written


def test_memory_is_asked_for_as_the_ring_grows(tmp_path):
    storage = SharedStorage(1_000_000, path=tmp_path)
    storage.append(rows(0, 2))
    taken = Path(tmp_path / "rows").stat().st_blocks * 512
    assert 4096 < taken < 10 << 20
