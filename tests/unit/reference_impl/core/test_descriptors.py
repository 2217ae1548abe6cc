"""A descriptor is closed once, whatever comes between."""

from __future__ import annotations

import os

import pytest

from reference_impl.core.arena import Arena
from reference_impl.core.bell import Bell
from tests.unit.reference_impl.interrupts import interrupted_at


@pytest.mark.parametrize("kind", [Arena, Bell])
def test_an_interrupt_anywhere_in_its_release_leaves_it_closed_by_the_next_one(kind):
    for point in range(100):
        made = kind()
        fd = made.fileno()
        interrupted = interrupted_at(point, made.release)
        made.release()
        assert made.fileno() == -1
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
        if not interrupted:
            return
    pytest.fail("it never came to its end")
