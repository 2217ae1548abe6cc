"""What of a pool's calls counts as a step of the scenario."""

from __future__ import annotations

from collections import Counter

from harness.engine.pool_session import PoolSession
from harness.ports.pool_verbs import Rebuild, Reset, Step


class _Recorded(PoolSession):
    """Asks nobody, and keeps what was to be asked."""

    def __init__(self):
        self.asked: list[str] = []
        self._hits = Counter()
        self._armed = []

    def ask(self, verb):
        self.asked.append(verb.do)


def test_the_calls_that_use_a_pool_before_it_is_rebuilt_are_not_counted_among_the_steps():
    session = _Recorded()
    for verb in (Reset(), Rebuild(), Step()):
        session.execute(verb)
    assert session.asked == ["reset", "reset", "step", "rebuild", "step"]
    assert session._hits == {"reset": 1, "rebuild": 1, "step": 1}
