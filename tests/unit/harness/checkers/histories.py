"""Histories as a driver would write them, and an honest pool that answers in them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.model import probe
from harness.model.history import Ending, Event, History, Kind, Leftover
from harness.model.verdict import Contract, Judgement

PID = 4_000
FINISHED = Ending(exit_code=0, finished=True)
EMPTY_CENSUS: Mapping[str, Any] = {"fds": {}, "threads": ["MainThread"], "children": [], "shm": []}


class Recorder:
    """Writes events one after the other, on a clock that moves only when told."""

    def __init__(self, component: str = "pool") -> None:
        self.component = component
        self.events: list[Event] = []
        self._ts_ns = 1_000_000_000

    def write(
        self,
        kind: Kind,
        op: str,
        *,
        role: str = "driver",
        request: int | None = None,
        after_s: float = 0.001,
        **data: Any,
    ) -> Event:
        self._ts_ns += round(after_s * 1e9)
        seq = len(self.events)
        event = Event(
            seq=seq, ts_ns=self._ts_ns, pid=PID, role=role, kind=kind, op=op, id=request, data=data
        )
        self.events.append(event)
        return event

    def invoke(self, op: str, **arguments: Any) -> Event:
        """Begin an operation; its id is the position of its event."""
        given = {"deadline_s": 5.0, "grace_s": 2.0, "phase": None, **arguments}
        return self.write(Kind.INVOKE, op, request=len(self.events), **given)

    def ok(self, invoked: Event, after_s: float = 0.01, **data: Any) -> Event:
        return self.write(Kind.OK, invoked.op, request=invoked.id, after_s=after_s, **data)

    def fail(
        self,
        invoked: Event,
        message: str = "worker 1 failed in step",
        *,
        error: str = "RuntimeError",
        after_s: float = 0.01,
        **more: Any,
    ) -> Event:
        description = {
            "type": error,
            "bases": [error, "Exception"],
            "message": message,
            "causes": [],
            "traceback": "",
            **more,
        }
        kind = Kind.FAIL
        return self.write(kind, invoked.op, request=invoked.id, after_s=after_s, error=description)

    def call(self, op: str, *, after_s: float = 0.01, **arguments: Any) -> Event:
        """An operation that returns nothing."""
        return self.ok(self.invoke(op, **arguments), after_s)

    def failing(self, op: str, message: str = "worker 1 failed in step", **arguments: Any) -> Event:
        return self.fail(self.invoke(op, **arguments), message)

    def fault(self, fault_id: str, record: str, **data: Any) -> Event:
        event = self.write(Kind.FAULT, "fault", record=record, detail="seen", **data)
        self.events[-1] = replace(event, data={**event.data, "id": fault_id})
        return self.events[-1]

    def census(self, op: str, **held: Any) -> Event:
        return self.write(Kind.CENSUS, op, **{**EMPTY_CENSUS, **held})

    def observe(self, worker: int, op: str, **data: Any) -> Event:
        return self.write(Kind.OBSERVE, op, role=f"worker:{worker}", **data)

    def forward(self, *stamps: tuple[int, int, int]) -> Event:
        """A forward, one (first, last, buffer) a worker."""
        rows = [
            {"worker": worker, "first": first, "last": last, "buffer": buffer}
            for worker, (first, last, buffer) in enumerate(stamps)
        ]
        return self.ok(self.invoke("forward"), rows=rows)

    def history(
        self,
        *,
        faults: Sequence[tuple[str, str]] = (),
        expect: tuple[str, ...] = ("survives",),
        ending: Ending = FINISHED,
        leftovers: tuple[Leftover, ...] = (),
        setup: Mapping[str, Any] | None = None,
        properties: Mapping[str, Any] | None = None,
    ) -> History:
        """What was written so far; `faults` are (name, id)."""
        return History(
            component=self.component,
            setup={"num_envs": 2, "horizon": 4, **(setup or {})},
            expect=expect,
            properties={"autoreset": "same_step", **(properties or {})},
            faults=tuple({"fault": name, "id": fault_id} for name, fault_id in faults),
            verbs=frozenset(e.op for e in self.events if e.kind is Kind.INVOKE),
            events=tuple(self.events),
            ending=ending,
            leftovers=leftovers,
        )


class ProbeEnv:
    """The env of the model, step by step."""

    def __init__(self, index: int, horizon: int) -> None:
        self.index = index
        self.horizon = probe.horizon(horizon, index)
        self.episode = 0
        self.place = 0

    def reset(self) -> list[float]:
        self.episode += 1
        self.place = 0
        return self.seen(probe.NO_ACTION)

    def step(self, action: int) -> tuple[list[float], float, bool, bool]:
        self.place += 1
        ended = self.place == self.horizon
        even = probe.terminates(self.index)
        reward = probe.reward(self.index, self.place)
        return self.seen(action), reward, ended and even, ended and not even

    def seen(self, action: int) -> list[float]:
        entries = probe.encode(
            env_index=self.index,
            incarnation=PID,
            episode=self.episode,
            step=self.place,
            action=action,
        )
        return [float(entry) for entry in entries]


class HonestPool:
    """Does in turn what a correct pool does, and writes it down."""

    def __init__(self, num_envs: int = 2, horizon: int = 4, autoreset: str = "same_step") -> None:
        self.recorder = Recorder()
        self.autoreset = autoreset
        self.horizon = horizon
        self.envs = [ProbeEnv(index, horizon) for index in range(num_envs)]
        self.shown: list[list[float]] = [[] for _ in self.envs]
        self.due = [False] * num_envs
        self.queues: list[list[dict[str, Any]]] = [[] for _ in self.envs]
        self._next_action = 100

    def reset(self) -> Event:
        invoked = self.recorder.invoke("reset")
        return self.recorder.ok(
            invoked, rows=[self.reset_one(env) for env in range(len(self.envs))]
        )

    def reset_where(self, mask: Sequence[bool]) -> Event:
        invoked = self.recorder.invoke("reset_where", mask=list(mask))
        rows = [
            self.reset_one(env) if masked else {"env": env, "obs": list(self.shown[env])}
            for env, masked in enumerate(mask)
        ]
        return self.recorder.ok(invoked, rows=rows, mask_after=list(mask))

    def step(self) -> Event:
        actions = self.actions()
        invoked = self.recorder.invoke("step", actions=actions)
        rows = [self.step_one(env, action) for env, action in enumerate(actions)]
        return self.recorder.ok(invoked, rows=rows)

    def send(self) -> Event:
        """All envs do it at once; the answers wait."""
        actions = self.actions()
        invoked = self.recorder.invoke("send", actions=actions)
        for env, action in enumerate(actions):
            self.queues[env].append(self.step_one(env, action))
        return self.recorder.ok(invoked)

    def recv(self, envs: Sequence[int] | None = None) -> Event:
        """The oldest answer of each of these envs, in their order."""
        asked = range(len(self.envs)) if envs is None else envs
        invoked = self.recorder.invoke("recv", timeout_s=None, min_get=len(asked))
        return self.recorder.ok(invoked, rows=[self.queues[env].pop(0) for env in asked])

    def rollout(self, frames: int) -> Event:
        invoked = self.recorder.invoke("rollout", frames=frames)
        rows = []
        for _ in range(frames):
            for env, action in enumerate(self.actions()):
                start = list(self.shown[env])
                row = self.step_one(env, action)
                rows.append({**row, "obs": start, "final": row["final"] or row["obs"]})
        return self.recorder.ok(invoked, rows=rows)

    def actions(self) -> list[int]:
        first = self._next_action
        self._next_action += len(self.envs)
        return list(range(first, self._next_action))

    def reset_one(self, env: int) -> dict[str, Any]:
        self.due[env] = False
        self.shown[env] = self.envs[env].reset()
        self.recorder.observe(env, "reset", episode=self.envs[env].episode, step=0, action=-1)
        return {"env": env, "obs": self.shown[env]}

    def step_one(self, env: int, action: int) -> dict[str, Any]:
        row: dict[str, Any] = {"env": env, "action": float(action), "final": None}
        if self.due[env]:
            first = self.reset_one(env)
            return {**row, **first, "reward": 0.0, "terminated": False, "truncated": False}
        seen, reward, terminated, truncated = self.envs[env].step(action)
        self.recorder.observe(env, "step", episode=seen[3], step=seen[4], action=action)
        row |= {"reward": reward, "terminated": terminated, "truncated": truncated}
        self.shown[env] = seen
        if (terminated or truncated) and self.autoreset == "same_step":
            row["final"] = seen
            self.reset_one(env)
        elif terminated or truncated:
            self.due[env] = True
        return {**row, "obs": self.shown[env]}

    def history(self, **more: Any) -> History:
        setup = {"num_envs": len(self.envs), "horizon": self.horizon}
        properties = {"autoreset": self.autoreset}
        return self.recorder.history(setup=setup, properties=properties, **more)


def spoilt(
    history: History, op: str, n: int, spoil: Callable[[list[dict[str, Any]]], object]
) -> History:
    """The same history, with the rows of the n-th completed `op` (from 0) changed."""
    done = [e for e in history.events if e.kind is Kind.OK and e.op == op][n]
    data = copy.deepcopy(dict(done.data))
    spoil(data["rows"])
    return with_event(history, done.seq, data=data)


def with_event(history: History, seq: int, **changes: Any) -> History:
    """The same history, with one event changed."""
    events = list(history.events)
    events[seq] = replace(events[seq], **changes)
    return replace(history, events=tuple(events))


def texts(judgement: Judgement) -> list[str]:
    return [finding.text for finding in judgement.findings]


def contracts(judgement: Judgement) -> list[Contract]:
    return [finding.contract for finding in judgement.findings]


def sent_twice() -> HonestPool:
    """Actions 100, 101 and then 102, 103 for envs 0 and 1, all done and none received."""
    pool = HonestPool()
    pool.reset()
    pool.send()
    pool.send()
    return pool
