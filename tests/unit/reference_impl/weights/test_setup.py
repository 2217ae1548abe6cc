"""Set-up says whose weights are meant, refuses what makes no sense before any effect, and may be done in parts."""

from __future__ import annotations

import gc
import os
import weakref
from typing import Any

import pytest
import torch

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import start_process
from reference_impl.weights import MultiProcessWeightSyncScheme, SharedMemWeightSyncScheme
from tests.unit.reference_impl.weights.policies import WAIT_S, TwoReads, weights
from tests.unit.reference_impl.weights.setups import Receivers, Trainer, td


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "params_map, model_id"),
        ({"model": TwoReads()}, "num_workers or devices"),
        ({"model": TwoReads(), "weights": td(), "num_workers": 1}, "weights cannot"),
        ({"context": Trainer()}, "model_id must"),
        ({"context": Trainer(), "model_id": "policy", "model": TwoReads()}, "model cannot"),
        ({"context": Trainer(), "model_id": "policy", "weights": td()}, "weights cannot"),
        ({"context": Trainer(), "model_id": "policy", "devices": ["cpu"]}, "devices cannot"),
        ({"context": Trainer(), "model_id": "policy", "num_workers": 2}, "num_workers is 2"),
        ({"params_map": {0: td()}, "num_workers": 1}, "num_workers cannot"),
        ({"params_map": {0: td()}, "model": TwoReads()}, "model cannot"),
        ({"params_map": {0: td()}, "context": Trainer()}, "context cannot"),
        ({"params_map": {0: td()}, "devices": ["cpu"]}, "devices cannot"),
        ({"params_map": {0: td()}, "model_id": "policy"}, "model_id cannot"),
        ({"params_map": {0: 3}}, "params_map must be"),
        ({"params_map": {"0": td()}}, "params_map must be"),
        ({"params_map": {}}, "params_map must be"),
        ({"params_map": {1: td()}}, "from 0 on"),
        ({"model": TwoReads(), "devices": ["cpu"] * 2, "num_workers": 1}, "2 devices"),
        ({"model": TwoReads(), "devices": []}, "at least 1"),
        ({"model": TwoReads(), "device_map_fn": lambda _, w: w}, "num_workers must"),
        (
            {
                "model": TwoReads(),
                "device_map_fn": lambda _, w: w,
                "devices": ["cpu"],
                "num_workers": 1,
            },
            "devices cannot",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(map(str, value)),
)
def test_arguments_that_contradict_each_other_are_refused(scheme, arguments, words):
    with pytest.raises(ValueError, match=words):
        scheme.init_on_sender(**arguments)
    assert not scheme.initialized_on_sender


def test_what_is_no_model_is_refused(scheme):
    with pytest.raises(TypeError, match="Module"):
        scheme.init_on_sender(model=3, num_workers=1)
    trainer = Trainer()
    with pytest.raises(TypeError, match="Module"):
        scheme.init_on_sender(context=trainer, model_id="worker_idx")


@pytest.mark.parametrize("model_id", ["value", "postproc.nothing", "postproc.nets[3]"])
def test_a_model_that_the_context_does_not_have_is_refused(scheme, model_id):
    trainer = Trainer()
    with pytest.raises((AttributeError, LookupError)):
        scheme.init_on_sender(context=trainer, model_id=model_id)
    assert not scheme.initialized_on_sender


@pytest.mark.parametrize("strategy", ["pickle", "", None])
def test_a_strategy_that_does_not_exist_is_refused(strategy):
    with pytest.raises(ValueError, match="strategy"):
        MultiProcessWeightSyncScheme(strategy)


def test_shared_weights_are_atomic_or_refused():
    with pytest.raises(ValueError, match="atomic"):
        SharedMemWeightSyncScheme(atomic=False)


@pytest.mark.parametrize(
    ("model_id", "value"),
    [("policy", 1.0), ("postproc.adv_module", 5.0), ("postproc.nets[0]", 6.0)],
)
def test_a_model_of_a_context_is_found_by_its_path(scheme, model_id, value):
    trainer = Trainer(2)
    scheme.init_on_sender(context=trainer, model_id=model_id)
    receivers = Receivers(scheme, 2)
    scheme.connect()
    assert receivers.values() == [value, value]
    receivers.stop()


def test_a_context_is_held_weakly(scheme):
    trainer = Trainer()
    scheme.init_on_sender(context=trainer, model_id="policy")
    gone = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert gone() is None
    assert scheme.context is None
    with pytest.raises(RuntimeError, match="context of the scheme is gone"):
        scheme.connect()


