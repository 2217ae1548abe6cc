"""Long sends under faults find nothing in the reference, and what is wrong in wrong variants of it."""

from __future__ import annotations

import pytest

from reference_impl.weights.receiver import Receiver
from tools import long_sends

pytestmark = pytest.mark.slow
SENDS = 80


@pytest.mark.parametrize("scheme", long_sends.SCHEMES)
def test_nothing_is_found_in_the_reference(scheme):
    told = long_sends.run(SENDS, 3, scheme)
    assert told["problems"] == []
    assert sum(told["faults"].values()) == SENDS


@pytest.mark.parametrize("scheme", long_sends.SCHEMES)
def test_a_version_that_is_acknowledged_and_not_applied_is_found(scheme, monkeypatch):
    apply = Receiver._take

    def forgetful(self, message) -> None:
        if message.version % 7:
            apply(self, message)

    monkeypatch.setattr(Receiver, "_take", forgetful)
    problems = long_sends.run(SENDS, 3, scheme)["problems"]
    assert any("not of" in problem for problem in problems)


def test_an_answer_that_hides_a_failure_is_found(monkeypatch):
    def boastful(self, message) -> None:
        try:
            apply(self, message)
        except ValueError:
            return

    apply = Receiver._take
    monkeypatch.setattr(Receiver, "_take", boastful)
    problems = long_sends.run(SENDS, 3, "copy")["problems"]
    assert any("unfit" in problem for problem in problems)
