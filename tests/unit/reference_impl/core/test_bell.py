"""A bell is heard once, whoever rings it."""

from __future__ import annotations

import select

import pytest

from reference_impl.core.bell import Bell
from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from tests.patience import PATIENCE_S


@pytest.fixture
def bell():
    made = Bell()
    yield made
    made.release()


def readable(bell: Bell, timeout_s: float = 0.0) -> bool:
    return bool(select.select([bell], [], [], timeout_s)[0])


def test_it_rings_until_it_is_taken(bell):
    assert not readable(bell)
    bell.ring()
    bell.ring()
    assert readable(bell)
    assert bell.take()
    assert not readable(bell)
    assert not bell.take()


def test_another_process_rings_it(bell):
    process = start_process(bell.ring, (), name="ringer", start_method="fork")
    assert readable(bell, PATIENCE_S)
    assert process.join(Deadline.after(PATIENCE_S))
    process.release()


def test_it_is_released_once(bell):
    bell.release()
    bell.release()
    assert bell.fileno() == -1