def test_a_scheme_that_was_set_up_again_sends_what_it_was_told_last(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    scheme.init_on_sender(model=TwoReads(2.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    assert receivers.values() == [2.0]
    receivers.stop()


def test_a_scheme_that_is_set_up_again_keeps_its_number_of_workers(scheme):
    scheme.init_on_sender(model=TwoReads(), num_workers=1)
    with pytest.raises(ValueError, match="num_workers is 2"):
        scheme.init_on_sender(model=TwoReads(), num_workers=2)


def test_a_worker_that_was_set_up_again_goes_on_with_the_other_model(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    other = TwoReads(-1.0)
    receivers.sides[0].init_on_receiver(model=other, worker_idx=0)
    assert other(None) == [1.0] * 3
    scheme.send(weights(2.0))
    assert (other(None)[0], receivers.values()) == (2.0, [1.0])
    receivers.stop()


def test_each_worker_is_sent_its_own_entry_of_a_map(scheme):
    scheme.init_on_sender(params_map={0: td(1.0), 1: td(2.0)})
    receivers = Receivers(scheme, 2)
    scheme.connect()
    assert receivers.values() == [1.0, 2.0]
    receivers.stop()


def test_an_entry_that_several_workers_have_is_copied_once(scheme):
    same, other = td(1.0), td(2.0)
    scheme.init_on_sender(params_map={0: same, 1: other, 2: same})
    receivers = Receivers(scheme, 3)
    scheme.connect()
    assert (receivers.values(), scheme.sender.slot_count) == ([1.0, 2.0, 1.0], 2)
    receivers.stop()


def test_a_device_map_makes_the_weights_of_each_worker_whenever_they_are_sent(scheme):
    made: list[int] = []

    def shifted(worker, weights) -> Any:
        made.append(worker)
        return weights.apply(lambda t: t + worker)

    model = TwoReads(1.0)
    scheme.init_on_sender(model=model, device_map_fn=shifted, num_workers=2)
    assert made == []
    receivers = Receivers(scheme, 2)
    scheme.connect()
    assert (made, receivers.values()) == ([0, 1], [1.0, 2.0])
    scheme.send(worker_ids=1)
    assert made == [0, 1, 1]
    receivers.stop()


def test_weights_by_worker_are_sent_to_those_that_are_named(scheme):
    scheme.init_on_sender(model=TwoReads(0.0), num_workers=3)
    receivers = Receivers(scheme, 3)
    scheme.connect()
    scheme.send({0: weights(1.0), 2: weights(3.0)})
    assert receivers.values() == [1.0, 0.0, 3.0]
    receivers.stop()


def test_weights_alone_can_be_the_source(scheme):
    scheme.init_on_sender(weights=td(4.0), devices=[torch.device("cpu")])
    receivers = Receivers(scheme)
    scheme.connect()
    assert receivers.values() == [4.0]
    receivers.stop()


def test_the_first_weights_can_be_given_to_connect(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect(weights=weights(7.0))
    assert (receivers.values(), scheme.version) == ([7.0], 0)
    receivers.stop()


def test_workers_are_connected_one_at_a_time(scheme):
    scheme.init_on_sender(params_map={0: td(1.0), 1: td(2.0)})
    receivers = Receivers(scheme, 2)
    scheme.connect(worker_idx=0)
    assert (receivers.values(), scheme.synchronized_on_sender) == ([1.0, -1.0], False)
    with pytest.raises(RuntimeError, match=r"workers \[1\] are not connected"):
        scheme.send(td(3.0))
    scheme.connect(worker_idx=1)
    assert (receivers.values(), scheme.synchronized_on_sender) == ([1.0, 2.0], True)
    receivers.stop()


def test_a_worker_that_joins_later_is_brought_the_current_version(scheme):
    trainer = TwoReads(1.0)
    scheme.init_on_sender(model=trainer, num_workers=2)
    receivers = Receivers(scheme, 2)
    scheme.connect(worker_idx=0)
    scheme.send(weights(3.0), worker_ids=0)
    scheme.connect(worker_idx=1)
    assert receivers.values() == [3.0, 3.0]
    receivers.stop()


def test_weights_are_synchronized_as_often_as_wanted(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=2)
    receivers = Receivers(scheme, 2)
    for worker in (0, 1, 0, None):
        scheme.synchronize_weights(worker_idx=worker)
    assert (receivers.values(), scheme.version) == ([1.0, 1.0], 0)
    receivers.stop()


def test_connecting_all_twice_is_refused(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    with pytest.raises(RuntimeError, match="already"):
        scheme.connect()
    with pytest.raises(RuntimeError, match="already"):
        receivers.sides[0].connect()
    receivers.stop()


def test_weights_are_not_given_to_a_worker(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    with pytest.raises(RuntimeError, match="sender"):
        receivers.sides[0].connect(weights=weights(1.0))
    receivers.stop()


def sets_up(scheme, answers) -> None:
    scheme.init_on_sender(model=TwoReads(3.0), num_workers=1)
    receivers = Receivers(scheme)
    scheme.connect()
    os.write(answers, b"%d" % receivers.values()[0])
    receivers.stop()


def test_a_fork_may_set_up_the_scheme_that_it_has_inherited_for_workers_of_its_own(scheme):
    scheme.init_on_sender(model=TwoReads(1.0), num_workers=1)
    receivers = Receivers(scheme)
    answers, there = os.pipe()
    process = start_process(sets_up, (scheme, there), name="fork", start_method="fork")
    assert process.join(Deadline.after(WAIT_S))
    process.release()
    os.close(there)
    assert os.read(answers, 1) == b"3"
    os.close(answers)
    scheme.connect()
    assert receivers.values() == [1.0]
    receivers.stop()
