"""What happened in a cell, in order and bounded."""

from __future__ import annotations

from typing import Any

import pytest

from harness.model import probe
from harness.model.history import Event, Kind
from harness.report.timeline import LINES_MAX, Gap, Line, timeline

NOTHING: frozenset[int] = frozenset()


def event(seq: int, kind: Kind, op: str, number: int | None = None, **data: Any) -> Event:
    at_ns = 1_000 + seq * 1_000_000
    return Event(seq=seq, ts_ns=at_ns, pid=1, role="driver", kind=kind, op=op, id=number, data=data)


def calls(count: int) -> list[Event]:
    """A journal of `count` steps; call n has the events 2 n and 2 n + 1."""
    pairs = [
        (
            event(2 * n, Kind.INVOKE, "step", n, deadline_s=1.0),
            event(2 * n + 1, Kind.OK, "step", n),
        )
        for n in range(count)
    ]
    return [each for pair in pairs for each in pair]


def lines(*events: Event, cited: frozenset[int] = NOTHING) -> list[Line]:
    return [line for line in timeline(events, cited).lines if isinstance(line, Line)]


def test_an_operation_is_one_line_with_both_events():
    (line,) = lines(*calls(1))
    assert (line.events, line.op, line.status, line.elapsed) == (
        (0, 1),
        "step",
        "ok",
        "1.0 ms of 1.00 s",
    )


def test_its_deadline_is_not_among_its_arguments():
    (line,) = lines(
        event(0, Kind.INVOKE, "recv", 1, deadline_s=1, grace_s=2, phase=None, min_get=3)
    )
    assert line.arguments == "min_get=3"


def test_an_operation_without_completion_did_not_end():
    (line,) = lines(event(0, Kind.INVOKE, "shutdown", 1, deadline_s=5.0))
    assert (line.status, line.elapsed, line.result) == ("open", "open, of 5.00 s", "did not end")


def test_an_operation_beyond_its_deadline_is_late():
    (line,) = lines(
        event(0, Kind.INVOKE, "step", 1, deadline_s=0.0005), event(1, Kind.OK, "step", 1)
    )
    assert line.late


def test_an_error_is_shown_with_its_type():
    (line,) = lines(
        event(0, Kind.INVOKE, "step", 1),
        event(1, Kind.FAIL, "step", 1, error={"type": "OSError", "message": "gone"}),
    )
    assert line.result == "OSError: gone"


def test_rows_are_counted_and_whole_numbers_are_short():
    (line,) = lines(
        event(0, Kind.INVOKE, "step", 1),
        event(1, Kind.OK, "step", 1, rows=[{"env": 0, "obs": [3.0, 0.5], "final": None}]),
    )
    assert line.result == "1 row: env=0 obs=[3, 0.5]"


def test_a_flag_of_a_row_is_shown_if_it_is_set():
    row = {"env": 0, "terminated": False, "truncated": True}
    (line,) = lines(
        event(0, Kind.INVOKE, "step", 1), event(1, Kind.OK, "step", 1, rows=[row, "odd"])
    )
    assert line.result == "2 rows: env=0 truncated=true; odd"


def test_a_long_result_is_cut():
    (line,) = lines(
        event(0, Kind.INVOKE, "step", 1), event(1, Kind.OK, "step", 1, text="x" * 100_000)
    )
    assert len(line.result) < 400


def test_faults_and_notes_stand_between_the_operations():
    found = lines(
        event(0, Kind.NOTE, "phase", phase="chaos"),
        event(1, Kind.INVOKE, "step", 1),
        event(2, Kind.FAULT, "signal", id="f1", record="armed", detail="at step", worker=1),
        event(3, Kind.OK, "step", 1),
    )
    assert [(line.kind, line.result) for line in found] == [
        ("note", "phase=chaos"),
        ("operation", ""),
        ("fault", "f1 armed at step worker=1"),
    ]


def test_a_mark_shows_what_it_counted():
    held = {"fds": 5, "threads": 2, "mappings": 90, "rss_kb": 4000}
    counted: dict[str, Any] = {
        "processes": [{"pid": 1, **held}, {"pid": 2, **held}],
        "shm": [],
        "files": ["a"],
    }
    (line,) = lines(
        event(0, Kind.INVOKE, "mark", 1),
        event(1, Kind.CENSUS, "mark", **counted),
        event(2, Kind.OK, "mark", 1),
    )
    assert line.result == (
        "2 processes, 4 threads, 10 file descriptors, 0 names in shared memory, "
        "1 temporary files, 180 mappings, 8000 kB of resident memory"
    )


@pytest.mark.parametrize(("cited", "count"), [(NOTHING, 0), (frozenset({0}), 1)])
def test_an_observation_is_shown_if_it_is_cited(cited: frozenset[int], count: int):
    assert len(lines(event(0, Kind.OBSERVE, "reset"), cited=cited)) == count


def test_a_journal_without_sense_does_not_raise():
    found = lines(
        event(0, Kind.OK, "step", 7),
        event(1, Kind.INVOKE, "step", None),
        event(2, Kind.INVOKE, "step", 3, deadline_s="soon"),
        event(3, Kind.FAIL, "step", 3, error="text", rows="none"),
        event(4, Kind.FAULT, "signal"),
    )
    assert [line.kind for line in found] == ["operation", "fault"]


def test_an_empty_journal_has_no_lines():
    assert timeline((), NOTHING).lines == ()


def test_as_many_lines_as_are_allowed_are_all_shown():
    assert timeline(calls(LINES_MAX), NOTHING).note == ""


def test_of_too_many_lines_the_allowed_number_is_shown():
    assert len(lines(*calls(1_000))) == LINES_MAX


def test_of_too_many_lines_the_last_ones_are_shown():
    found = timeline(calls(1_000), NOTHING).lines[-1]
    assert isinstance(found, Line)
    assert found.who == "999"


def test_of_too_many_lines_the_cited_ones_are_shown():
    assert any(1_000 in line.events for line in lines(*calls(1_000), cited=frozenset({1_000})))


def test_what_is_left_out_is_counted_in_its_place():
    found = timeline(calls(1_000), NOTHING)
    gaps = [line.count for line in found.lines if isinstance(line, Gap)]
    assert (gaps, found.note) == ([800], "800 of 1000 lines not shown")


def test_an_observation_is_told_in_words():
    whole = probe.encode(env_index=1, incarnation=77, episode=2, step=3, action=9)
    first = probe.encode(env_index=0, incarnation=77, episode=3, step=0, action=-1)
    torn = [*whole[:-1], 0]
    rows = [{"env": 1, "obs": list(first), "final": list(whole)}, {"env": 1, "obs": torn}]
    (line,) = lines(event(0, Kind.INVOKE, "step", 1), event(1, Kind.OK, "step", 1, rows=rows))
    assert line.result == (
        "2 rows: env=1, obs: env 0 episode 3 step 0 (pid 77), "
        "final: env 1 episode 2 step 3 after action 9 (pid 77); "
        "env=1, obs: env 1 episode 2 step 3 after action 9 (pid 77), TORN"
    )
