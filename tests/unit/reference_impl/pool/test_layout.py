"""Where entries lie, and which specs say too little for that."""

from __future__ import annotations

import itertools

import pytest
import torch
from torchrl.data import Bounded, Categorical, Composite, NonTensor, Unbounded
from torchrl.testing.mocking_classes import EnvWithMetadata, NestedCountingEnv

from reference_impl.pool.layout import LEAVES_MAX, Field, NotStatic, layout_of
from tests.unit.reference_impl.pool.envs import Behaviour, ProbeEnv


def fields(node, path=()):
    for key, entry in node.entries.items():
        if isinstance(entry, Field):
            yield (*path, key), entry
        else:
            yield from fields(entry, (*path, key))


def laid_out(*envs):
    return layout_of([env.specs for env in envs], envs[0].reset_keys)


def with_observations(**specs):
    env = ProbeEnv()
    env.observation_spec = Composite(**specs)
    return env


def test_regions_hold_what_their_specs_name():
    layout = laid_out(ProbeEnv(), ProbeEnv())
    shown = {"observation", "draw", "filler"}
    done = {"done", "terminated", "truncated"}
    assert set(layout.given.entries) == {"action", "_reset"}
    assert set(layout.following.entries) == {*shown, "reward", *done}
    assert set(layout.root.entries) == {*shown, *done}
    assert layout.dropped == {("reward",), ("_reset",)}


def test_nothing_overlaps_and_columns_are_aligned():
    layout = laid_out(*[NestedCountingEnv(max_steps=3)] * 3)
    spans = [(0, 3 * 64)]
    for node in (layout.given, layout.following, layout.root):
        for _, field in fields(node):
            assert field.offset % 64 == 0
            spans.append((field.offset, field.offset + 3 * field.nbytes))
    spans.sort()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert spans[-1][1] <= layout.size


def test_there_is_a_boolean_entry_for_each_reset_key():
    env = NestedCountingEnv(max_steps=3, has_root_done=True)
    layout = laid_out(env)
    given = dict(fields(layout.given))
    keys = {(key,) if isinstance(key, str) else key for key in env.reset_keys}
    assert layout.masks == keys
    assert all(given[key].dtype is torch.bool for key in keys)


def test_nested_entries_keep_their_batch_size():
    env = NestedCountingEnv(max_steps=3, nested_dim=4)
    assert tuple(laid_out(env).root.entries["data"].batch_size) == (4,)


@pytest.mark.parametrize(
    ("env", "why"),
    [
        (EnvWithMetadata(), "NonTensor"),
        (with_observations(text=NonTensor(shape=())), "'text'"),
        (with_observations(words=Unbounded((-1,))), r"'words'.*\(-1,\)"),
        (with_observations(**{f"o{i}": Unbounded((1,)) for i in range(LEAVES_MAX)}), "more than"),
    ],
    ids=["metadata", "non-tensor", "varying shape", "many"],
)
def test_specs_that_do_not_say_what_comes_are_refused_by_name(env, why):
    with pytest.raises(NotStatic, match=why):
        laid_out(env)


def test_envs_that_differ_are_refused_by_number():
    with pytest.raises(NotStatic, match="env 1 differ"):
        laid_out(ProbeEnv(), ProbeEnv(1, Behaviour(size=2)))


def test_equal_forms_of_differing_bounds_go_together():
    envs = [ProbeEnv(), ProbeEnv()]
    envs[1].action_spec = Bounded(-2.0, 2.0, (2,))
    envs[1].done_spec = Composite(done=Categorical(2, (1,), dtype=torch.bool))
    envs[0].done_spec = Composite(done=Categorical(2, (1,), dtype=torch.bool))
    assert laid_out(*envs).num_envs == 2
