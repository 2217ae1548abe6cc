"""Long runs of pools that replace their workers: all is well with the reference, and with no wrong one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from harness.model.probe import decode, encode
from harness.planted import params
from harness.planted.restarts import LostStepRepeated
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.workers import Workers
from tests.end_to_end.command import BOUND_S, ROOT
from tools import long_restarts
from tools.restart_records import Done, Entry, Fate, Records, Step, problems

STEPS = 300
HORIZON = 3
OLD, NEW = 100, 101  # incarnations


@pytest.mark.slow
@pytest.mark.parametrize("exchange", ["shm", "queue"])
@pytest.mark.parametrize("start_method", ["fork", "forkserver"])
def test_nothing_is_lost_but_what_killed_workers_held_and_nothing_is_left(exchange, start_method):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tools.long_restarts", str(STEPS)),
            *("--seed", "3", "--exchange", exchange, "--start-method", start_method),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    told = json.loads(done.stdout)
    assert told["problems"] == []
    assert done.returncode == 0, done.stderr
    assert told["exchange"] == exchange
    assert set(told["troubles"]) == {each.value for each in long_restarts.Trouble}
    fates = told["fates"]
    assert sum(fates.values()) >= 4 * (STEPS + 2)
    assert fates["cut"] >= 4  # each worker is killed at least once
    assert fates["raised"] >= 1


class _Kept(Workers):
    kept: ClassVar[list[Any]] = []

    def replace(self, index, *args):
        """Replace it, and keep what the old one was run by."""
        old = self.members[index]
        object.__setattr__(old, "runner", _Unreleased(old.runner))
        self.kept.append(old.runner)
        super().replace(index, *args)


class _Unreleased:
    def __init__(self, runner):
        self._runner = runner

    def __getattr__(self, name):
        return getattr(self._runner, name)

    def release(self):
        """Keep it."""


class _CutsUnasked(AsyncEnvPool):
    """Replaces a worker, once, which nobody has killed."""

    replaced = False

    def async_step_and_maybe_reset_recv(self, *args, **kwargs):
        came = super().async_step_and_maybe_reset_recv(*args, **kwargs)
        if not (self.replaced or self.stats()["busy"]):
            self.replaced = True
            with self._talk._changed:
                self._talk._lose(0)
        return came


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (LostStepRepeated, r"step \d+ was carried out 2 times"),
        (params._CutUnmarked, r"step \d+ \(cut\).* does not end where it started"),
        (params._SeedRepeated, r"seed \d+ was given \d+ times"),
        (_CutsUnasked, r"its worker was not killed"),
    ],
)
def test_a_wrong_pool_is_told_from_a_right_one(wrong, said):
    told = long_restarts.run(8, 3, "queue", make_pool=wrong)
    assert any(re.search(said, each) for each in told["problems"]), told["problems"]


@pytest.mark.slow
def test_what_replaced_workers_leave_is_seen(monkeypatch):
    monkeypatch.setattr("reference_impl.pool.env_pool.Workers", _Kept)
    monkeypatch.setattr(long_restarts, "SETTLE_S", 0.5)
    try:
        told = long_restarts.run(40, 3, "queue")
    finally:
        for runner in _Kept.kept:
            runner._runner.release()
        _Kept.kept.clear()
    assert any("descriptors" in each for each in told["problems"]), told["problems"]


def at(step, action, *, episode=1, incarnation=OLD):
    entries = encode(
        env_index=0, incarnation=incarnation, episode=episode, step=step, action=action
    )
    return decode(entries)


def came(id_=7, step=1):
    shown = at(step, id_)
    return Step(
        id=id_,
        env=0,
        before=at(step - 1, id_ - 1),
        fate=Fate.CAME,
        following=shown,
        root=shown,
        reward=float(step),
    )


def cut(id_=7):
    before = at(1, id_ - 1)
    return Step(
        id=id_,
        env=0,
        before=before,
        fate=Fate.CUT,
        following=before,
        root=at(0, -1, incarnation=NEW),
        ended=(False, True),
        killed=True,
    )


def recorded(step, *done, restarts=0):
    journal = [Entry(env=0, incarnation=OLD, done=Done.SEEDED, value=5)]
    journal += [Entry(env=0, incarnation=OLD, done=Done.STEPPED, value=id_) for id_ in done]
    records = Records(steps=[step], journal=journal, restarts=(restarts,))
    records.kills[0] = int(step.killed)
    return records


@pytest.mark.parametrize(
    "records",
    [recorded(came(), 7), recorded(cut(), restarts=1), recorded(cut(), 7, restarts=1)],
    ids=["came", "cut off before it was done", "cut off after it was done"],
)
def test_what_is_as_it_should_be_is_no_problem(records):
    assert problems(records, HORIZON) == []


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (recorded(came()), "was not carried out"),
        (recorded(came(), 7, 7), "carried out 2 times"),
        (recorded(came(), 7, 8), "never asked for"),
        (recorded(replace(came(), fate=Fate.REFUSED), 7), "never answered"),
        (recorded(replace(came(), fate=Fate.RAISED), 7), "raised, and was carried out"),
        (recorded(replace(came(), following=at(2, 7)), 7), "leads to"),
        (recorded(replace(came(), root=at(0, -1, episode=2)), 7), "is followed by"),
        (recorded(replace(came(), reward=9.0), 7), "earns 9.0"),
        (recorded(replace(came(), ended=(False, True)), 7), "ends as"),
        (recorded(came(step=HORIZON), 7), "ends as"),
        (recorded(replace(cut(), killed=False)), "its worker was not killed"),
        (recorded(replace(cut(), ended=(False, False)), restarts=1), "does not end where"),
        (recorded(replace(cut(), root=at(1, 6)), restarts=1), "is followed by"),
        (recorded(cut(), restarts=2), "killed 1 times and replaced 2 times"),
    ],
)
def test_what_is_wrong_is_said(records, said):
    assert any(said in each for each in problems(records, HORIZON)), problems(records, HORIZON)


def test_a_seed_that_repeats_is_said():
    records = recorded(came(), 7)
    records.journal.append(Entry(env=1, incarnation=NEW, done=Done.SEEDED, value=5))
    assert problems(records, HORIZON) == ["seed 5 was given 2 times"]


def test_a_worker_without_a_seed_is_said():
    records = recorded(came(), 7)
    records.journal.append(Entry(env=1, incarnation=NEW, done=Done.RESET, value=1))
    assert problems(records, HORIZON) == [f"worker {NEW} of env 1 was given no seed"]


def test_a_journal_is_read_as_it_was_written():
    entry = Entry(env=2, incarnation=OLD, done=Done.STEPPED, value=9)
    assert Entry.of(entry.line().decode()) == entry
