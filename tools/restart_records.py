"""What a long run of a pool that replaces its workers leaves on record, and what is wrong with it.

Every step has an id, which its action carries; envs write down each one that they carry out before
they answer. So it is decidable which steps were lost, which were done twice, and who is to blame.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness.model.probe import Observation, reward


class Fate(enum.Enum):
    """What a caller learned of a step."""

    CAME = "came"  # its result
    CUT = "cut"  # it ended where it started
    RAISED = "raised"
    GIVEN_UP = "given up"  # another env of the same call raised
    REFUSED = "nothing"  # none of these: a defect


class Done(enum.Enum):
    """What an env wrote down."""

    SEEDED = "seeded"
    RESET = "reset"
    STEPPED = "stepped"
    RAISED = "raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that an env did: `value` is the seed, or the id of the step."""

    env: int
    incarnation: int
    done: Done
    value: int

    def line(self) -> bytes:
        """One line of a journal."""
        return f"{self.env} {self.incarnation} {self.done.value} {self.value}\n".encode()

    @classmethod
    def of(cls, line: str) -> Entry:
        """Read a line back."""
        env, incarnation, done, value = line.split()
        return cls(env=int(env), incarnation=int(incarnation), done=Done(done), value=int(value))


@dataclass(slots=True, kw_only=True)
class Step:
    """One step that was asked for.

    Attributes:
        id: its number.
        env: who was asked.
        before: what it started from.
        fate: what became of it.
        following: what it led to, where it came or was cut off.
        root: what the next step starts from, likewise.
        reward: likewise.
        ended: terminated, truncated.
        killed: whether the worker was killed since it was asked, or since its last answer.
    """

    id: int
    env: int
    before: Observation
    fate: Fate = Fate.REFUSED
    following: Observation | None = None
    root: Observation | None = None
    reward: float = 0.0
    ended: tuple[bool, bool] = (False, False)
    killed: bool = False


@dataclass(slots=True)
class Records:
    """Everything on record: what was asked, what was done, how often workers were killed and replaced."""

    steps: list[Step] = field(default_factory=list)
    journal: list[Entry] = field(default_factory=list)
    kills: Counter[int] = field(default_factory=Counter)
    restarts: Sequence[int] = ()


def problems(records: Records, horizon: int) -> list[str]:
    """What is wrong, in words; nothing if all is well.

    Args:
        records: of a run.
        horizon: after how many steps an episode is truncated.
    """
    return [
        *_lost_or_doubled(records),
        *_broken_courses(records.steps, horizon),
        *_repeated_seeds(records.journal),
        *_uncounted(records),
    ]


def _lost_or_doubled(records: Records) -> Iterator[str]:
    carried_out = Counter(e.value for e in records.journal if e.done is Done.STEPPED)
    by = {e.value: e.incarnation for e in records.journal if e.done is Done.STEPPED}
    asked = {step.id for step in records.steps}
    for id_, times in carried_out.items():
        if times > 1:
            yield f"step {id_} was carried out {times} times"
        if id_ not in asked:
            yield f"step {id_} was carried out and never asked for"
    for step in records.steps:
        times = carried_out[step.id]
        if step.fate is Fate.CAME and times == 0:
            yield f"step {step.id} of env {step.env} has a result and was not carried out"
        elif step.fate is Fate.CAME and by[step.id] != _shown(step).incarnation:
            yield f"the result of step {step.id} names another worker than its env does"
        elif step.fate is Fate.CUT and not step.killed:
            yield f"step {step.id} of env {step.env} was cut off, and its worker was not killed"
        elif step.fate is Fate.RAISED and times:
            yield f"step {step.id} raised, and was carried out"
        elif step.fate is Fate.REFUSED:
            yield f"step {step.id} of env {step.env} was never answered"


def _broken_courses(steps: Sequence[Step], horizon: int) -> Iterator[str]:
    for step in steps:
        if step.following is None or step.root is None:
            continue
        if not (step.following.whole and step.root.whole):
            yield f"step {step.id} shows a torn observation"
        wrong = _cut_wrongly(step) if step.fate is Fate.CUT else _stepped_wrongly(step, horizon)
        if wrong:
            yield f"step {step.id} ({step.fate.value}), from {step.before}, {wrong}"


def _cut_wrongly(step: Step) -> str:
    assert step.root is not None
    if (step.following, step.reward, step.ended) != (step.before, 0.0, (False, True)):
        return f"does not end where it started, but at {step.following} as {step.ended}"
    if step.root.incarnation == step.before.incarnation or not _begins(step, 1):
        return f"is followed by {step.root}"
    return ""


def _stepped_wrongly(step: Step, horizon: int) -> str:
    shown, before = _shown(step), step.before
    if _course(shown) != (*_course(before)[:3], before.step + 1, step.id):
        return f"leads to {shown}"
    over = shown.step >= horizon
    if (step.reward, step.ended) != (reward(step.env, shown.step), (False, over)):
        return f"earns {step.reward} and ends as {step.ended}"
    going_on = step.root == shown
    new = _begins(step, before.episode + 1)
    return "" if (new if over else going_on) else f"is followed by {step.root}"


def _begins(step: Step, episode: int) -> bool:
    root = step.root
    assert root is not None
    return (root.env_index, root.episode, root.step) == (step.env, episode, 0)


def _course(shown: Observation) -> tuple[int, int, int, int, int]:
    return (shown.env_index, shown.incarnation, shown.episode, shown.step, shown.action)


def _repeated_seeds(journal: Sequence[Entry]) -> Iterator[str]:
    seeds = Counter(entry.value for entry in journal if entry.done is Done.SEEDED)
    yield from (f"seed {seed} was given {n} times" for seed, n in seeds.items() if n > 1)
    seeded = {(e.env, e.incarnation) for e in journal if e.done is Done.SEEDED}
    for env, incarnation in {(e.env, e.incarnation) for e in journal} - seeded:
        yield f"worker {incarnation} of env {env} was given no seed"


def _uncounted(records: Records) -> Iterator[str]:
    for env, restarts in enumerate(records.restarts):
        if restarts != records.kills[env]:
            yield f"env {env} was killed {records.kills[env]} times and replaced {restarts} times"


def _shown(step: Step) -> Observation:
    assert step.following is not None
    return step.following
