"""How long a storage's own bounds may be."""

from __future__ import annotations

import pytest

from harness.engine.storage_session import _waits
from harness.ports.storage import Collect, Extend, ReadAll, Sample, Shutdown


@pytest.mark.parametrize("verb", [Extend(), Collect(), Sample(), ReadAll()])
def test_a_call_that_others_can_hold_up_waits(verb):
    assert _waits(verb)


@pytest.mark.parametrize("verb", [Shutdown(), Extend(until="held"), Extend(until="stopped")])
def test_a_call_that_ends_the_storage_or_returns_while_its_writer_is_held_does_not(verb):
    assert not _waits(verb)
