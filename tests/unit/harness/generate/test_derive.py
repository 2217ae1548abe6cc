from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hypothesis import find, given

from harness.generate.derive import choices, drawn, subsets, tagged, variants


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    how: Literal["fast", "slow"] = "slow"
    do: Literal["verb"] = "verb"
    times: int = 1
    within_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    do: Literal["other"] = "other"


def test_the_members_of_a_union_are_known_by_their_tag():
    assert tagged(Verb | Other, "do") == {"verb": Verb, "other": Other}


def test_a_literal_with_several_values_is_a_choice_and_its_default_is_the_simplest():
    assert choices(Verb) == {"how": ("slow", "fast")}


def test_variants_are_all_combinations_of_what_is_not_given():
    assert [verb.how for verb in variants(Verb, times=2)] == ["slow", "fast"]
    assert list(variants(Verb, how="fast", times=2)) == [Verb(how="fast", times=2)]


@given(verb=drawn(Verb))
def test_a_number_without_a_range_keeps_its_default(verb):
    assert verb.within_s == 5.0


def test_every_choice_is_drawn():
    assert find(drawn(Verb), lambda verb: verb.how == "fast") == Verb(how="fast")


@given(names=subsets("abcdef", left_out_max=2))
def test_no_more_is_left_out_than_allowed(names):
    assert 4 <= len(names) <= 6


def test_nothing_is_left_out_of_the_simplest_subset():
    assert find(subsets("abc", left_out_max=2), lambda _: True) == frozenset("abc")
