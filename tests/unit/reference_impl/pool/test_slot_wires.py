"""The descriptors of a pool's wires are released once, and not while somebody waits on them."""

from __future__ import annotations

import os

import pytest

from reference_impl.core import bell
from reference_impl.core.bell import Bell
from reference_impl.core.clock import Deadline
from reference_impl.core.holds import held
from reference_impl.pool import slot_wires
from reference_impl.pool.slot_wires import Wires
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.interrupts import interrupted_at


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def is_over(wires: Wires) -> bool:
    return wires.closed


def test_descriptors_that_cannot_all_be_had_are_given_back(monkeypatch):
    made: list[Bell] = []

    def scarce() -> Bell:
        if len(made) == 3:
            raise OSError(24, "planned: too many open files")
        made.append(bell.Bell())
        return made[-1]

    monkeypatch.setattr(slot_wires, "Bell", scarce)
    with pytest.raises(OSError, match="planned"):
        Wires(4)
    assert [each.fileno() for each in made] == [-1, -1, -1]


def test_what_is_held_is_released_when_it_is_let_go():
    wires = Wires(1)
    fd = wires[0].asked.fileno()
    with held((wires,)):
        assert not is_over(wires)
        wires.close()
        assert is_open(fd)
    assert wires[0].asked.fileno() == -1
    with held((wires,)):
        assert is_over(wires)
    wires.close()


def test_a_worker_inherits_no_bell_but_its_own():
    wires = Wires(3)
    mine = {wires[1].asked, wires[1].answered}
    others = set(wires.bells_of_others(1))
    assert len(others) == 5
    assert not mine & others
    wires.close()


def test_an_interrupt_anywhere_while_they_are_held_leaves_nothing_open_once_they_are_released():
    for point in range(100_000):
        wires = Wires(1)
        fd = wires[0].asked.fileno()
        interrupted = interrupted_at(point, wires.nudge)
        wires.close()
        assert not is_open(fd), f"interrupted at point {point}"
        if not interrupted:
            return
    pytest.fail("it never came to its end")


def test_envs_of_one_worker_have_one_wire_and_one_ring_says_all_of_them():
    wires = Wires(5, 2)
    assert wires[2] is wires[3]
    assert [wires[env].envs for env in (0, 3, 4)] == [range(2), range(2, 4), range(4, 5)]
    wires.connect(())
    wires[3].answered.ring()
    assert wires.rung(Deadline.after(PATIENCE_S)) == ([2, 3], False)
    wires.close()


def test_a_worker_is_called_once_for_several_of_its_envs():
    wires = Wires(4, 2)
    wires.call([0, 1])
    assert wires[0].asked.take()
    assert not wires[2].asked.take()
    wires.close()
