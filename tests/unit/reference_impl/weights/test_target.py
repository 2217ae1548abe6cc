"""A model takes a snapshot whole, or keeps what it has, whole."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import nn

from reference_impl.core import wire
from reference_impl.weights.packing import WeightsMismatch, pack
from reference_impl.weights.target import Target
from tests.unit.reference_impl.weights.policies import Call, RaisesHalfWay, TwoReads, weights


def apply(target, source, version=1) -> None:
    target.apply(version, *pack(source))


def acted(target) -> Any:
    version, value = target.act(wire.dumps(TensorDict({}, [])))
    return version, wire.loads(value)


def test_a_snapshot_is_applied_to_parameters_and_buffers():
    target = Target(TwoReads(0.0))
    apply(target, weights(5.0))
    assert acted(target) == (1, [5.0, 5.0, 5.0])


def test_a_model_without_weights_has_no_version():
    assert acted(Target(TwoReads(0.0))) == (-1, [0.0, 0.0, 0.0])


def test_transient_buffers_are_applied_when_they_are_sent():
    model, mask = nn.Linear(1, 1), torch.zeros(2)
    model.register_buffer("mask", mask, persistent=False)
    apply(Target(model), {**model.state_dict(), "mask": torch.ones(2)})
    assert mask.tolist() == [1.0, 1.0]


def test_the_parameters_stay_the_same_objects():
    model = TwoReads(0.0)
    before = [id(p) for p in model.parameters()]
    apply(Target(model), weights(5.0))
    assert [id(p) for p in model.parameters()] == before


@pytest.mark.parametrize(
    "wrong",
    [{"first": torch.ones(4)}, {"more": torch.ones(1)}, {"first": torch.ones(3).double()}],
    ids=["shape", "name", "dtype"],
)
def test_weights_that_do_not_fit_leave_the_old_ones(wrong):
    target = Target(TwoReads(0.0))
    apply(target, weights(5.0))
    with pytest.raises(WeightsMismatch):
        apply(target, {**weights(7.0), **wrong}, 2)
    assert acted(target) == (1, [5.0, 5.0, 5.0])


def test_a_load_that_raises_half_way_leaves_the_old_weights_whole():
    target = Target(RaisesHalfWay(0.0))
    apply(target, weights(5.0))
    with pytest.raises(ValueError, match="half-way"):
        apply(target, weights(-1.0), 2)
    assert acted(target) == (1, [5.0, 5.0, 5.0])


def test_weights_that_fit_are_taken_after_a_failed_load():
    target = Target(RaisesHalfWay(0.0))
    with pytest.raises(ValueError, match="half-way"):
        apply(target, weights(-1.0))
    apply(target, weights(7.0), 2)
    assert acted(target) == (2, [7.0, 7.0, 7.0])


class Stubborn(RaisesHalfWay):
    """Also refuses to take its old tensors back."""

    def __setattr__(self, name, value) -> None:
        if name == "second" and name in self._parameters and value[0, 0] >= 0:
            raise ValueError("no way back")
        super().__setattr__(name, value)


def test_a_model_that_is_left_torn_does_not_act():
    target = Target(Stubborn(0.0))
    with pytest.raises(ValueError, match="no way back"):
        apply(target, weights(-1.0))
    with pytest.raises(RuntimeError, match="torn weights"):
        acted(target)


class AsksWhetherLocked(TwoReads):
    """Notes, while it acts and while its result is copied, whether another thread could apply weights."""

    def __init__(self) -> None:
        super().__init__()
        self.target = Target(self)
        self.locked: list[bool] = []

    def forward(self, _observation) -> Any:
        self.note()
        return Noted(self)

    def note(self) -> None:
        free = Call(self.target._lock.acquire, blocking=False).wait()
        self.locked.append(not free)


class Noted:
    """A result that notes when it is copied."""

    def __init__(self, model) -> None:
        self.model = model

    def __reduce__(self) -> Any:
        self.model.note()
        return str, ()


def test_every_way_of_calling_the_model_holds_the_lock():
    model = AsksWhetherLocked()
    model(None)
    model.forward(None)
    assert model.locked == [True, True]


def test_the_lock_is_held_until_a_result_is_copied():
    model = AsksWhetherLocked()
    acted(model.target)
    assert model.locked == [True, True]


def test_a_model_has_one_lock():
    model = TwoReads(0.0)
    Target(model)
    with pytest.raises(ValueError, match="another worker's"):
        Target(model)


def test_a_wrapped_forward_keeps_its_signature():
    model = TwoReads(0.0)
    before = inspect.signature(model.forward)
    Target(model)
    assert inspect.signature(model.forward) == before


def test_a_policy_acts_without_gradients():
    target = Target(nn.Linear(1, 1))
    _, value = target.act(wire.dumps(torch.ones(1)))
    assert not wire.loads(value).requires_grad
