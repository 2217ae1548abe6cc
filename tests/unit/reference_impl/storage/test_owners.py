"""Owners are processes, and not who has their numbers afterwards."""

from __future__ import annotations

import os
from dataclasses import replace
from multiprocessing import Pipe

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from reference_impl.storage.owners import alive, me
from tests.patience import PATIENCE_S


def say_who(pipe):
    pipe.send(me())
    pipe.recv()


def test_a_process_is_alive_until_it_ends():
    assert me().pid == os.getpid()
    ours, theirs = Pipe()
    process = start_process(say_who, (theirs,), name="other", start_method="fork")
    assert ours.poll(PATIENCE_S)
    other = ours.recv()
    assert (other.pid, alive(other)) == (process.pid, True)
    process.kill()
    # Not yet waited for: a zombie is none that could write.
    deadline = Deadline.after(PATIENCE_S)
    while alive(other) and not deadline.expired:
        deadline.pause(0.001)
    assert not alive(other)
    assert process.join(Deadline.after(PATIENCE_S))
    process.release()
    ours.close()
    theirs.close()


def test_another_process_of_the_same_number_is_another():
    assert alive(me())
    assert not alive(replace(me(), born=me().born - 1))
    assert not alive(replace(me(), pid=1 << 22))
