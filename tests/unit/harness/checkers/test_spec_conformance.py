"""Entry points return what the specs say, and what a serial env returns."""

from __future__ import annotations

from typing import Any

import pytest

from harness.checkers.spec_conformance import CHECKER
from harness.model import probe
from harness.model.verdict import Contract
from tests.unit.harness.checkers.entries import REWARD, Compared, objects, promise, step_of, tensor
from tests.unit.harness.checkers.histories import Recorder, texts

MARK = "env_index"
RIGHT = step_of([[1.0], [1.125]])
MARKED = {**RIGHT, MARK: objects(0, 1)}


def found(returned: Any, expected: Any = None, *, mark: str = "", **more: Any) -> list[str]:
    compared = Compared()
    compared.step(returned, expected, **more)
    return texts(CHECKER.check(compared.history(mark=mark)))


def observation(*, pid: int, step: int = 0) -> dict[str, Any]:
    rows = [
        [*probe.encode(env_index=env, incarnation=pid + env, episode=1, step=step, action=-1)]
        for env in range(2)
    ]
    return {"observation": tensor(rows)}


def test_what_the_specs_say_and_the_twin_returned_passes():
    compared = Compared()
    compared.step(MARKED)
    compared.step(MARKED)
    judgement = CHECKER.check(compared.history(mark=MARK))
    assert (texts(judgement), judgement.judged) == ([], 2)


def test_a_promised_entry_that_is_missing_breaks_the_documented_contract():
    without = {key: leaf for key, leaf in RIGHT.items() if key != REWARD}
    compared = Compared()
    compared.step(without, without, promised={REWARD: promise(RIGHT[REWARD])})
    (finding,) = CHECKER.check(compared.history()).findings
    assert finding.contract is Contract.DOCUMENTED
    assert finding.text == "step (request 0) is not what the specs say: next/reward is missing"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dtype": "float64"}, "next/reward has dtype float64, not float32"),
        ({"shape": [2]}, "next/reward has shape [2], not [2, 1]"),
        ({"device": "cuda"}, "next/reward has device cuda, not cpu"),
        ({"kind": "object"}, "next/reward has kind object, not tensor"),
    ],
)
def test_an_entry_of_another_form_differs_from_specs_and_twin(changed, said):
    returned = {**RIGHT, REWARD: {**RIGHT[REWARD], **changed}}
    assert found(returned, RIGHT) == [
        f"step (request 0) is not what the specs say: {said}",
        f"step (request 0) is not what a serial env returns: {said}",
    ]


def test_other_values_than_the_twins_are_found_with_their_place():
    assert found(step_of([[1.0], [7.0]]), RIGHT) == [
        "step (request 0) is not what a serial env returns: next/reward[1][0] is 7.0, not 1.125"
    ]


def test_an_entry_that_the_twin_has_not_is_too_much():
    assert found({**RIGHT, "next/visits": tensor([[0.0], [1.0]])}, RIGHT) == [
        "step (request 0) is not what a serial env returns: next/visits is too much"
    ]


def test_an_entry_that_only_the_twin_has_is_missing():
    assert found(RIGHT, {**RIGHT, "visits": tensor([[0.0], [1.0]])}) == [
        "step (request 0) is not what a serial env returns: visits is missing"
    ]


def test_many_differences_are_one_finding_that_counts_the_rest():
    extras = {f"extra_{i}": tensor([[0.0], [1.0]]) for i in range(8)}
    (text,) = found({**RIGHT, **extras}, RIGHT)
    assert text.endswith("extra_5 is too much; and 2 more")


def test_the_process_of_an_env_is_not_compared():
    assert found(observation(pid=10), observation(pid=400), entry="reset") == []


def test_the_step_of_an_env_is_compared():
    (text,) = found(observation(pid=10, step=1), observation(pid=400), entry="reset")
    assert text.endswith("observation[0][0] is 1001, not 1000")


def test_of_other_entries_no_column_is_an_envs_own():
    """As many envs as an observation has entries: the third and seventh are those of its process."""
    right = [float(env) for env in range(8)]
    wrong = [*right[:2], -9.0, *right[3:6], -9.0, right[7]]
    leaf = {"kind": "tensor", "shape": [8], "dtype": "float32", "device": "cpu"}
    returned, wanted = ({REWARD: {**leaf, "values": values}} for values in (wrong, right))
    (text,) = found(returned, wanted)
    assert text.endswith("next/reward[2] is -9.0, not 2.0")


