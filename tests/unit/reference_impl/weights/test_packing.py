"""A snapshot has all of the source's tensors, shares none of them, and is compared before it is used."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tensordict import TensorDict
from torch import nn

from reference_impl.weights import packing

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
    torch.int64,
    torch.uint8,
    torch.bool,
]


class Mixed(nn.Module):
    """Parameters, buffers of both kinds, several dtypes, a scalar, an empty tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.empty = nn.Parameter(torch.zeros(0, 4))
        self.register_buffer("count", torch.tensor(7))
        self.register_buffer("mask", torch.tensor([True, False]), persistent=False)


def unpacked(source) -> Any:
    layout, buffer = packing.pack(source)
    return packing.views(layout, buffer)


def assert_same(got, wanted) -> None:
    assert list(got) == list(wanted)
    for name, tensor in wanted.items():
        assert got[name].dtype == tensor.dtype
        assert got[name].shape == tensor.shape
        assert torch.equal(got[name], tensor)


def test_a_module_gives_its_state_and_its_transient_buffers():
    model = Mixed()
    assert_same(unpacked(model), {**model.state_dict(), "mask": model.mask})


def test_a_tensordict_gives_its_leaves_under_dotted_names():
    source = TensorDict({"layer": {"weight": torch.ones(2, 3)}, "scale": torch.tensor(1.0)}, [])
    names = set(unpacked(source))
    assert names == {"layer.weight", "scale"}


def test_the_tensordict_of_a_module_has_the_names_of_the_module():
    model = Mixed()
    assert set(unpacked(TensorDict.from_module(model))) == set(unpacked(model))


def test_a_nested_mapping_gives_dotted_names():
    assert set(unpacked({"a": {"b": torch.ones(1)}, "c": torch.ones(1)})) == {"a.b", "c"}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_values_of_every_dtype_come_back(dtype):
    source = {"odd": torch.tensor([True]), "x": torch.arange(5).to(dtype)}
    assert_same(unpacked(source), source)


@given(st.lists(st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 3), max_size=3))))
def test_any_mixture_of_shapes_and_dtypes_comes_back(tensors):
    source = {
        str(index): torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
        for index, (dtype, shape) in enumerate(tensors)
    }
    assert_same(unpacked(source), source)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3).t(),
        torch.arange(6.0)[::2],
        torch.tensor(1.0).expand(2, 3),
        torch.tensor([1 + 2j]).conj(),
    ],
    ids=["transposed", "strided", "expanded", "conjugated"],
)
def test_values_that_are_not_contiguous_come_back_contiguous(tensor):
    got = unpacked({"x": tensor})["x"]
    assert torch.equal(got, tensor)
    assert got.is_contiguous()


def test_a_snapshot_does_not_change_with_its_source():
    source = {"x": torch.zeros(3)}
    snapshot = unpacked(source)
    source["x"].fill_(1.0)
    assert torch.equal(snapshot["x"], torch.zeros(3))


def test_a_snapshot_leaves_its_source_as_it_was():
    model = Mixed()
    before = {name: (p, p.data_ptr(), p._version) for name, p in model.named_parameters()}
    packing.pack(model)
    assert {n: (p, p.data_ptr(), p._version) for n, p in model.named_parameters()} == before


def test_a_snapshot_is_one_run_of_bytes():
    layout, buffer = packing.pack(Mixed())
    assert (buffer.dtype, buffer.ndim, buffer.numel()) == (torch.uint8, 1, layout.nbytes)


@pytest.mark.parametrize(
    "source",
    [[torch.ones(1)], 3, {"x": 1.0}, {1: torch.ones(1)}, {"x": torch.ones(2).to_sparse()}],
    ids=["list", "number", "float value", "int name", "sparse"],
)
def test_what_is_no_weights_is_refused(source):
    with pytest.raises(TypeError, match="weights"):
        packing.pack(source)


def test_a_name_that_comes_twice_is_refused():
    with pytest.raises(ValueError, match=r"'a\.b' twice"):
        packing.pack({"a.b": torch.ones(1), "a": {"b": torch.ones(1)}})


def check(source) -> Any:
    packing.check(packing.pack(source)[0], packing.model_tensors(Mixed()))


def changed(**changes) -> Any:
    state = {**Mixed().state_dict(), **changes}
    return {name: tensor for name, tensor in state.items() if tensor is not None}


@pytest.mark.parametrize("source", [Mixed(), changed(), changed(mask=torch.ones(2).bool())])
def test_weights_that_fit_pass(source):
    check(source)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (changed(scale=None), "missing 'scale'"),
        (changed(other=torch.ones(1)), "unexpected 'other'"),
        (changed(scale=torch.ones(1, dtype=torch.float64)), r"'scale' has shape \(1,\), not \(\)"),
        (changed(scale=torch.tensor(1.0)), "'scale' has dtype torch.float32, not torch.float64"),
        (changed(mask=torch.ones(3).bool()), "'mask' has shape"),
    ],
    ids=["missing", "unexpected", "shape", "dtype", "transient"],
)
def test_weights_that_do_not_fit_are_named(source, words):
    with pytest.raises(packing.WeightsMismatch, match=words):
        check(source)


def test_a_buffer_that_is_too_short_is_refused():
    layout, buffer = packing.pack(Mixed())
    with pytest.raises(ValueError, match="bytes"):
        packing.views(layout, buffer[:-1])
