"""Closing what is closed already is no fault."""

from __future__ import annotations

from typing import Any

from harness.faults.primitive import CloseChannel


class End:
    def __init__(self, *, closed: bool) -> None:
        self.closed = closed

    def close(self) -> None:
        self.closed = True


class Stage:
    """Hands out ends, and keeps what is recorded."""

    def __init__(self, *ends: End) -> None:
        self.ends = ends
        self.records: list[str] = []

    def channel_ends(self, *_: str) -> tuple[End, ...]:
        return self.ends

    def record(self, _: str, record: str, __: str = "", **___: Any) -> None:
        self.records.append(record)


def records_of(*ends: End) -> list[str]:
    stage = Stage(*ends)
    CloseChannel(channel="results", id="f1").arm(stage)  # type: ignore[arg-type] # as much of a stage as it needs
    return stage.records


def test_ends_that_were_open_are_closed_with_effect():
    end = End(closed=False)
    assert records_of(end, End(closed=True)) == ["armed", "reached", "effect"]
    assert end.closed


def test_ends_that_were_closed_before_show_no_effect():
    assert records_of(End(closed=True)) == ["armed", "reached"]


def test_no_ends_show_no_effect():
    assert records_of() == ["armed", "reached"]
