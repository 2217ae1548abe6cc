"""Lost workers are replaced by others that draw anew, and only they are cut off."""

from __future__ import annotations

from dataclasses import replace

from harness.checkers.worker_restarts import CHECKER
from harness.model.history import Kind
from tests.unit.harness.checkers.histories import HonestPool, texts

SETUP = {"on_worker_failure": "restart"}
FAULTS = [("kill", "killed")]


def lossy(cut: int = 1, draws: tuple[int, ...] = (1, 2, 3)):
    """Env 1 is lost once and says `cut` times that it was."""
    pool = HonestPool()
    for env, draw in enumerate(draws):
        pool.recorder.observe(env % 2, "construct")
        pool.recorder.observe(env % 2, "reset", draw=draw)
    pool.reset()
    pool.recorder.fault("killed", "reached", worker=1)
    pool.recorder.fault("killed", "effect", worker=1)
    for _ in range(2):
        pool.step()
        if cut > 0:
            pool.recorder.events[-1].data["rows"][1].update(reward=0.0, truncated=True)
            cut -= 1
    return pool.recorder.history(setup=SETUP, faults=FAULTS)


def test_one_cut_a_loss_passes():
    judgement = CHECKER.check(lossy())
    assert (texts(judgement), judgement.judged) == ([], 7)


def test_an_env_that_is_cut_off_more_often_than_it_is_lost_is_found():
    [text] = texts(CHECKER.check(lossy(cut=2)))
    assert text.startswith("env 1 was cut off 2 times")
    assert text.endswith("and its worker was lost 1 times")


def test_a_draw_that_comes_again_is_found():
    assert texts(CHECKER.check(lossy(draws=(1, 2, 1)))) == [
        "worker:0 draws what worker:0 drew before a restart: its seed repeats"
    ]


def drawn(*steps: str | tuple[int, int]) -> list[str]:
    """What is found where envs 0 and 1 are made, then draw, are made anew, or verbs are called."""
    recorder = HonestPool().recorder
    for step in ("construct", "made 0", "made 1", *steps):
        if isinstance(step, tuple):
            recorder.observe(step[0], "reset", draw=step[1])
        elif step.startswith("made "):
            recorder.observe(int(step.removeprefix("made ")), "construct")
        else:
            recorder.call(step)
    return texts(CHECKER.check(recorder.history(setup=SETUP)))


def test_an_env_that_is_seeded_again_may_draw_again_what_it_drew():
    assert drawn("seed", (0, 7), "seed", (0, 7)) == []
    assert drawn("seed", (0, 7), "made 0", "seed", (0, 7)) == []


def test_an_env_that_lives_on_does_not_repeat_a_restart():
    assert drawn((0, 7), (0, 7)) == []


def test_envs_of_the_next_pool_may_draw_what_those_of_the_last_one_drew():
    assert drawn("seed", (0, 7), "rebuild", "made 0", (0, 7)) == []


def test_an_env_that_was_made_anew_and_draws_what_its_neighbour_drew_is_found():
    assert drawn("seed", (0, 7), (1, 8), "made 1", (1, 7)) == [
        "worker:1 draws what worker:0 drew before a restart: its seed repeats"
    ]


def test_what_a_pool_beside_draws_is_not_judged():
    pool = HonestPool()
    for role in ("worker:0", "beside:0"):
        for op, data in (("construct", {}), ("construct", {}), ("reset", {"draw": 7})):
            pool.recorder.write(Kind.OBSERVE, op, role=role, **data)
    judgement = CHECKER.check(pool.recorder.history(setup=SETUP))
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_a_history_without_rows_is_no_evidence():
    assert CHECKER.check(HonestPool().recorder.history(setup=SETUP)).judged == 0


def test_it_applies_where_lost_workers_are_to_be_replaced():
    assert CHECKER.applies(lossy())
    pool = HonestPool()
    pool.reset()
    assert not CHECKER.applies(pool.recorder.history(faults=FAULTS))


def test_a_loss_cuts_all_envs_of_the_worker_off():
    history = lossy()
    rows = [e.data["rows"] for e in history.events if "rows" in e.data]
    rows[-1][0].update(reward=0.0, truncated=True)
    [text] = texts(CHECKER.check(history))
    assert text.startswith("env 0 was cut off 1 times")
    assert text.endswith("and its worker was lost 0 times")
    shared = replace(history, setup={**history.setup, "envs_per_worker": 2})
    assert texts(CHECKER.check(shared)) == []
