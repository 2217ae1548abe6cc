"""A call writes into the caller's data what its backend declares, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from harness.checkers.writes_input import CHECKER
from harness.model.verdict import Contract
from tests.unit.harness.checkers.entries import Compared, objects, promise, tensor
from tests.unit.harness.checkers.histories import texts

GIVEN = {"observation": tensor([[0.0], [1.0]]), "action": tensor([[1.0], [2.0]])}
STEPPED = {**GIVEN, "next/reward": tensor([[1.0], [1.125]])}
MARKED = {**GIVEN, "env_index": tensor([[0], [1]], dtype="int64")}
RESTARTED = {**GIVEN, "observation": tensor([[5.0], [5.0]])}
OBSERVED = {"observation": promise(GIVEN["observation"])}


def history(after: Any, given: Any = None, *, entry: str = "step", **properties: Any) -> Any:
    host = properties.pop("host", "bare")
    promised = properties.pop("promised", {})
    compared = Compared()
    given = GIVEN if given is None else given
    compared.step(STEPPED, entry=entry, promised=promised, given=given, given_after=after)
    return compared.history(host=host, **properties)


def found(after: Any, given: Any = None, **more: Any) -> list[str]:
    return texts(CHECKER.check(history(after, given, **more)))


def test_data_that_stays_as_it_was_passes():
    judgement = CHECKER.check(history(GIVEN))
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_a_new_entry_is_found_with_the_call_that_wrote_it():
    (finding,) = CHECKER.check(history(STEPPED)).findings
    assert finding.contract is Contract.EQUIVALENCE
    assert finding.text == ("step (request 0) wrote into what the caller gave: next/reward is new")


def test_a_changed_value_is_found():
    assert found(RESTARTED) == [
        "step (request 0) wrote into what the caller gave: observation[0][0] is 5.0, not 0.0"
    ]


def test_a_reset_mask_that_is_gone_is_found():
    given = {**GIVEN, "_reset": tensor([[True], [False]], dtype="bool")}
    assert found(GIVEN, given, entry="reset") == [
        "reset (request 0) wrote into what the caller gave: _reset is gone"
    ]


@pytest.mark.parametrize(
    ("word", "after", "entry"),
    [("next", STEPPED, "step"), ("env_index", MARKED, "step"), ("root", RESTARTED, "reset")],
)
def test_what_is_declared_may_be_written_and_nothing_else(word, after, entry):
    more = {"entry": entry, "mark": "env_index", "promised": OBSERVED}
    assert found(after, **more, writes_input=[word]) == []
    others = [other for other in ("next", "env_index", "root") if other != word]
    assert len(found(after, **more, writes_input=others)) == 1


def test_a_step_does_not_make_a_root():
    assert len(found(RESTARTED, promised=OBSERVED, writes_input=["root"])) == 1


def test_actions_are_drawn_into_the_callers_data():
    given = {"observation": GIVEN["observation"]}
    promised = {"action": promise(GIVEN["action"])}
    assert found(GIVEN, given, entry="rand_action", promised=promised) == []


def test_a_changed_object_is_found():
    given = {"note": objects("a", "b")}
    assert found({"note": objects("a", "c")}, given) == [
        "step (request 0) wrote into what the caller gave: note[1] is c, not b"
    ]


def test_inside_a_host_that_writes_itself_nobody_is_judged():
    assert CHECKER.applies(history(STEPPED))
    assert not CHECKER.applies(history(STEPPED, host="transformed"))


def test_a_call_that_was_given_nothing_is_no_evidence():
    compared = Compared()
    compared.step(STEPPED, given=None, given_after=None)
    assert not CHECKER.applies(compared.history())
    assert CHECKER.check(compared.history()).judged == 0
