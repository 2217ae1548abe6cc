"""Which items a fault of transfers can strike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.faults.primitive import FillChannel
from harness.faults.transfer import (
    CutChannel,
    DelayTransfer,
    DropTransfer,
    TearTransfer,
    TruncateTransfer,
    UnrebuildableItem,
)

ABLE = SimpleNamespace(transfers={"process": {"commands", "results"}, "thread": {"results"}})


@pytest.mark.parametrize(
    ("channel", "role", "puts"),
    [
        ("commands", "driver", True),
        ("commands", "worker:0", False),
        ("results", "worker", True),
        ("results", "driver", False),
    ],
)
def test_commands_are_put_by_the_driver_and_results_by_workers(channel: Any, role: str, puts: bool):  # noqa: FBT001 - a case
    assert DelayTransfer(channel=channel, role=role).puts is puts
    assert (DropTransfer(channel=channel, role=role).nonsense is None) is puts


def test_whoever_gets_an_item_may_be_late_with_it():
    assert DelayTransfer(channel="results", role="driver").nonsense is None


@pytest.mark.parametrize("cls", [TruncateTransfer, UnrebuildableItem, TearTransfer, CutChannel])
def test_what_threads_hand_over_has_no_bytes_to_be_broken(cls: Any):
    fault = cls(channel="results", role="worker:0")
    assert fault.unsupported({"transport": "process"}, ABLE) is None
    assert "threads" in str(fault.unsupported({"transport": "thread"}, ABLE))


def test_an_item_of_threads_can_be_lost_where_the_backend_says_how_it_goes():
    lost = DropTransfer(channel="results", role="worker:0")
    assert lost.unsupported({"transport": "thread"}, ABLE) is None
    command = DropTransfer(channel="commands", role="driver")
    assert "declares no transfers" in str(command.unsupported({"transport": "thread"}, ABLE))


def test_only_a_pipe_can_be_full():
    assert FillChannel(worker=0).unsupported({"transport": "process"}, ABLE) is None
    assert FillChannel(worker=0).unsupported({"transport": "thread"}, ABLE)


class Stage:
    """A channel that takes so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.records: list[str] = []

    def fill_channel(self, *_: object) -> int:
        return self.room

    def record(self, _: str, record: str, __: str = "", **___: Any) -> None:
        self.records.append(record)


@pytest.mark.parametrize(
    ("room", "records"), [(9, ["armed", "reached", "effect"]), (0, ["armed", "reached"])]
)
def test_filling_a_channel_that_takes_nothing_shows_no_effect(room: int, records: list[str]):
    stage = Stage(room)
    FillChannel(worker=0).arm(stage)  # type: ignore[arg-type] # as much of a stage as it needs
    assert stage.records == records
