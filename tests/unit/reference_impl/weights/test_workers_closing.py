"""Workers end when they are closed, forgotten, or left behind by their owner."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import pytest

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerError
from reference_impl.core.ownership import OwnedThread, start_process
from reference_impl.weights import MultiProcessWeightSyncScheme, PolicyWorkers
from tests.stopping import stop
from tests.unit.reference_impl.weights.policies import (
    HOLD,
    WAIT_S,
    Call,
    Gated,
    TwoReads,
    gone,
    make_workers,
)

both = pytest.mark.parametrize("start_method", ["fork", "thread"])


@both
def test_closing_twice_does_nothing_more(start_method):
    workers, _ = make_workers(TwoReads, start_method=start_method)
    workers.close()
    workers.close()
    with pytest.raises(Closed):
        workers.forward()


@both
def test_closing_ends_a_forward_that_another_thread_waits_for(start_method, gate):
    workers, _ = make_workers(lambda: Gated(gate), start_method=start_method, num_workers=1)
    call = Call(workers.forward, HOLD, timeout=None)
    gate.wait_entered()
    close = Call(workers.close)
    call.wait()
    gate.open()
    close.wait()
    assert isinstance(call.error, Closed)


def test_closing_ends_a_stopped_worker_within_its_time():
    workers, _ = make_workers(TwoReads, start_method="fork", shutdown_timeout=0.4)
    pids = workers.worker_pids
    stop(pids[0])
    close = Call(workers.close)
    close.wait()
    assert gone(pids)


@both
def test_closing_works_when_the_channels_were_closed_before(start_method):
    workers, scheme = make_workers(TwoReads, start_method=start_method)
    for end in (*workers.channels()["results"], *scheme.channels()["acks"]):
        channel.close(end)
    with pytest.raises(WorkerError, match="worker 0"):
        workers.forward()
    workers.close()


def test_workers_that_lose_their_channels_at_once_are_waited_for_together(monkeypatch):
    workers, scheme = make_workers(TwoReads, start_method="thread", num_workers=6)
    join, until = OwnedThread.join, []

    def noted(self, deadline):
        until.append(deadline.at)
        return join(self, deadline)

    with workers:
        for end in scheme.channels()["acks"]:
            channel.close(end)
        with monkeypatch.context() as patch:
            patch.setattr(OwnedThread, "join", noted)
            with pytest.raises(WorkerError, match="worker 5"):
                scheme.send(timeout=0.1)
        assert (len(until), len(set(until))) == (6, 1)


def test_channels_are_named_by_direction():
    workers, _ = make_workers(TwoReads, start_method="thread")
    with workers:
        channels = workers.channels()
        assert sorted(channels) == ["commands", "results"]
        assert len(channels["commands"]) == 2


def test_workers_end_when_the_object_is_collected():
    workers, _ = make_workers(TwoReads, start_method="fork")
    pids = workers.worker_pids
    del workers
    gc.collect()
    assert gone(pids)


class Holder:
    """Refers to its workers, and is referred to by what they were made of."""

    def __init__(self, start_method) -> None:
        self.model = TwoReads()
        self.scheme = MultiProcessWeightSyncScheme()
        self.scheme.init_on_sender(model=self.model, num_workers=1)
        vars(self.model)["holder"] = self
        self.workers = PolicyWorkers(self.build, 1, scheme=self.scheme, start_method=start_method)
        self.crew = self.workers._crew

    def build(self) -> Any:
        return TwoReads()


@both
def test_workers_end_when_a_cycle_through_model_and_factory_is_collected(start_method):
    holder = Holder(start_method)
    owned = holder.crew.owned[0]
    del holder
    gc.collect()
    assert owned.join(Deadline.after(WAIT_S))


def test_a_forked_copy_of_the_owner_does_not_end_its_workers():
    workers, _ = make_workers(TwoReads, start_method="fork")
    with workers:
        copy = start_process(workers.close, (), name="copy", start_method="fork")
        assert copy.join(Deadline.after(WAIT_S))
        assert workers.forward() == [[0.0] * 3] * 2


OWNER = """
import os, signal
from tests.unit.reference_impl.weights.policies import TwoReads, make_workers
workers, scheme = make_workers(TwoReads, start_method="fork")
print(*workers.worker_pids, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
def test_workers_end_when_their_owner_is_killed():
    owner = subprocess.run(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, timeout=WAIT_S, check=False
    )
    assert gone([int(pid) for pid in owner.stdout.split()])
