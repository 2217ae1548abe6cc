"""What an observation carries survives float32, and damage shows."""

from __future__ import annotations

import struct

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.model import probe

EXACT_MAX = 2**24 - 1  # float32 counts so far
NUMBERS = st.fixed_dictionaries(
    {
        "env_index": st.integers(0, 1_000),
        "incarnation": st.integers(1, 4_194_304),
        "episode": st.integers(0, 16_000),
        "step": st.integers(0, 700),
        "action": st.integers(-1, EXACT_MAX),
    }
)


def through_float32(entries) -> tuple[float, ...]:
    return struct.unpack(f"{len(entries)}f", struct.pack(f"{len(entries)}f", *entries))


@given(NUMBERS)
def test_an_observation_is_read_back_as_it_was_written(numbers):
    seen = probe.decode(through_float32(probe.encode(**numbers)))
    assert {name: getattr(seen, name) for name in numbers} == numbers
    assert seen.whole


@given(NUMBERS, st.integers(0, probe.WIDTH - 1), st.integers(1, 1_000))
def test_damage_to_any_entry_shows(numbers, place, by):
    entries = list(probe.encode(**numbers))
    entries[place] += by
    assert not probe.decode(entries).whole


@given(NUMBERS, NUMBERS, st.integers(1, probe.WIDTH - 1))
def test_a_part_of_one_moment_and_the_rest_of_another_never_look_whole(one, other, cut):
    assume((one["episode"], one["step"]) != (other["episode"], other["step"]))
    assert not probe.decode(probe.encode(**one)[:cut] + probe.encode(**other)[cut:]).whole


@given(NUMBERS)
def test_every_field_of_the_encoding_is_exact_in_float32(numbers):
    entries = probe.encode(**numbers)
    assert len(entries) == probe.WIDTH
    assert through_float32(entries) == entries


@pytest.mark.parametrize("width", [0, probe.WIDTH - 1, probe.WIDTH + 1])
def test_an_observation_of_another_width_is_refused(width):
    with pytest.raises(ValueError, match=f"has 8 entries, got {width}"):
        probe.decode([0.0] * width)


@pytest.mark.parametrize("entry", [float("nan"), float("inf"), float("-inf")])
def test_an_observation_that_is_not_finite_is_refused(entry):
    with pytest.raises(ValueError, match="is finite"):
        probe.decode([entry, *[0.0] * (probe.WIDTH - 1)])


@given(
    st.tuples(st.integers(0, 7), st.integers(0, 500)),
    st.tuples(st.integers(0, 7), st.integers(0, 500)),
)
def test_rewards_tell_envs_and_steps_apart(one, other):
    assert (probe.reward(*one) == probe.reward(*other)) == (one == other)


def test_envs_end_apart_and_in_turn_by_termination_and_truncation():
    assert [probe.horizon(4, env) for env in range(3)] == [4, 5, 6]
    assert [probe.terminates(env) for env in range(3)] == [True, False, True]


@pytest.mark.parametrize(
    ("ends", "found"),
    [
        ("split", [(True, False), (True, False), (False, True)]),
        ("truncated", [(False, True)] * 3),
        ("both", [(True, True)] * 3),
        ("by_turns", [(False, True), (True, False), (True, False)]),
    ],
)
def test_episodes_end_in_the_ways_that_there_are(ends, found):
    places = [(0, 1), (0, 2), (1, 1)]
    assert [probe.ending(ends, env, episode) for env, episode in places] == found
