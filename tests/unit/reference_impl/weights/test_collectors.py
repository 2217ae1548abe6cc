"""The schemes serve inside torchrl's own collectors, in the place of torchrl's."""

from __future__ import annotations

import pytest

from reference_impl.weights import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme
from tests.unit.reference_impl.weights import collecting

SCHEMES = (MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("scheme", SCHEMES, ids=["copy", "shared"]),
    pytest.mark.parametrize("kind", ["MultiSyncCollector", "MultiAsyncCollector"]),
]


@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_workers_act_on_what_was_sent_and_every_update_counts_once(kind, scheme, start_method):
    found = collecting.alone(collecting.what_is_sent, kind, scheme, start_method)
    assert found == [[1.0], [1.0], [2.0], [3.0], [2]]


def test_weights_that_do_not_fit_are_an_error_and_the_next_ones_work(kind, scheme):
    error, *seen = collecting.alone(collecting.what_does_not_fit, kind, scheme)
    assert error.startswith("WorkersFailed: worker 0 failed in send: WeightsMismatch")
    assert "worker 1" in error
    assert seen == [[1.0], [3.0]]


def test_an_update_of_one_worker_leaves_the_other(kind, scheme):
    found = collecting.alone(collecting.what_one_worker_is_sent, kind, scheme)
    assert found == [[1, 1.0], [2, 2.0]]


def test_workers_whose_policies_a_factory_makes_are_sent_the_trainers(kind, scheme):
    assert collecting.alone(collecting.what_a_factorys_policy_is_sent, kind, scheme) == [5.0]


def test_workers_begin_with_what_the_factory_gives_where_the_trainer_has_no_policy(kind, scheme):
    found = collecting.alone(collecting.what_factories_alone_give, kind, scheme)
    assert found == [[1.0], [4.0]]


def test_a_worker_that_died_is_told_by_the_next_update_which_has_no_deadline(kind, scheme):
    told = collecting.alone(collecting.what_a_killed_worker_is, kind, scheme)
    assert told.startswith("WorkerDied: worker 0 failed in send: the worker died")


def test_a_factory_that_raises_in_a_worker_is_told_by_the_collector(kind, scheme):
    assert "not in a worker" in collecting.alone(collecting.what_a_factory_raises, kind, scheme)


def test_the_value_network_of_a_postproc_has_a_scheme_of_its_own(kind, scheme):
    found = collecting.alone(collecting.what_a_postproc_is_sent, kind, scheme)
    assert found == [[[1.0], [10.0]], [[1.0], [20.0]], [[2.0], [20.0]]]
