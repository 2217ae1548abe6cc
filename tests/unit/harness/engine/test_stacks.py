"""What a thread waits for is read from the calls that it made and from where the kernel has it."""

from __future__ import annotations

import pytest

from harness.engine.stacks import Frame, place, threads, waits_for

DUMP = """Process 57: python -m harness.engine.server 6 pool:backend
Python v3.11.7 (/usr/bin/python3.11)

Thread 57 (idle): "MainThread"
    Connection._recv (multiprocessing/connection.py:395)
    _ConnectionBase.recv (multiprocessing/connection.py:250)
    Pool._received.<locals>.<listcomp> (pool.py:88)
    Pool.step (pool.py:80)
Thread 61 (active+gil): "Thread-1 (<lambda>)"
    <module> (<frozen runpy>:88)
"""


def frames(*calls: str) -> tuple[Frame, ...]:
    found = []
    for call in calls:
        name, _, file = call.partition(" ")
        found.append(Frame(name=name, file=file, line=1))
    return tuple(found)


def test_every_thread_of_a_dump_is_read():
    assert [(each.tid, each.name) for each in threads(DUMP)] == [
        (57, "MainThread"),
        (61, "Thread-1 (<lambda>)"),
    ]


def test_frames_are_read_from_the_innermost_out():
    assert threads(DUMP)[0].frames[0] == Frame(
        name="Connection._recv", file="multiprocessing/connection.py", line=395
    )
    assert len(threads(DUMP)[0].frames) == 4


@pytest.mark.parametrize("text", ["", "py-spy: No such process", "gone"])
def test_what_is_no_dump_has_no_threads(text: str):
    assert threads(text) == ()


@pytest.mark.parametrize(
    ("calls", "kernel", "expected"),
    [
        (("Connection._recv multiprocessing/connection.py", "step pool.py"), "", "receive"),
        (("wait multiprocessing/connection.py", "step pool.py"), "do_poll", "receive"),
        (("Condition.wait threading.py", "Queue.get queue.py", "f pool.py"), "futex", "receive"),
        (("Queue.get multiprocessing/queues.py", "step pool.py"), "futex_do_wait", "lock"),
        (("Connection._send multiprocessing/connection.py", "f pool.py"), "", "send"),
        (
            (
                "Popen.poll multiprocessing/popen_fork.py",
                "BaseProcess.join multiprocessing/process.py",
            ),
            "do_wait",
            "join",
        ),
        (
            ("Thread._wait_for_tstate_lock threading.py", "Thread.join threading.py"),
            "futex",
            "join",
        ),
        (("SemLock.__enter__ multiprocessing/synchronize.py", "f pool.py"), "futex", "lock"),
        (
            (
                "Condition.wait multiprocessing/synchronize.py",
                "Event.wait multiprocessing/synchronize.py",
            ),
            "futex",
            "event",
        ),
        (("_worker concurrent/futures/thread.py",), "futex_do_wait", "event"),
        (("step pool.py",), "futex_do_wait", "lock"),
        (("step pool.py",), "hrtimer_nanosleep", "sleep"),
        (("step pool.py",), "do_wait", "join"),
        (("step pool.py",), "unix_stream_data_wait", "receive"),
        (("step pool.py",), "sock_alloc_send_pskb", "send"),
        (("step pool.py",), "flock_lock_inode_wait", "lock"),
        (("_ask harness/payloads/link.py", "Link.pass_gate harness/payloads/link.py"), "", "held"),
        (("step pool.py",), "", "unknown"),
        ((), "", "unknown"),
    ],
)  # fmt: skip - one case a line
def test_a_thread_waits_for_what_it_called(calls: tuple[str, ...], kernel: str, expected: str):
    assert waits_for(frames(*calls), kernel) == expected


def test_a_place_is_the_call_and_the_line_that_made_it():
    assert place(threads(DUMP)[0].frames) == (
        "_ConnectionBase.recv <- Pool._received.<locals>.<listcomp> (pool.py:88)"
    )


def test_a_place_without_a_library_call_is_the_line_itself():
    assert place(frames("step pool.py")) == "step (pool.py:1)"


def test_the_place_of_a_held_probe_is_where_it_asked():
    link = "harness/payloads/link.py"
    asking = (f"_ask {link}", f"Link.pass_gate {link}", "CountingEnv.step harness/payloads/env.py")
    assert place(frames(*asking)) == "CountingEnv.step (harness/payloads/env.py:1)"


def test_nothing_known_is_no_place():
    assert place(()) == ""
