"""How long calls took is shown by verb, against their deadlines."""

from __future__ import annotations

from typing import Any

from harness.model.history import Event, Kind
from harness.report.latency import DOTS_MAX, VERBS_MAX, Latencies, latencies
from harness.report.requests import operations
from tests.unit.harness.report.journals import event, invoke


def shown(*events: Event) -> Latencies:
    found = latencies(operations(events), events[-1].ts_ns)
    assert found is not None
    return found


def call(seq: int, op: str, number: int, took_ms: int, **data: Any) -> tuple[Event, Event]:
    return invoke(seq, op, number, **data), event(seq + took_ms, Kind.OK, op, number)


def test_calls_without_a_deadline_are_not_shown():
    assert latencies(operations([event(0, Kind.INVOKE, "step", 1)]), 1) is None


def test_each_verb_has_a_strip():
    found = shown(*call(0, "step", 1, 5), *call(9, "reset", 2, 5), *call(20, "step", 3, 9))
    assert [(strip.verb, len(strip.dots)) for strip in found.strips] == [("step", 2), ("reset", 1)]


def test_a_call_in_time_lies_before_its_deadline_and_a_late_one_beyond():
    (strip,) = shown(*call(0, "step", 1, 5), *call(10, "step", 2, 1500)).strips
    late, good = strip.dots
    assert good.x < strip.deadlines[0] < late.x
    assert (good.late, late.late) == (False, True)


def test_an_open_call_is_late_and_counted():
    (strip,) = shown(invoke(0, "step", 1), event(9, Kind.OBSERVE, "step")).strips
    assert strip.dots[0].late
    assert strip.text == "1 call, 1 open of 1 s"


def test_the_text_sums_up():
    (strip,) = shown(
        *call(0, "step", 1, 5), *call(9, "step", 2, 7), *call(20, "step", 3, 40)
    ).strips
    assert strip.text == "3 calls, median 7 ms, most 40 ms of 1 s"


def test_of_many_calls_the_slowest_are_shown():
    events = [each for n in range(100) for each in call(n * 1000, "step", n, n + 1)]
    (strip,) = shown(*events).strips
    assert len(strip.dots) == DOTS_MAX
    assert strip.dots[0].title == "step: ok, 100 ms of 1 s"


def test_too_many_verbs_are_counted():
    events = [each for n in range(20) for each in call(n * 10, f"verb{n}", n, 1)]
    found = shown(*events)
    assert (len(found.strips), found.note) == (VERBS_MAX, "8 verbs not shown")
