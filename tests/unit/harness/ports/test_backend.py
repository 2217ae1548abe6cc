"""What a backend's own bound is set to."""

from __future__ import annotations

import pytest

from harness.ports.backend import own_bound


@pytest.mark.parametrize(
    ("deadline_s", "bound_s"), [(30.0, 24.0), (7.5, 6.0), (5.0, 3.5), (3.0, 1.5), (1.0, 0.4)]
)
def test_after_its_own_bound_a_backend_has_time_left_to_end_its_workers(deadline_s, bound_s):
    assert own_bound(deadline_s) == pytest.approx(bound_s)
