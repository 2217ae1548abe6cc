"""A meter measures from when everybody has come to rest until its time is over."""

from __future__ import annotations

import os
import threading

from harness.engine.meter import SETTLE_S, Meter, processor_s


class Bench:
    """A meter over one process, on a clock and a use of the processor that are set by hand."""

    def __init__(self, for_s: float = 1.2) -> None:
        self.now_s = 0.0
        self.used_s = {7: 5.0}
        self.records: list[dict[str, object]] = []
        self.meter = Meter(
            occasion="idle",
            for_s=for_s,
            pids=lambda: list(self.used_s),
            done=self.records.append,
            clock=lambda: round(self.now_s * 1e9),
            used_s=lambda pid: self.used_s[pid],
        )

    def at(self, now_s: float, **used_s: float) -> bool:
        self.now_s = now_s
        self.used_s |= {int(pid[1:]): value for pid, value in used_s.items()}
        return self.meter.look()


def test_what_was_used_before_everybody_had_come_to_rest_does_not_count():
    bench = Bench()
    assert not bench.at(0.1, p7=5.1)
    assert not bench.at(SETTLE_S, p7=6.0)
    assert bench.at(1.2, p7=6.25)
    assert bench.records == [
        {"occasion": "idle", "seconds": 1.0, "processes": [{"pid": 7, "cpu_s": 0.25}]}
    ]


def test_all_that_a_process_has_used_that_began_meanwhile_counts():
    bench = Bench()
    bench.at(SETTLE_S)
    bench.at(1.2, p8=0.5)
    assert bench.records[0]["processes"] == [{"pid": 7, "cpu_s": 0.0}, {"pid": 8, "cpu_s": 0.5}]


def test_a_process_that_has_ended_is_not_told_of():
    bench = Bench()
    bench.at(SETTLE_S)
    bench.used_s.clear()
    bench.at(1.2)
    assert bench.records[0]["processes"] == []


def test_a_window_that_never_began_has_no_length():
    bench = Bench()
    assert bench.at(1.2)
    assert bench.records[0]["seconds"] == 0.0


def test_it_says_when_to_look_again():
    bench = Bench()
    first = bench.meter.due_s
    bench.at(0.5)
    assert (first, round(bench.meter.due_s, 3)) == (SETTLE_S, 0.7)


def test_the_time_of_a_process_that_works_goes_up():
    before = processor_s(os.getpid())
    sum(i * i for i in range(300_000))
    assert processor_s(os.getpid()) > before


def test_a_process_that_is_not_there_has_used_nothing():
    assert processor_s(2**22 + 1) == 0.0  # more than there can be


def test_the_time_of_threads_that_have_ended_counts():
    def work() -> None:
        sum(i * i for i in range(300_000))

    before = processor_s(os.getpid())
    thread = threading.Thread(target=work)  # noqa: TID251 - joined below
    thread.start()
    thread.join()
    assert processor_s(os.getpid()) - before > 0.005
