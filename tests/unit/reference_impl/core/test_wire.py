"""Messages come out as they went in, and own their memory."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict

from reference_impl.core import wire

TENSORS = {
    "floats": torch.arange(6.0).reshape(2, 3),
    "large": torch.arange(5000.0),
    "scalar": torch.tensor(3),
    "empty": torch.zeros(0, 4),
    "bool": torch.tensor([True, False]),
    "bfloat16": torch.ones(3, dtype=torch.bfloat16),
    "complex": torch.ones(2, dtype=torch.complex64),
    "conjugate": torch.tensor([1 + 2j]).conj(),
    "transposed": torch.arange(6).reshape(2, 3).T,
    "expanded": torch.ones(1).expand(4),
    "large and expanded": torch.ones(1).expand(5000),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_comes_out_equal(name):
    copy = wire.loads(wire.dumps(TENSORS[name]))
    assert copy.dtype == TENSORS[name].dtype
    assert torch.equal(copy, TENSORS[name])


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_that_came_out_can_be_written(name):
    copy = wire.loads(wire.dumps(TENSORS[name]))
    copy.zero_()
    assert not copy.any()


def test_one_element_of_an_expanded_tensor_is_its_own():
    copy = wire.loads(wire.dumps(TENSORS["expanded"]))
    copy[0] = 5
    assert copy.tolist() == [5, 1, 1, 1]


@pytest.mark.parametrize("make", [torch.nn.Parameter, torch.Tensor.requires_grad_])
def test_a_tensor_keeps_that_it_needs_a_gradient(make):
    assert wire.loads(wire.dumps(make(torch.ones(2)))).requires_grad


def test_a_tensordict_comes_out_equal():
    td = TensorDict({"a": torch.ones(2, 3), "b": {"c": torch.zeros(2)}}, batch_size=[2])
    assert (wire.loads(wire.dumps(td)) == td).all()


def test_what_cannot_be_pickled_is_the_senders_error():
    with pytest.raises((TypeError, AttributeError), match="pickle"):
        wire.dumps(lambda: None)
