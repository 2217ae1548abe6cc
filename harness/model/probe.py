"""The pure model of the probe payloads: what an observation carries and what an env must do next.

A probe observation is a float32 vector; every entry is an integer small enough to be exact:

| field | meaning |
|---|---|
| `head`, `tail` | `episode * 1000 + step`, at both ends, so that a torn copy shows |
| `env_index` | which env of the pool this is |
| `incarnation` | the process it lives in (its pid), so that a restart shows |
| `episode`, `step` | counters of the env itself; `step` is 0 after a reset |
| `action` | the action that led here, -1 after a reset: actions are request ids |
| `checksum` | over all of the above |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

FIELDS = ("head", "env_index", "incarnation", "episode", "step", "action", "checksum", "tail")
WIDTH = len(FIELDS)
NO_ACTION = -1
CHECKSUM_MODULUS = 65_521  # the largest prime below 2**16: exact in float32
EXACT_MAX = 2**24  # up to which float32 holds every whole number
# Of a record that is packed into one number, from the least to the most significant: name in `encode`, bits, and
# what keeps it from being negative.
PACKED = (
    ("action", 12, 1),
    ("step", 8, 0),
    ("episode", 8, 0),
    ("env_index", 5, 0),
    ("incarnation", 22, 0),
)


def packed_max(name: str) -> int:
    """The largest value of a field that a packed record holds."""
    return next((1 << bits) - 1 - offset for each, bits, offset in PACKED if each == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A probe observation, decoded."""

    head: int
    env_index: int
    incarnation: int
    episode: int
    step: int
    action: int
    checksum: int
    tail: int

    @property
    def whole(self) -> bool:
        """Whether both ends and the checksum agree."""
        stamp = self.episode * 1000 + self.step
        return (
            self.head == self.tail == stamp
            and checksum(self.env_index, self.incarnation, self.episode, self.step, self.action)
            == self.checksum
        )


def checksum(env_index: int, incarnation: int, episode: int, step: int, action: int) -> int:
    """A position-dependent sum modulo a prime (Fletcher's idea, one accumulator)."""
    total = 0
    for value in (env_index, incarnation, episode, step, action):
        total = (total * 257 + value + 2) % CHECKSUM_MODULUS
    return total


def encode(
    *, env_index: int, incarnation: int, episode: int, step: int, action: int
) -> tuple[int, ...]:
    """The observation's entries, in the order of `FIELDS`."""
    stamp = episode * 1000 + step
    check = checksum(env_index, incarnation, episode, step, action)
    return (stamp, env_index, incarnation, episode, step, action, check, stamp)


def decode(entries: Sequence[float]) -> Observation:
    """Read an observation back.

    Raises:
        ValueError: the vector does not have `WIDTH` entries, or one is not finite.
    """
    if len(entries) != WIDTH:
        raise ValueError(f"a probe observation has {WIDTH} entries, got {len(entries)}")
    if any(entry != entry or abs(entry) == float("inf") for entry in entries):
        raise ValueError(f"a probe observation is finite, got {list(entries)}")
    return Observation(**dict(zip(FIELDS, map(round, entries), strict=True)))


LEVEL_UNIT = 1024  # more than any reward at level 0
LEVEL_MAX = EXACT_MAX // 8 // LEVEL_UNIT - 1  # rewards come in eighths


def reward(env_index: int, step: int, level: int = 0) -> float:
    """The reward of the step that led to `step`: exact in float32, different in every env and at every level."""
    return step + env_index / 8 + LEVEL_UNIT * level


def level_in(reward: float) -> tuple[int, float]:
    """The level that a reward shows, and the reward at level 0.

    Raises:
        ValueError: it is not finite.
    """
    if not math.isfinite(reward):
        raise ValueError(f"a reward of the probe is finite, got {reward}")
    level = math.floor(reward / LEVEL_UNIT)
    return level, reward - LEVEL_UNIT * level


def horizon(base: int, env_index: int) -> int:
    """Envs have differing horizons, so that their episodes end apart."""
    return base + env_index


def terminates(env_index: int) -> bool:
    """Even envs end by termination, odd ones by truncation."""
    return env_index % 2 == 0


def ending(ends: str, env_index: int, episode: int) -> tuple[bool, bool]:
    """How an episode ends, as the setup's `ends` says: terminated, truncated."""
    match ends:
        case "truncated":
            return False, True
        case "both":
            return True, True
        case "by_turns":
            terminated = terminates(env_index + episode)
        case _:
            terminated = terminates(env_index)
    return terminated, not terminated
