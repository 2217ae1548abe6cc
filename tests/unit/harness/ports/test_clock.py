"""A deadline says how long there is until then."""

from __future__ import annotations

import pytest

from harness.ports.clock import Deadline, now_ns


def test_what_is_left_of_a_deadline_becomes_less():
    deadline = Deadline.after(60.0)
    assert 0 < deadline.left_s <= 60.0
    assert not deadline.expired


@pytest.mark.parametrize("ago_s", [0, 5])
def test_nothing_is_left_of_one_that_has_passed(ago_s):
    deadline = Deadline(now_ns() - ago_s * 10**9)
    assert deadline.left_s == 0
    assert deadline.expired
