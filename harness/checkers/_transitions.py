"""One transition against the pure model of the probe env."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from harness.checkers._rows import Row
from harness.model import probe
from harness.model.probe import Observation

REWARD_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What of a scenario the model depends on.

    Attributes:
        horizon: the episode length of env 0.
        same_step: an env whose episode ended is reset within the step that ended it.
        ends: how episodes end, as the setup says.
        restarts: a step of an env that was lost is cut off where it started, and a new env begins.
        levels: rewards show a level, which is not for this model to say.
    """

    horizon: int
    same_step: bool
    ends: str = "split"
    restarts: bool = False
    levels: bool = False

    def is_last(self, env: int, step: int) -> bool:
        """Whether an episode of this env ends at this step."""
        return step == probe.horizon(self.horizon, env)

    def of_step(self, row: Row, before: Observation | None, *, due: bool) -> list[str]:
        """What is wrong with the answer to a step.

        Args:
            row: the answer.
            before: what it has to continue; None if that is not known.
            due: the episode had ended before, so that this step resets.
        """
        if row.unreadable:
            return [row.unreadable]
        landed = row.landed(same_step=self.same_step)
        if landed is None:
            return ["the episode ended, and its final observation is missing"]
        wrong = list(_broken(landed))
        if self.restarts and row.cut_off:
            return [*wrong, *self._cut_off(row, landed, before)]
        if due or (before is None and landed.step == 0 and not self.same_step):
            return [*wrong, *_first_of_next(landed, before), *self._reset_row(row)]
        wrong += _next(landed, before)
        wrong += self._outcome(row, landed)
        if self.same_step and row.ended:
            wrong += self._autoreset(row.observation, landed)
        return wrong

    def of_restart(self, row: Row, before: Observation | None) -> list[str]:
        """What is wrong with the answer to a reset."""
        if row.unreadable:
            return [row.unreadable]
        seen = row.observation
        if seen is None:
            return ["the observation is missing"]
        wrong = list(_broken(seen))
        wrong += _unless("step", seen.step, 0)
        wrong += _unless("action", seen.action, probe.NO_ACTION)
        same_env = before is not None and before.incarnation == seen.incarnation
        if before is not None and same_env and seen.episode <= before.episode:
            wrong.append(f"episode is {seen.episode} after episode {before.episode}: no new one")
        return wrong

    def of_rollout(self, row: Row, before: Row | None) -> list[str]:
        """What is wrong with a collected transition.

        Args:
            row: the transition: from its observation to its final one.
            before: the transition of the same env before it in the same batch.
        """
        if row.unreadable:
            return [row.unreadable]
        start, end = row.observation, row.final
        if start is None or end is None:
            return ["an observation is missing"]
        due = not self.same_step and before is not None and before.ended
        wrong = [*_broken(start), *_broken(end)]
        if due or (not self.same_step and end.step == 0):
            wrong += [*_first_of_next(end, start), *self._reset_row(row)]
        else:
            wrong += [*_next(end, start), *self._outcome(row, end)]
        if before is not None and before.final is not None:
            wrong += self._joins(before.final, start, ended=before.ended)
        return wrong

    def _joins(self, last: Observation, start: Observation, *, ended: bool) -> Iterator[str]:
        if self.same_step and ended:
            yield from self._autoreset(start, last)
        elif start != last:
            yield (
                f"starts at step {start.step} of episode {start.episode}, and the transition before "
                f"it led to step {last.step} of episode {last.episode}"
            )

    def _outcome(self, row: Row, landed: Observation) -> Iterator[str]:
        env = row.env
        last = self.is_last(env, landed.step)
        if landed.step > probe.horizon(self.horizon, env):
            yield f"step {landed.step} is beyond the episode's end"
        reward = row.reward
        if self.levels and reward is not None and math.isfinite(reward):
            _, reward = probe.level_in(reward)
        yield from _reward(reward, probe.reward(env, landed.step))
        terminated, truncated = probe.ending(self.ends, env, landed.episode)
        yield from _unless("terminated", row.terminated, last and terminated)
        yield from _unless("truncated", row.truncated, last and truncated)

    def _cut_off(self, row: Row, landed: Observation, before: Observation | None) -> Iterator[str]:
        if before is not None and landed != before:
            yield (
                f"it was cut off at step {before.step} of episode {before.episode}, and shows step "
                f"{landed.step} of episode {landed.episode}"
            )
        if row.observation is None:
            yield "the first observation of the new env is missing"
        else:
            yield from _first_of_next(row.observation, None)
            yield from _unless("episode of the new env", row.observation.episode, 1)

    def _reset_row(self, row: Row) -> Iterator[str]:
        yield from _reward(row.reward, 0.0)
        yield from _unless("terminated", row.terminated, expected=False)
        yield from _unless("truncated", row.truncated, expected=False)

    def _autoreset(self, first: Observation | None, last: Observation) -> Iterator[str]:
        if first is None:
            yield "the first observation of the next episode is missing"
            return
        for wrong in (*_broken(first), *_first_of_next(first, last)):
            yield f"first observation of the next episode: {wrong}"


def _broken(seen: Observation) -> Iterator[str]:
    if not seen.whole:
        yield (
            f"the observation is not whole: stamps {seen.head} and {seen.tail} around step "
            f"{seen.step} of episode {seen.episode}, checksum {seen.checksum}"
        )


def _next(landed: Observation, before: Observation | None) -> Iterator[str]:
    if before is None:
        if landed.step == 0:
            yield "a step was answered with the observation of a reset"
        return
    yield from _unless("incarnation", landed.incarnation, before.incarnation)
    yield from _unless("episode", landed.episode, before.episode)
    yield from _unless("step", landed.step, before.step + 1)


def _first_of_next(first: Observation, last: Observation | None) -> Iterator[str]:
    yield from _unless("step", first.step, 0)
    yield from _unless("action", first.action, probe.NO_ACTION)
    if last is not None:
        yield from _unless("incarnation", first.incarnation, last.incarnation)
        yield from _unless("episode", first.episode, last.episode + 1)


def _reward(given: float | None, expected: float) -> Iterator[str]:
    if given is None or not math.isclose(given, expected, rel_tol=0, abs_tol=REWARD_TOLERANCE):
        yield f"reward is {given}, not {expected}"


def _unless(name: str, given: object, expected: object) -> Iterator[str]:
    if given != expected:
        yield f"{name} is {given}, not {expected}"
