"""Calls that cannot be rebuilt, or come twice, harm no other."""

from __future__ import annotations

import pytest

from reference_impl.core import channel
from reference_impl.core.errors import WorkerError
from tests.unit.reference_impl.pool.envs import Behaviour
from tests.unit.reference_impl.pool.test_failures import act


class Unreadable:
    """Raises where it is rebuilt."""

    def __reduce__(self):
        return _refuse, ()


def _refuse():
    raise ValueError("planned: cannot be rebuilt")


@pytest.mark.parametrize("way", ["processes"], indirect=True)
def test_a_call_that_cannot_be_rebuilt_is_a_failure_of_that_call_alone(make_pool, monkeypatch):
    pool = make_pool(Behaviour())
    td = act(pool.reset())
    with monkeypatch.context() as patched:
        patched.setattr(channel, "send", lambda end, _: end.put(Unreadable()))
        pool.async_step_send(td)
    with pytest.raises(WorkerError, match=r"worker 0 .*its call: ValueError: planned: cannot"):
        pool.async_step_recv()
    assert pool.step(td)["next", "observation"].tolist() == [[1, 1, 1]]


# Calls that go through slots are no messages.
@pytest.mark.parametrize("way", ["threads", "processes"], indirect=True)
def test_a_call_that_is_delivered_twice_is_carried_out_once(make_pool, monkeypatch):
    pool = make_pool(Behaviour())
    td = act(pool.reset())
    with monkeypatch.context() as patched:
        patched.setattr(channel, "send", lambda end, call: (end.put(call), end.put(call)))
        pool.async_step_send(td)
    assert pool.async_step_recv()["next", "observation"].tolist() == [[1, 1, 1]]
    assert pool.step(td)["next", "observation"].tolist() == [[1, 1, 2]]