def test_an_observation_with_more_entries_still_has_its_own():
    specials = [float("nan"), float("inf")]
    mine, theirs = (
        {"observation": tensor([[*row, *specials] for row in described["observation"]["values"]])}
        for described in (observation(pid=10), observation(pid=400))
    )
    assert found(mine, theirs, entry="reset") == []


def test_no_number_is_the_same_as_no_number_only():
    nan, one = (tensor([[value], [1.0]]) for value in (float("nan"), 1.0))
    assert found({REWARD: nan}, {REWARD: nan}) == []
    assert len(found({REWARD: nan}, {REWARD: one})) == 1


def test_values_that_nobody_told_are_not_compared():
    untold = {**RIGHT, REWARD: {**RIGHT[REWARD], "values": None}}
    assert found(untold, RIGHT) == []


def test_a_root_without_the_mark_does_not_say_who_answered():
    assert found(RIGHT, mark=MARK) == [
        "step (request 0) does not say which envs answered: env_index is missing"
    ]


def test_a_mark_that_is_no_object_is_found():
    returned = {**RIGHT, MARK: tensor([[0], [1]], dtype="int64")}
    assert found(returned, mark=MARK) == [
        "step (request 0) does not say which envs answered: env_index is a tensor, not an object"
    ]


def test_a_mark_that_names_envs_that_were_not_asked_is_found():
    returned = {REWARD: tensor([[1.0]]), MARK: objects(0)}
    assert found(returned, entry="async_step", mask=(False, True), mark=MARK) == [
        "async_step (request 0) does not say which envs answered: env_index is [0] where envs "
        "[1] answered"
    ]


def test_the_mark_of_a_rollout_has_one_entry_for_each_time_step():
    returned = {MARK: {**objects(0, 1), "shape": [2, 3], "values": [[0, 0, 0], [1, 1, 1]]}}
    assert found(returned, entry="rollout", mark=MARK) == []
    assert len(found({MARK: objects(0, 1)}, entry="rollout", mark=MARK)) == 1


def test_a_mark_below_next_is_too_much():
    returned = {**MARKED, f"next/{MARK}": objects(0, 1)}
    assert found(returned, RIGHT, mark=MARK) == [
        "step (request 0) is not what a serial env returns: next/env_index is too much"
    ]


def test_results_may_come_in_the_order_that_their_mark_says():
    returned = {REWARD: tensor([[1.125], [1.0]]), MARK: objects(1, 0)}
    expected = {REWARD: tensor([[1.0], [1.125]])}
    assert found(returned, expected, entry="async_step", mark=MARK) == []


def test_a_private_step_has_no_mark():
    assert found(RIGHT, entry="private_step", mark=MARK) == []


def test_after_a_call_that_failed_only_forms_are_compared():
    compared = Compared()
    compared.recorder.fail(compared.invoke("step"))
    compared.step(step_of([[5.0], [5.0]]), RIGHT)
    judgement = CHECKER.check(compared.history())
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_a_mark_that_reaches_the_envs_is_found_once():
    compared = Compared()
    compared.step(MARKED)
    for _ in range(2):
        compared.recorder.observe(1, "given", keys=["action", MARK])
    assert texts(CHECKER.check(compared.history(mark=MARK))) == [
        "env_index, the pool's own entry, is handed to the envs (worker:1)"
    ]


def test_entries_that_reach_the_envs_are_their_own_affair_without_a_mark():
    compared = Compared()
    compared.step(RIGHT)
    compared.recorder.observe(1, "given", keys=["action", MARK])
    assert texts(CHECKER.check(compared.history())) == []


def test_calls_that_all_failed_are_no_evidence():
    compared = Compared()
    compared.recorder.fail(compared.invoke("step"))
    assert CHECKER.check(compared.history()).judged == 0


def test_it_applies_where_something_is_compared():
    compared = Compared()
    compared.step(RIGHT)
    assert CHECKER.applies(compared.history())
    recorder = Recorder()
    recorder.call("step")
    assert not CHECKER.applies(recorder.history())
