"""A scenario of replay storage that makes no sense is refused when it is read."""

from __future__ import annotations

import tomllib

import pytest

from harness.engine.loading import parse
from harness.engine.usage import UsageError

SCENARIO = """
title = "steps are refused or taken"
component = "storage"
{tables}
[[steps]]
do = "extend"
{steps}
[[steps]]
do = "shutdown"
"""

NONSENSE = {
    "a writer that is not there": (
        "",
        'do = "extend"\nwriter = 7',
        "steps[1].writer: there are 2 writers, got 7",
    ),
    "another process for a writer that is not there": (
        "",
        'do = "replace_writer"\nwriter = -1',
        "steps[1].writer: there are 2 writers, got -1",
    ),
    "a sample by a writer that is not there": (
        "[setup]\nnum_workers = 1",
        'do = "sample"\nby = "worker:1"',
        "steps[1].by: there are 1 workers, got 'worker:1'",
    ),
    "a batch of no rows": ("", 'do = "extend"\nrows = 0', "steps[1].rows: at least 1, got 0"),
    "a sample of nothing": ("", 'do = "sample"\nsize = 0', "steps[1].size: at least 1, got 0"),
    "a race without a batch": (
        "",
        'do = "race"\nbatches = 0',
        "steps[1].batches: at least 1, got 0",
    ),
    "what is brought back was not kept": (
        "",
        'do = "load"',
        "steps[1].do: nothing is kept: dump comes first",
    ),
    "what is waited for was not begun": (
        "",
        'do = "collect"',
        "steps[1].do: writer 0 has begun nothing: an extend with until comes first",
    ),
    "priorities of what was not sampled": (
        '[setup]\nsampler = "prioritized"',
        'do = "set_priorities"',
        "steps[1].do: nothing was sampled: sample comes first",
    ),
    "priorities for a sampler that has none": (
        "",
        'do = "sample"\n[[steps]]\ndo = "set_priorities"',
        "steps[2].do: needs sampler = 'prioritized', which is 'uniform', got 'set_priorities'",
    ),
    "memory that is opened again, in one row": (
        '[matrix]\nmedium = ["disk", "memory"]',
        'do = "reopen"',
        "steps[1].do: needs medium = 'disk', which is 'memory', got 'reopen'",
    ),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_one_line_with_key_and_value(case):
    tables, step, expected = NONSENSE[case]
    with pytest.raises(UsageError) as refused:
        parse(tomllib.loads(SCENARIO.format(tables=tables, steps=f"[[steps]]\n{step}")), "a.toml")
    assert str(refused.value).removeprefix("a.toml: ") == expected


def test_what_a_held_writer_has_begun_can_be_collected():
    steps = (
        '[[steps]]\nfault = "stall"\nat = { role = "worker:0", op = "row" }\nfor_s = 1.5\n'
        '[[steps]]\ndo = "extend"\nuntil = "held"\n[[steps]]\ndo = "collect"'
    )
    parse(tomllib.loads(SCENARIO.format(tables="", steps=steps)), "a.toml")


def test_an_outcome_that_is_neither_a_word_nor_a_list_is_one_mistake():
    text = SCENARIO.format(tables="", steps="") + '[expect]\noutcome = "fail-bounded"'
    with pytest.raises(UsageError) as refused:
        parse(tomllib.loads(text), "a.toml")
    assert str(refused.value).endswith("got 'fail-bounded'")
