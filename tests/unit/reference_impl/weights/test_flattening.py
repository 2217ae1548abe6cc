"""A module is flattened at no cost while it is as it was, and anew as soon as anything of it is another."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch import nn

from reference_impl.weights.flattening import Flattener
from reference_impl.weights.packing import views


class Odd(nn.Module):
    """Tensors of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.turned = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
        self.number = nn.Parameter(torch.tensor(1.5, dtype=torch.float64))
        self.empty = nn.Parameter(torch.zeros(0, 2))
        self.register_buffer("flag", torch.tensor([True, False, True]))
        self.register_buffer("mask", torch.ones(5), persistent=False)


class Plain(nn.Module):
    """Contiguous tensors only, so that their pieces last."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("count", torch.tensor(2))
        self.register_buffer("mask", torch.ones(5), persistent=False)


def written(flattener, source) -> Any:
    flat = flattener.flatten(source)
    buffer = torch.full((flat.layout.nbytes,), 255, dtype=torch.uint8)
    flat.write(buffer)
    return views(flat.layout, buffer)


def wanted(model, *, transient=True) -> Any:
    state = dict(model.state_dict())
    return {**state, "mask": model.mask} if transient else state


def same(found, expected) -> bool:
    return found.keys() == expected.keys() and all(
        found[n].dtype == t.dtype and torch.equal(found[n], t) for n, t in expected.items()
    )


@pytest.mark.parametrize("model", [Odd(), Plain()], ids=["odd", "plain"])
def test_what_is_written_is_what_the_module_has(model):
    flattener = Flattener()
    for _ in range(3):
        assert same(written(flattener, model), wanted(model))
        with torch.no_grad():
            model.layer.weight.add_(1.0)


def test_the_layout_is_one_object_while_it_is_equal():
    flattener, model = Flattener(), Plain()
    first = flattener.flatten(model)
    assert flattener.flatten(model) is first
    values = {name: tensor.clone() for name, tensor in wanted(model).items()}
    assert flattener.flatten(values).layout is first.layout


def reassign(model) -> None:
    model.layer.weight = nn.Parameter(torch.full((3, 3), 7.0))


def rebind(model) -> None:
    model.layer.weight.data = torch.full((3, 3), 7.0)


def turn(model) -> None:
    model.layer.weight.data = model.layer.weight.data.t()


def cast(model) -> None:
    model.double()


def replace(model) -> None:
    model.layer = nn.Linear(3, 3)


def rename(model) -> None:
    model.other = model.layer
    del model.layer


def grow(model) -> None:
    model.register_buffer("more", torch.ones(2))


def drop(model) -> None:
    model.layer.bias = None


def shrink(model) -> None:
    model.mask = torch.zeros(2)


@pytest.mark.parametrize(
    "change", [reassign, rebind, turn, cast, replace, rename, grow, drop, shrink]
)
def test_a_module_that_is_not_as_it_was_is_looked_at_anew(change):
    flattener, model = Flattener(), Plain()
    written(flattener, model)
    change(model)
    assert same(written(flattener, model), wanted(model))


def test_a_dictionary_in_between_is_not_taken_for_the_module():
    flattener, model = Flattener(), Plain()
    written(flattener, model)
    other = {"x": torch.ones(2)}
    assert same(written(flattener, other), other)
    assert same(written(flattener, model), wanted(model))
    assert same(written(flattener, nn.Module()), {})


def test_a_state_dict_has_no_buffers_that_are_not_saved():
    for model in (Odd(), Plain()):
        found = written(Flattener("state_dict"), model)
        assert same(found, wanted(model, transient=False))


def test_tied_tensors_take_their_bytes_once():
    weight = torch.ones(100)
    alone = Flattener().flatten({"a": weight}).layout.nbytes
    assert Flattener().flatten({"a": weight, "b": weight}).layout.nbytes == alone
    assert Flattener().flatten({"a": weight, "b": weight.clone()}).layout.nbytes == 2 * alone
    assert Flattener().flatten({"a": weight, "b": weight[:50]}).layout.nbytes > alone


def test_extra_state_of_a_tensordict_is_that_of_the_root():
    source = TensorDict({"x": torch.ones(1), "__extra_state__": {"a": {"b": torch.tensor(3)}}}, [])
    layout = Flattener().flatten(source).layout
    assert [entry.name for entry in layout.entries] == ["x"]
    assert layout.extra_state() == {"_extra_state": {"a.b": torch.tensor(3)}}
