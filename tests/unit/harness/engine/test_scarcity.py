"""What is made scarce is seen to be scarce, and is there again afterwards."""

from __future__ import annotations

import os
import resource

import pytest

from harness.engine.scarcity import Shortages

OPEN_MAX = 3


class Records:
    """A `Shortages` and what it recorded."""

    def __init__(self, *, own_shm: bool = False) -> None:
        self.all: list[tuple[str, str, str]] = []
        self.shortages = Shortages(self._record, own_shm=own_shm)

    def _record(self, fault: str, record: str, detail: str = "") -> None:
        self.all.append((fault, record, detail))


@pytest.fixture
def scarce():
    records = Records()
    yield records
    records.shortages.end_all()


def _opened(most: int) -> int:
    fds: list[int] = []
    try:
        while len(fds) < most:
            fds.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    finally:
        for fd in fds:
            os.close(fd)
    return len(fds)


def test_only_the_spare_descriptors_can_be_opened(scarce: Records):
    scarce.shortages.limit("f1", "nofile", OPEN_MAX)
    assert _opened(OPEN_MAX + 5) == OPEN_MAX
    assert scarce.all == [
        ("f1", "reached", ""),
        ("f1", "effect", "after 3 more descriptors: Too many open files"),
    ]


def test_descriptors_are_there_again_after_the_end(scarce: Records):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    scarce.shortages.limit("f1", "nofile", 0)
    scarce.shortages.end("f1")
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_no_more_than_the_spare_address_space_can_be_mapped(scarce: Records):
    scarce.shortages.limit("f1", "as", 1)
    assert scarce.all[-1] == ("f1", "effect", "for 2 MiB more: Cannot allocate memory")


def test_one_processor_is_left_and_all_come_back(scarce: Records):
    before = os.sched_getaffinity(0)
    scarce.shortages.pin("f1")
    assert len(os.sched_getaffinity(0)) == 1
    scarce.shortages.end("f1")
    assert os.sched_getaffinity(0) == before


def test_shared_memory_of_others_is_left_alone(scarce: Records):
    scarce.shortages.fill_shared_memory("f1")
    assert scarce.all == []  # nothing was seen: the cell is VACUOUS
