"""First draws differ between envs, repeat with the base seed, and are no other seed's."""

from __future__ import annotations

from harness.checkers.seeds_distinct import CHECKER
from harness.model.history import Kind
from tests.unit.harness.checkers.histories import Recorder, texts


def seeded(recorder: Recorder, base: int, *draws: int) -> None:
    """A seeding, and a reset at which each env draws."""
    recorder.call("seed", value=base)
    invoked = recorder.invoke("reset")
    for env, draw in enumerate(draws):
        recorder.observe(env, "reset", draw=draw)
    recorder.ok(invoked, rows=[])


def test_draws_that_differ_and_repeat_pass():
    recorder = Recorder()
    seeded(recorder, 0, 10, 11)
    seeded(recorder, 1, 20, 21)
    seeded(recorder, 0, 10, 11)
    judgement = CHECKER.check(recorder.history())
    assert (texts(judgement), judgement.judged) == ([], 6)


def test_envs_that_draw_the_same_are_found():
    recorder = Recorder()
    seeded(recorder, 0, 10, 10)
    (text,) = texts(CHECKER.check(recorder.history()))
    assert text == "after base seed 0 (seed (request 0)) worker:0 and worker:1 drew the same"


def test_a_base_seed_that_does_not_repeat_is_found_for_each_env():
    recorder = Recorder()
    seeded(recorder, 0, 10, 11)
    seeded(recorder, 0, 10, 12)
    (text,) = texts(CHECKER.check(recorder.history()))
    assert text.startswith("worker:1 drew differently after base seed 0 (seed (request 0)) and ")


def test_a_draw_of_another_base_seed_is_found():
    recorder = Recorder()
    seeded(recorder, 0, 10, 11)
    seeded(recorder, 1, 11, 12)
    (text,) = texts(CHECKER.check(recorder.history()))
    assert text.startswith("worker:0 draws after base seed 1 (seed (request 6)) what worker:1 drew")


def test_only_the_first_draw_after_a_seeding_counts():
    recorder = Recorder()
    seeded(recorder, 0, 10, 11)
    recorder.observe(0, "reset", draw=11)
    assert texts(CHECKER.check(recorder.history())) == []


def test_envs_may_draw_while_they_are_seeded():
    recorder = Recorder()
    invoked = recorder.invoke("seed", value=0)
    recorder.observe(0, "reset", draw=10)
    recorder.observe(1, "reset", draw=10)
    recorder.ok(invoked)
    assert len(CHECKER.check(recorder.history()).findings) == 1


def test_what_is_drawn_without_a_seed_is_not_judged():
    recorder = Recorder()
    recorder.observe(0, "reset", draw=10)
    recorder.observe(1, "reset", draw=10)
    assert CHECKER.check(recorder.history()).judged == 0


def test_it_applies_where_a_seeding_succeeded_and_envs_were_reset():
    recorder = Recorder()
    recorder.failing("seed", value=0)
    recorder.call("reset")
    assert not CHECKER.applies(recorder.history())
    recorder.call("seed", value=0)
    assert not CHECKER.applies(recorder.history())
    recorder.call("reset")
    assert CHECKER.applies(recorder.history())


def test_it_does_not_apply_where_the_pool_that_was_seeded_is_gone_before_its_reset():
    recorder = Recorder()
    recorder.call("seed", value=0)
    recorder.call("replace")
    recorder.call("reset")
    assert not CHECKER.applies(recorder.history())


def test_what_a_pool_beside_draws_is_not_judged():
    recorder = Recorder()
    recorder.call("seed", value=5)
    recorder.write(Kind.OBSERVE, "reset", role="beside:0", draw=10)
    recorder.observe(0, "reset", draw=10)
    judgement = CHECKER.check(recorder.history())
    assert (texts(judgement), judgement.judged) == ([], 1)


def test_the_next_pool_is_not_seeded():
    for building in ("replace", "rebuild", "build_anew"):
        recorder = Recorder()
        seeded(recorder, 5, 10, 11)
        recorder.call("seed", value=5)
        recorder.call(building)
        recorder.observe(0, "reset", draw=99)
        judgement = CHECKER.check(recorder.history())
        assert (texts(judgement), judgement.judged) == ([], 2)
