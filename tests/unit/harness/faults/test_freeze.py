"""A worker is stopped from outside only where it is a process, and continued by the heal."""

from __future__ import annotations

from typing import Any

from harness.faults.process import Freeze, Kill


class Stage:
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def record(self, fault: str, record: str, *_: str, **__: Any) -> None:
        self.asked.append((fault, record))

    def freeze_worker(self, fault: str, worker: int) -> None:
        self.asked.append((fault, "freeze", worker))

    def thaw_worker(self, worker: int) -> None:
        self.asked.append(("thaw", worker))


def test_it_strikes_at_its_own_step_and_the_heal_lets_its_worker_go_on():
    stage = Stage()
    fault = Freeze(id="f1", worker=1)
    fault.arm(stage)  # type: ignore[arg-type]  # as much of a stage as it needs
    fault.heal(stage)  # type: ignore[arg-type]  # as much of a stage as it needs
    assert stage.asked == [("f1", "armed"), ("f1", "freeze", 1), ("thaw", 1), ("f1", "healed")]


def test_a_thread_cannot_have_it():
    assert Freeze().unsupported({"transport": "thread", "num_workers": 2}, None)
    assert Freeze().unsupported({"transport": "process", "num_workers": 2}, None) is None


def test_workers_of_weight_sync_can_be_killed_as_those_of_pools():
    setup = {"transport": "process", "num_workers": 2}
    assert Kill(worker=1).unsupported(setup, None) is None
    assert Kill(worker=2).unsupported(setup, None) == "there is no worker 2"
