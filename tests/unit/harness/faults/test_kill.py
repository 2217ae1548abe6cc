"""A worker is killed from outside only where it is a process, and one of the pool's."""

from __future__ import annotations

from typing import Any

from harness.faults.process import Kill


class Stage:
    """Keeps what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def record(self, fault: str, record: str, *_: str, **__: Any) -> None:
        self.asked.append((fault, record))

    def kill_worker(self, fault: str, worker: int) -> None:
        self.asked.append((fault, worker))


def test_it_strikes_the_worker_of_its_env_at_its_own_step():
    stage = Stage()
    fault = Kill(id="f1", worker=1)
    fault.arm(stage)  # type: ignore[arg-type] # as much of a stage as it needs
    assert stage.asked == [("f1", "armed"), ("f1", 1)]
    assert fault.placement is None


def test_a_thread_cannot_have_it():
    assert Kill().unsupported({"transport": "thread", "num_envs": 2}, None)
    assert Kill().unsupported({"transport": "process", "num_envs": 2}, None) is None


def test_an_env_that_is_not_there_cannot_have_it():
    assert Kill(worker=2).unsupported({"transport": "process", "num_envs": 2}, None)
