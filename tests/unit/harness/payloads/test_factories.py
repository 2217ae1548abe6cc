"""Factories of every kind make the same env, and pickle as their kind does."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, get_args

import cloudpickle  # type: ignore[import-untyped]  # it ships no types
import pytest

from harness.payloads import link as openings
from harness.payloads.env import CountingEnvFactory
from harness.payloads.factories import shaped
from harness.payloads.link import Link, ProbeError, SilentLink
from harness.ports.pool import FactoryKind

BY_NAME = ("plain", "partial")
BY_VALUE = ("closure", "lambda", "local_class")


@pytest.fixture(autouse=True)
def own_openings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What links open in a process stays open; here it does so for one test only."""
    here = openings._Process(pid=os.getpid())
    monkeypatch.setattr(openings, "_HERE", here)
    yield
    for journal in here.journals.values():
        os.close(journal.fd)


@pytest.fixture
def factory() -> CountingEnvFactory:
    link = Link(journal="/dev/null", gate="@nobody")
    return CountingEnvFactory(env_index=3, base_horizon=4, link=link)


def test_every_kind_is_one_or_the_other():
    assert {*BY_NAME, *BY_VALUE} == set(get_args(FactoryKind))


@pytest.mark.parametrize("kind", get_args(FactoryKind))
def test_each_makes_the_env_after_it_was_pickled_by_value(kind, factory):
    again = cloudpickle.loads(cloudpickle.dumps(shaped(kind, factory)))
    assert again().env_index == 3


@pytest.mark.parametrize("kind", BY_NAME)
def test_some_pickle_by_name(kind, factory):
    assert pickle.loads(pickle.dumps(shaped(kind, factory)))().env_index == 3


@pytest.mark.parametrize("kind", BY_VALUE)
def test_others_do_not(kind, factory):
    with pytest.raises((AttributeError, pickle.PicklingError, TypeError)):
        pickle.dumps(shaped(kind, factory))


@pytest.mark.parametrize("kind", get_args(FactoryKind))
def test_a_fault_may_strike_while_one_is_pickled(kind, monkeypatch, factory):
    asked: list[Any] = []

    def refuse(_: Link, role: str, op: str, edge: str = "before") -> None:
        asked.append((role, op, edge))
        raise ProbeError("told to")

    monkeypatch.setattr(Link, "pass_gate", refuse)
    with pytest.raises(ProbeError):
        cloudpickle.dumps(shaped(kind, factory))
    assert asked == [("worker:3", "pickle", "before")]


def test_the_envs_of_another_pool_speak_as_such(tmp_path: Path):
    journal = tmp_path / "journal.jsonl"
    journal.touch()
    link = Link(journal=str(journal), gate="@nobody")
    CountingEnvFactory(env_index=1, base_horizon=4, link=link, pool="beside")().reset()
    assert journal.read_text().count('"role": "beside:1"') == 2


def test_a_partial_keeps_what_it_says_of_its_env_where_multiprocessing_pickles_it():
    made = shaped("partial", CountingEnvFactory(env_index=1, base_horizon=3, link=SilentLink()))
    again = pickle.loads(ForkingPickler.dumps(made))
    assert (again.env_index, again.payload) == (made.env_index, made.payload)
