"""A scenario that makes no sense is refused when it is read, not blamed on a backend."""

from __future__ import annotations

import tomllib

import pytest

from harness.engine.loading import parse
from harness.engine.usage import UsageError

SCENARIO = """
title = "steps are refused or taken"
component = "pool"
{tables}
[[steps]]
do = "reset"
{steps}
[[steps]]
do = "shutdown"
"""

NONSENSE = {
    "a second pool that is closed and was not opened": (
        "",
        '[[steps]]\ndo = "close_beside"',
        "steps[1].do: there is no second pool: open_beside comes first",
    ),
    "a second pool that is opened twice": (
        "",
        '[[steps]]\ndo = "open_beside"\n' * 2,
        "steps[2].do: a second pool is open already",
    ),
    "an expectation of nothing": (
        "[expect]\noutcome = []",
        "",
        "expect.outcome: one outcome at least, got []",
    ),
    "no envs": ("[setup]\nnum_envs = 0", "", "setup.num_envs: at least 1, got 0"),
    "no envs in a row": (
        "[matrix]\nnum_envs = [2, 0]",
        "",
        "matrix.num_envs: at least 1, got 0",
    ),
    "a receive of more than was sent": (
        "",
        '[[steps]]\ndo = "send"\n[[steps]]\ndo = "recv"\nmin_get = 10',
        "steps[2].min_get: from 1 to what was sent before, 2, got 10",
    ),
    "rollouts of several sizes": (
        "",
        '[[steps]]\ndo = "rollout"\nframes = 4\n[[steps]]\ndo = "rollout"\nframes = 6',
        "steps[2].frames: a collector is built for one size of batch, 4, got 6",
    ),
    "a kill of nobody": (
        "",
        '[[steps]]\nfault = "kill"\nworker = 9',
        "steps[1].worker: there are 2 workers, got 9",
    ),
    "a kill of a thread": (
        '[setup]\ntransport = "thread"',
        '[[steps]]\nfault = "kill"',
        "steps[1].fault: a worker that is a thread cannot be killed alone, got 'kill'",
    ),
    "a kill of a thread in one row": (
        '[matrix]\ntransport = ["process", "thread"]',
        '[[steps]]\nfault = "kill"',
        "got 'kill' in row transport=thread",
    ),
    "what is given back was not lent": (
        "",
        '[[steps]]\ndo = "send"\n[[steps]]\ndo = "recv"\n[[steps]]\ndo = "give_back"',
        "steps[3].do: nothing is lent: recv with lent comes first",
    ),
    "a key in setup and matrix": (
        '[setup]\ntransport = "thread"\n[matrix]\ntransport = ["process"]',
        "",
        "matrix.transport: is in [setup] too, where it is 'thread': say it once",
    ),
}


def parsed(tables: str, steps: str) -> None:
    parse(tomllib.loads(SCENARIO.format(tables=tables, steps=steps)), "some.toml")


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_one_line_with_key_and_value(case: str):
    tables, steps, expected = NONSENSE[case]
    with pytest.raises(UsageError) as caught:
        parsed(tables, steps)
    assert str(caught.value).startswith("some.toml: ")
    assert expected in str(caught.value)


SENSE = {
    "a second pool, and another after it": (
        "",
        '[[steps]]\ndo = "open_beside"\n[[steps]]\ndo = "close_beside"\n' * 2,
    ),
    "a receive of all that was sent in two sends": (
        "",
        '[[steps]]\ndo = "send"\n' * 2 + '[[steps]]\ndo = "recv"\nmin_get = 4',
    ),
    "a receive of too much that may be refused": (
        "",
        '[[steps]]\ndo = "recv"\nmin_get = 9\nrefusable = true',
    ),
    "what needs a channel that a backend may declare": (
        "",
        '[[steps]]\nfault = "close_channel"\nchannel = "results"',
    ),
}


@pytest.mark.parametrize("case", SENSE)
def test_what_some_backend_could_run_is_taken(case: str):
    parsed(*SENSE[case])
