from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.engine.components import POOL
from harness.faults.payload import Exit, Raise, Stall
from harness.faults.primitive import CloseChannel
from harness.faults.process import Stop
from harness.faults.registry import PoolFault
from harness.generate import pool_scenarios
from harness.generate.blocks import BLOCKS, ENDINGS
from harness.generate.strategies import FAULTS, NOT_DRAWN, VERBS, _arranged, owed
from harness.model.plain import to_plain
from harness.model.scenario import Expected, Heal, Phase, Placement
from harness.ports.pool_verbs import ALWAYS, Recv, Reset, Rollout, Send, Shutdown, Step
from tests.unit.harness.generate.capabilities import BARE, EVERYTHING, LEAST, NEXT_STEP

quickly = settings(deadline=None, derandomize=True, database=None, max_examples=50)
often = settings(quickly, max_examples=300)  # for blocks that come rarely
AT = Placement(role="worker:0", op="step")
CLOSE = Placement(role="worker:0", op="close")


def test_every_verb_and_fault_of_the_pool_is_in_some_block():
    used = {kind for form in (*BLOCKS, *ENDINGS) for kind in form.needs}
    assert used == VERBS | FAULTS
    assert used | NOT_DRAWN == POOL.verbs.keys() | POOL.faults.keys()


@pytest.mark.slow
def test_every_verb_and_fault_is_drawn():
    seen: set[str] = set()

    # Bare pools of processes are a tenth of all, and some faults need one.
    @settings(quickly, max_examples=300)
    @given(drawn=st.one_of(pool_scenarios(EVERYTHING), pool_scenarios(BARE)))
    def look(drawn):
        seen.update(_kind(step) for step in drawn.steps)

    look()
    assert seen >= VERBS | FAULTS


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_a_scenario_begins_with_a_reset_and_ends_with_a_shutdown(drawn):
    assert isinstance(drawn.steps[0], Reset)
    assert isinstance(drawn.steps[-1], Shutdown)


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_a_scenario_is_small(drawn):
    assert len(drawn.steps) <= 12
    assert drawn.setup.num_envs <= 3


@pytest.mark.slow
@often
@given(drawn=pool_scenarios(BARE))
def test_whatever_is_sent_is_received_before_anything_else_is_done(drawn):
    verbs = [step for step in drawn.steps if hasattr(step, "do")]
    for verb, following in itertools.pairwise(verbs):
        assert isinstance(following, Recv) or not isinstance(verb, Send)


@pytest.mark.slow
@often
@given(drawn=pool_scenarios(BARE))
def test_a_stall_meets_one_timed_receive_and_is_healed_before_the_next(drawn):
    for i, step in enumerate(drawn.steps):
        if isinstance(step, Stall):
            healed = drawn.steps.index(Heal(heal=step.id))
            *_, sent, received = drawn.steps[i:healed]
            assert isinstance(sent, Send)
            assert received.timeout_s is not None
            assert drawn.steps[healed + 1] in (Recv(), Recv(min_get=1))


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_after_a_fault_that_does_not_heal_only_what_meets_it_and_a_shutdown_follow(drawn):
    for i, step in enumerate(drawn.steps):
        if _kind(step) in ("raise", "exit", "signal", "close_channel"):
            *meeting, end = drawn.steps[i + 1 :]
            assert isinstance(end, Shutdown)
            assert len({type(verb) for verb in meeting} - {Send}) <= 1


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
                assert stepped + at.k <= drawn.setup.horizon
            case _:
                pass


@quickly
@given(drawn=pool_scenarios(EVERYTHING))
def test_all_rollouts_of_a_collector_have_one_size(drawn):
    assert len({step.frames for step in drawn.steps if isinstance(step, Rollout)}) <= 1


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((Reset(), Shutdown()), Expected.SURVIVES),
        ((Reset(), CloseChannel(channel="results"), Shutdown()), Expected.SURVIVES),
        ((Reset(), CloseChannel(channel="results"), Step(), Shutdown()), Expected.FAILS_BOUNDED),
        ((Reset(), Stall(at=AT), Send(), Recv(), Shutdown()), Expected.RECOVERS),
        ((Stall(at=AT), Raise(at=AT), Step(), Shutdown()), Expected.FAILS_BOUNDED),
        ((Reset(), Stop(at=AT), Send(), Recv(), Shutdown()), Expected.RECOVERS),
        ((Reset(), Exit(at=AT), Step(), Shutdown()), Expected.FAILS_BOUNDED),
        ((Reset(), Exit(at=CLOSE), Shutdown()), Expected.SURVIVES),
    ],
    ids=[
        "nothing",
        "closed at the end",
        "closed before a step",
        "stalled",
        "stalled and raised",
        "stopped",
        "left",
        "left while closing",
    ],
)
def test_what_a_correct_pool_owes_follows_from_the_faults(steps, expected):
    assert owed(steps) is expected


def _kind(step: object) -> str:
    return str(getattr(step, "do", None) or getattr(step, "fault", ""))
