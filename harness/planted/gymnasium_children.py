"""The reference's pool with one bug each in how it steps gymnasium envs straight into their slots."""

from __future__ import annotations

from typing import Any

from harness.planted.variants import planted, replacing
from harness.ports.backend import Backend
from reference_impl.pool import worker_slot
from reference_impl.pool.gym_steps import GymSteps, gym_steps


class _ShownTwice:
    """Resets an env, and writes what that shows also where the end of the episode is."""

    def __init__(self, env: Any, shown: Any) -> None:
        self._env = env
        self._shown = shown
        self.step = env.step

    def reset(self) -> Any:
        """Reset it."""
        found = self._env.reset()
        self._shown[...] = found[0]
        return found


class _FinalLost(GymSteps):
    def stepped(self) -> bool:
        """Carry out the step."""
        if not isinstance(self._env, _ShownTwice):
            self._env = _ShownTwice(self._env, self._shown)
        return super().stepped()


class _FlagsKept(GymSteps):
    def stepped(self) -> bool:
        """Carry out the step, and have later ones say of episodes what this one said."""
        found = super().stepped()
        self._following_done = [cell.copy() for cell in self._following_done]
        return found


class _TriedAgain(GymSteps):
    def stepped(self) -> bool:
        """Carry out the step; one that fails is carried out once more with tensordicts."""
        try:
            return super().stepped()
        except Exception:  # noqa: BLE001 - the bug is that nobody learns of it
            return False


def _in_slots(name: str, wrong: type[GymSteps]) -> Backend:
    def steps(*args: Any) -> GymSteps | None:
        found = gym_steps(*args)
        if found is not None:
            found.__class__ = wrong
        return found

    only = {"exchange": frozenset({"slots", "auto"}), "transport": frozenset({"process"})}
    return planted(name, replacing(worker_slot, "gym_steps", steps), **only)


gymnasium_final_lost = _in_slots("gymnasium_final_lost", _FinalLost)
gymnasium_flags_kept = _in_slots("gymnasium_flags_kept", _FlagsKept)
gymnasium_step_tried_again = _in_slots("gymnasium_step_tried_again", _TriedAgain)
