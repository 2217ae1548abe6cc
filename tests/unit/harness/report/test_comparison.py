"""What a comparison came to is told key by key, not cut before what differs."""

from __future__ import annotations

from typing import Any

from harness.model.history import Kind, Operation
from harness.report.comparison import told
from harness.report.requests import operations
from tests.unit.harness.checkers.entries import objects, step_of, tensor
from tests.unit.harness.report.journals import event, invoke

SAME = step_of([[1.0], [2.0]])


def compared(returned: Any, expected: Any = SAME, **more: Any) -> Operation:
    called = invoke(0, "compare", 1, entry="step", mask=[True, True], expected=expected)
    (found,) = operations([called, event(1, Kind.OK, "compare", 1, returned=returned, **more)])
    return found


def test_a_result_that_is_the_twins_is_counted():
    assert told(compared(SAME)) == "2 of 2 keys are equal to the twin's"


def test_each_key_that_differs_is_told_with_both_values():
    assert told(compared(step_of([[1.0], [5.0]]))) == (
        "1 differ from the twin: next/reward[1][0] is 5.0, not 2.0; 1 of 2 keys are equal to the twin's"
    )


def test_keys_that_only_one_of_them_has_are_told():
    returned = {"action": SAME["action"], "env_index": objects(0, 1)}
    assert told(compared(returned)) == (
        "missing: next/reward; the twin has no env_index; 1 of 2 keys are equal to the twin's"
    )


def test_rows_in_another_order_are_equal_if_the_pool_says_whose_they_are():
    returned = {"next/reward": tensor([[2.0], [1.0]]), "env_index": objects(1, 0)}
    expected = {"next/reward": tensor([[1.0], [2.0]])}
    assert told(compared(returned, expected)) == (
        "the twin has no env_index; 1 of 2 keys are equal to the twin's"
    )


def test_what_was_written_into_the_input_is_told():
    found = told(compared(SAME, given={}, given_after={"next/reward": SAME["next/reward"]}))
    assert found is not None
    assert found.startswith("written into the input: next/reward is new; ")


def test_what_no_driver_journals_is_left_to_others():
    for strange in (None, 3, {"reward": 7}, {"reward": {"kind": "tensor"}}):
        assert told(compared(strange)) is None
        assert told(compared(SAME, expected=strange)) is None


def test_values_of_strange_shapes_do_not_raise():
    assert told(compared({**SAME, "action": tensor([[1.0], [[2.0]]])})) is not None
