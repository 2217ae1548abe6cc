from __future__ import annotations

import itertools

import pytest
from hypothesis import Phase as Generation
from hypothesis import find, given, settings
from hypothesis import strategies as st

from harness.engine.components import POOL
from harness.faults.owner import SignalOwner
from harness.faults.payload import Raise, Stall
from harness.faults.registry import PoolFault
from harness.generate import pool_scenarios
from harness.generate.blocks import BLOCKS, ENDINGS
from harness.generate.strategies import FAULTS, INDISPENSABLE, VERBS, _arranged
from harness.generate.wholes import BEGINNINGS, COMPARISONS
from harness.model.plain import to_plain
from harness.model.scenario import Heal, Phase, Placement
from harness.payloads.forms import LANES
from harness.ports.entries import Compare
from harness.ports.leave import Leave
from harness.ports.param_verbs import SetParams
from harness.ports.pool_verbs import (
    ALWAYS,
    CloseBeside,
    Recv,
    Reset,
    ResetWhere,
    Rollout,
    Send,
    Shutdown,
    Step,
)
from tests.unit.harness.generate.capabilities import BARE, EVERYTHING, LEAST, NEXT_STEP, SLOTS

quickly = settings(deadline=None, derandomize=True, database=None, max_examples=50)
often = settings(quickly, max_examples=300)  # for blocks that come rarely
AT = Placement(role="worker:0", op="step")
MAY_BE_REFUSED = (Reset, SetParams)
ALLOWED_IN_FLIGHT = (Recv, ResetWhere, Send, Shutdown, Leave, CloseBeside, *MAY_BE_REFUSED)
FORMS = (*BLOCKS, *ENDINGS, *BEGINNINGS, *COMPARISONS)
ENDING_MAX = 8  # several kills, the call that meets them, what may come after it, and a shutdown


def test_every_verb_and_fault_of_the_pool_is_in_some_block():
    used = {kind for form in FORMS for kind in form.needs}
    assert used == VERBS | FAULTS == POOL.verbs.keys() | POOL.faults.keys()


@pytest.mark.parametrize("kind", sorted(VERBS | FAULTS))
def test_every_verb_and_fault_is_drawn(kind):
    needed = next(form.needs for form in FORMS if kind in form.needs)
    left_out = (VERBS | FAULTS) - INDISPENSABLE - needed
    # Some faults need a bare pool of several processes by value, some verbs a host, and loans slots.
    able = (SLOTS,) if kind == "give_back" else (BARE, EVERYTHING)
    every = st.one_of(*(pool_scenarios(each, without=left_out) for each in able))
    found = find(
        every,
        lambda drawn: any(_kind(step) == kind for step in drawn.steps),
        settings=settings(quickly, max_examples=400, phases=[Generation.generate]),
    )
    assert found.steps


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_a_scenario_ends_with_a_close_unless_its_process_ends(drawn):
    ended = any(isinstance(s, SignalOwner) and s.signal in ("KILL", "TERM") for s in drawn.steps)
    assert ended or isinstance(drawn.steps[-1], Shutdown | CloseBeside | Leave)


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_a_scenario_is_small(drawn):
    assert len(drawn.steps) <= 12
    assert drawn.setup.num_envs <= 3 * LANES.get(drawn.setup.payload, 1)


@pytest.mark.slow
@often
@given(drawn=pool_scenarios(BARE))
def test_while_steps_are_in_flight_a_pool_is_only_asked_for_what_it_may_refuse(drawn):
    verbs = [step for step in drawn.steps if hasattr(step, "do")]
    for verb, following in itertools.pairwise(verbs):
        assert isinstance(following, ALLOWED_IN_FLIGHT) or not isinstance(verb, Send)
        if isinstance(verb, Send) and isinstance(following, MAY_BE_REFUSED):
            assert following.refusable


