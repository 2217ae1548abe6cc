"""A rule of a sequence point speaks of one operation of one or of all workers."""

from __future__ import annotations

import pytest

from harness.model.gate import GateRule


@pytest.mark.parametrize(
    ("rule", "point", "meets"),
    [
        (("worker:1", "step", "before"), ("worker:1", "step", "before"), True),
        (("worker:1", "step", "before"), ("worker:0", "step", "before"), False),
        (("worker:1", "step", "before"), ("worker:11", "step", "before"), False),
        (("worker", "step", "before"), ("worker:7", "step", "before"), True),
        (("worker", "step", "before"), ("worker:7", "step", "after"), False),
        (("worker", "step", "after"), ("worker:7", "reset", "after"), False),
    ],
)
def test_a_rule_meets_its_own_points_only(rule, point, meets):
    role, op, edge = rule
    given = GateRule(fault="f1", role=role, op=op, order="hold", edge=edge)
    assert given.meets(*point) is meets
