"""What a probe saw is joined with the call that asked for it and the one that brought the reply."""

from __future__ import annotations

from harness.model.history import Event, Kind
from harness.report.requests import Answered, answered, deadline_s, operations
from tests.unit.harness.report.journals import asynchronous, event, invoke


def joined(events: list[Event]) -> list[Answered]:
    return list(answered(events, operations(events)))


def test_a_reply_is_found_by_the_action_in_its_observation():
    (found,) = joined(asynchronous())
    assert found.asked is not None
    assert found.replied is not None
    assert (found.asked.op, found.seen.role, found.replied.op) == ("send", "worker:1", "recv")


def test_a_reply_that_did_not_come_is_none():
    (found,) = joined(asynchronous()[:3])
    assert (found.asked is not None, found.replied) == (True, None)


def test_without_an_id_the_call_of_that_name_around_it_is_taken():
    events = [
        invoke(0, "reset", 1),
        event(1, Kind.OBSERVE, "reset", role="worker:0"),
        event(2, Kind.OK, "reset", 1),
        event(3, Kind.OBSERVE, "reset", role="worker:1"),
    ]
    assert [found.seen.seq for found in joined(events)] == [1]


def test_rows_that_are_no_observations_bring_no_reply():
    events = asynchronous()
    events[4] = event(4, Kind.OK, "recv", 2, rows=[None, {"obs": "x"}, {"obs": [1.0]}, 3])
    assert joined(events)[0].replied is None


def test_a_call_has_the_deadline_that_its_journal_gives_unless_that_is_nonsense():
    given = [1, 0.5, 0, None, "soon", -1.0, 1e9, float("nan")]
    calls = operations([invoke(n, "step", n, deadline_s=each) for n, each in enumerate(given)])
    assert [deadline_s(call) for call in calls] == [1.0, 0.5, 0.0, None, None, None, None, None]