@pytest.mark.slow
@often
@given(drawn=pool_scenarios(BARE))
def test_a_stall_meets_one_timed_receive_and_is_healed_before_the_next(drawn):
    for i, step in enumerate(drawn.steps):
        if isinstance(step, Stall) and Heal(heal=step.id) in drawn.steps:
            healed = drawn.steps.index(Heal(heal=step.id))
            *_, sent, received = drawn.steps[i:healed]
            assert isinstance(sent, Send)
            assert received.timeout_s is not None
            assert drawn.steps[healed + 1] in (Recv(), Recv(min_get=1))


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_after_a_fault_that_does_not_heal_only_its_ending_follows(drawn):
    for i, step in enumerate(drawn.steps):
        if _kind(step) in ("raise", "exit", "signal", "kill", "tear_transfer", "cut_channel"):
            assert len(drawn.steps[i:]) <= ENDING_MAX


def test_the_phase_in_which_every_call_must_succeed_ends_before_a_fault():
    block = (Stall(at=AT), Send(), Recv(timeout_s=0.1), Heal(heal=""), Recv())
    converging, chaos = Phase(phase="converge"), Phase(phase="chaos")
    steps = _arranged([(*block, converging)], (Raise(at=AT), Step(), Shutdown()))
    assert steps[6:8] == (converging, chaos)


def test_a_heal_ends_the_fault_before_it():
    block = (Stall(at=AT), Send(), Recv(timeout_s=0.1), Heal(heal=""))
    steps = _arranged([block, block], (Shutdown(),))
    assert [step.heal for step in steps if isinstance(step, Heal)] == ["f1", "f2"]


def test_a_block_for_which_there_is_no_room_is_left_out():
    long, short = (Step(),) * 10, (Reset(),)
    assert _arranged([short, long, short], (Shutdown(),)) == (Reset(), *short, *short, Shutdown())


@quickly
@given(drawn=pool_scenarios(LEAST))
def test_a_backend_that_declares_little_is_asked_for_little(drawn):
    setup = to_plain(drawn.setup)
    for step in drawn.steps:
        assert getattr(step, "do", "reset") in ALWAYS
        assert not isinstance(step, PoolFault) or step.unsupported(setup, LEAST) is None


@pytest.mark.slow
@often
@given(drawn=pool_scenarios(NEXT_STEP))
def test_steps_that_may_reset_instead_are_not_counted_on(drawn):
    stepped = 0
    for step in drawn.steps:
        match step:
            case Reset():
                stepped = 0
            case Send() | Rollout():
                stepped += 1
            case Step(times=times):
                stepped += times
            case Stall(at=at) | Raise(at=at) if at.op == "step":
                # What follows a call that is pending, or was refused, is a reset.
                assert stepped + at.k <= drawn.setup.horizon
            case _:
                pass


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_all_rollouts_of_a_collector_have_one_size(drawn):
    assert len({step.frames for step in drawn.steps if isinstance(step, Rollout)}) <= 1


def test_a_place_among_the_drivers_operations_counts_those_before_its_block():
    fault = SignalOwner(at=Placement(role="driver", op="step", k=2), signal="INT")
    steps = _arranged([(Step(times=3),)], (fault, Step(times=2), Shutdown()))
    (placed,) = (step for step in steps if isinstance(step, SignalOwner))
    assert placed.at.k == 5


def test_what_a_machine_cannot_have_is_not_drawn():
    found = pool_scenarios(EVERYTHING, without=frozenset({"full_shared_memory"}))

    @quickly
    @given(drawn=found)
    def look(drawn):
        assert not any(_kind(step) == "full_shared_memory" for step in drawn.steps)

    look()


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_calls_are_compared_from_the_first_one_on(drawn):
    verbs = [step for step in drawn.steps if hasattr(step, "do")]
    compared = [isinstance(verb, Compare) for verb in verbs]
    assert compared == sorted(compared, reverse=True)
    assert not any(compared) or verbs[0].entry in ("reset", "rollout")


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_children_of_several_envs_are_whole_and_no_single_one_of_them_is_struck(drawn):
    lanes = LANES.get(drawn.setup.payload)
    if lanes is not None:
        assert drawn.setup.num_envs % lanes == 0
        assert not any("worker" in getattr(step, "role", "") for step in drawn.steps)


def _kind(step: object) -> str:
    return str(getattr(step, "do", None) or getattr(step, "fault", ""))
