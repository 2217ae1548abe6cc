"""One outcome a cell, the worst one first."""

from __future__ import annotations

import itertools

import pytest

from harness.model.verdict import FAILURES, INCONCLUSIVE, Contract, Finding, Outcome, Verdict, worst


def finding(*, contract=Contract.LIVENESS, leak=False, time=False) -> Finding:
    return Finding(checker="x", text="x", contract=contract, leak=leak, time=time)


def verdict(*findings: Finding, outcome: Outcome = Outcome.FAIL) -> Verdict:
    return Verdict(outcome=outcome, reason="x", findings=findings)


def test_the_order_of_outcomes_is_the_documented_one():
    assert sorted(Outcome, key=lambda outcome: outcome.precedence) == [
        Outcome.HARNESS_ERROR,
        Outcome.UNSUPPORTED,
        Outcome.CRASH,
        Outcome.HANG,
        Outcome.FAIL,
        Outcome.LEAK,
        Outcome.VACUOUS,
        Outcome.UNKNOWN,
        Outcome.PASS,
    ]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(Outcome, 2)))
def test_the_worse_of_two_counts_in_whatever_order_they_came(one, other):
    assert worst([one, other]) is worst([other, one]) is one


def test_no_outcome_is_both_a_failure_and_inconclusive():
    assert not FAILURES & INCONCLUSIVE
    assert Outcome.PASS not in FAILURES | INCONCLUSIVE


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ([finding(time=True)], True),
        ([finding(time=True), finding()], False),
        ([finding(time=True), finding(contract=Contract.OPINION)], True),
        ([finding(time=True), finding(leak=True)], True),
    ],
)
def test_only_a_failure_by_time_alone_wants_a_run_alone(findings, expected):
    assert verdict(*findings).only_time is expected


@pytest.mark.parametrize("outcome", [Outcome.HANG, Outcome.PASS])
def test_no_other_outcome_wants_a_run_alone(outcome):
    assert not verdict(finding(time=True), outcome=outcome).only_time
