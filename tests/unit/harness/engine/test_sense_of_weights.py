"""A scenario of weight sync that makes no sense is refused when it is read."""

from __future__ import annotations

import tomllib

import pytest

from harness.engine.loading import parse
from harness.engine.usage import UsageError

SCENARIO = """
title = "steps are refused or taken"
component = "weights"
[[steps]]
do = "forward"
{steps}
[[steps]]
do = "send"
version = 9
[[steps]]
do = "shutdown"
"""

NONSENSE = {
    "a worker that is not there": (
        '[[steps]]\ndo = "send"\nversion = 2\nworkers = [0, 2]',
        "steps[1].workers: some of 2 workers, each once, got [0, 2]",
    ),
    "a worker twice": (
        '[[steps]]\ndo = "forward"\nworkers = [1, 1]',
        "steps[1].workers: some of 2 workers, each once, got [1, 1]",
    ),
    "a worker anew that is not there": (
        '[[steps]]\ndo = "restart_worker"\nworker = 2',
        "steps[1].worker: there are 2 workers, got 2",
    ),
    "a wait for what was not begun": (
        '[[steps]]\ndo = "wait_async"',
        "steps[1].do: nothing is under way: send_async comes first",
    ),
    "a model that nobody has": (
        '[[steps]]\ndo = "send"\nversion = 2\nmodel = "value"',
        "steps[1].model: needs models = 'policy_and_value', which is 'policy', got 'value'",
    ),
    "nobody": (
        '[[steps]]\ndo = "send"\nversion = 2\nworkers = []',
        "steps[1].workers: some of 2 workers, each once, got []",
    ),
    "a forward that is held in an apply": (
        '[[steps]]\nfault = "hold_forward"\nat = { role = "worker:0", op = "apply" }\n'
        'during = { do = "mutate", version = 3 }',
        "steps[1].at.op: a worker of weights does forward, got 'apply'",
    ),
    "a send that was made beside a held forward already": (
        '[[steps]]\nfault = "hold_forward"\nat = { role = "worker:0", op = "forward" }\n'
        'during = { do = "send", version = 3 }\n[[steps]]\ndo = "forward"\n'
        '[[steps]]\nfault = "bad_weights"\ndefect = "wrong_key"\n'
        'at = { role = "driver", op = "send", k = 1 }',
        "steps[3].at: send number 1 does not come after this step: the scenario has 2 in all",
    ),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_one_line_with_key_and_value(case):
    steps, expected = NONSENSE[case]
    with pytest.raises(UsageError) as refused:
        parse(tomllib.loads(SCENARIO.format(steps=steps)), "a.toml")
    assert str(refused.value).removeprefix("a.toml: ") == expected


def test_a_send_after_one_beside_a_held_forward_can_be_spoilt():
    steps = NONSENSE["a send that was made beside a held forward already"][0]
    parse(tomllib.loads(SCENARIO.format(steps=steps.replace("k = 1", "k = 2"))), "a.toml")
