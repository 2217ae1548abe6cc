"""How slow this machine is now, so that deadlines of scenarios stay fair on it."""

from __future__ import annotations

import os
import statistics

from harness.engine.bounds import Bound
from harness.ports.clock import now_ns

ROUNDS = 15
LOOP = 20_000  # additions a round
NOMINAL_NS = 2_600_000  # median round on an idle core of the machine that the deadlines were set on
SCALE_MAX = 10.0
CHOSEN = Bound(1, 1000)  # what may be asked for


def measure() -> float:
    """At least 1: the median time of a fixed loop with a system call in each turn, over its nominal time."""
    rounds = []
    for _ in range(ROUNDS):
        start = now_ns()
        total = 0
        for i in range(LOOP):
            total += i
            if i % 100 == 0:
                os.getppid()
        rounds.append(now_ns() - start)
    scale = statistics.median(rounds) / NOMINAL_NS
    return round(min(SCALE_MAX, max(1.0, scale)), 2)
