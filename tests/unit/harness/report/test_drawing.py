"""The drawing of a cell: who did what when, and which of it is marked."""

from __future__ import annotations

from harness.model.history import Event, Kind
from harness.report.drawing import EVENTS_MAX, LANE, Drawing, draw
from tests.unit.harness.report.journals import asynchronous, event, fault, invoke


def drawn(*events: Event, first: str | None = None) -> Drawing:
    found = draw(events, first)
    assert found is not None
    return found


def many(count: int) -> list[Event]:
    """`count` calls that ended."""
    pairs = [(invoke(2 * n, "step", n), event(2 * n + 1, Kind.OK, "step", n)) for n in range(count)]
    return [each for pair in pairs for each in pair]


def test_nothing_is_drawn_of_nothing():
    assert draw([event(0, Kind.NOTE, "phase")]) is None


def test_each_role_has_a_lane_the_driver_first():
    found = drawn(
        fault(0, "armed", role="guardian"),
        event(1, Kind.OBSERVE, "step", role="worker:10"),
        event(2, Kind.OBSERVE, "step", role="worker:2"),
    )
    assert [lane.name for lane in found.lanes] == ["driver", "worker:2", "worker:10", "guardian"]


def test_the_lane_that_a_hang_is_put_down_to_is_marked():
    found = drawn(*asynchronous(), first="worker:1")
    assert [lane.name for lane in found.lanes if lane.first] == ["worker:1"]


def test_a_bar_reaches_from_the_call_to_its_end():
    first, second = drawn(*asynchronous()).bars
    assert first.x < first.x + first.width < second.x


def test_an_open_call_reaches_its_deadline_and_is_late():
    (bar,) = drawn(invoke(0, "step", 1), fault(1, "reached")).bars
    assert (bar.status, bar.late, bar.deadline) == ("open", True, bar.x + bar.width)


def test_a_late_call_is_drawn_beyond_its_deadline():
    (bar,) = drawn(invoke(0, "step", 1), event(1500, Kind.OK, "step", 1)).bars
    assert bar.deadline is not None
    assert bar.x < bar.deadline < bar.x + bar.width


def test_a_deadline_beyond_the_end_is_in_the_title_alone():
    (bar,) = drawn(*many(1)).bars
    assert (bar.deadline, bar.title) == (None, "step (call 0): ok, 1 ms of 1 s")


def test_a_deadline_that_lies_behind_the_next_call_is_not_marked():
    first, _ = drawn(*many(2), event(2000, Kind.OBSERVE, "step", role="worker:0")).bars
    assert first.deadline is None


def test_a_deadline_before_the_next_call_is_marked_beyond_the_bar():
    (bar,) = drawn(*many(1), event(2000, Kind.OBSERVE, "step", role="worker:0")).bars
    assert bar.deadline is not None
    assert bar.deadline > bar.x + bar.width


def test_calls_that_overlap_are_drawn_below_each_other():
    found = drawn(
        invoke(0, "forward", 1),
        invoke(1, "send", 2),
        event(2, Kind.OK, "send", 2),
        event(3, Kind.OK, "forward", 1),
    )
    assert found.bars[0].y < found.bars[1].y


def test_arrows_lead_to_the_probe_and_back():
    down, up = drawn(*asynchronous()).arrows
    assert (down.down, up.down) == (True, False)
    assert (down.x2, down.y2) == (up.x1, up.y1)
    assert down.x1 < down.x2 < up.x2


def test_a_fault_is_shaded_until_it_is_healed_on_its_workers_lane():
    reach, heal = fault(5, "reached", worker=1, role="worker:1"), fault(7, "healed")
    found = drawn(*many(2), reach, heal, event(9, Kind.OBSERVE, "step", role="worker:0"))
    (window,) = found.windows
    reached, healed = found.faults
    assert (window.x, round(window.x + window.width, 3)) == (reached.x, round(healed.x, 3))
    assert window.height == LANE


def test_a_hold_is_over_when_it_lets_go():
    events = [fault(1, "reached", op="hold"), fault(2, "effect", op="hold")]
    found = drawn(*events, event(9, Kind.OBSERVE, "step", role="worker:0"))
    assert round(found.windows[0].x + found.windows[0].width, 3) == round(found.faults[1].x, 3)


def test_a_fault_that_is_not_healed_is_shaded_to_the_end():
    found = drawn(fault(1, "reached"), event(9, Kind.OBSERVE, "step", role="worker:0"))
    (window,) = found.windows
    assert round(window.x + window.width, 3) == round(found.probes[0].x, 3)


def test_too_many_events_are_cut_and_counted():
    found = drawn(*many(300))
    assert len(found.bars) <= EVENTS_MAX
    assert (found.note, found.cut is not None) == ("400 events left out", True)


def test_faults_and_open_calls_are_not_cut():
    events = many(300)
    events[300:302] = [fault(300, "reached"), invoke(301, "recv", 999)]
    found = drawn(*events)
    assert len(found.faults) == 1
    assert [bar.status for bar in found.bars].count("open") == 1


def test_everything_lies_within_the_view():
    found = drawn(*many(90), *(fault(200 + n, "reached", role=f"worker:{n}") for n in range(9)))
    assert all(0 <= mark.x <= found.width and mark.y < found.height for mark in found.faults)
    assert all(bar.x + bar.width <= found.width for bar in found.bars)
