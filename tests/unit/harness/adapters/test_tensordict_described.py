"""Descriptions of TensorDicts and specs in neutral terms."""

from __future__ import annotations

import json

import torch
from tensordict import NonTensorStack, TensorDict, lazy_stack
from torchrl.data import Composite, NonTensor, Unbounded

from harness.adapters.tensordict_described import (
    VALUES_MAX,
    described,
    described_spec,
    overwrite,
    resized,
)


def data() -> TensorDict:
    nested = TensorDict({"reward": torch.ones(2, 1)}, batch_size=[2])
    return TensorDict({"next": nested, "env_index": NonTensorStack(0, 1)}, batch_size=[2])


def test_a_nested_tensor_is_described_by_its_path():
    assert described(data())["next/reward"] == {
        "kind": "tensor",
        "shape": [2, 1],
        "dtype": "float32",
        "device": "cpu",
        "values": [[1.0], [1.0]],
    }


def test_objects_have_a_shape_and_values_and_no_dtype():
    found = described(data())["env_index"]
    assert (found["kind"], found["shape"], found["dtype"]) == ("object", [2], None)
    assert found["values"] == [0, 1]


def test_a_lazy_stack_is_described_as_a_dense_one():
    assert described(lazy_stack([*data().unbind(0)])) == described(data())


def test_of_a_large_tensor_only_the_form_is_told():
    large = TensorDict({"pixels": torch.zeros(2, VALUES_MAX)}, batch_size=[2])
    assert described(large)["pixels"]["values"] is None


def test_a_description_is_json():
    assert json.loads(json.dumps(described(data()))) == described(data())


def test_a_spec_is_described_without_values():
    spec = Composite(
        agent=Composite(reward=Unbounded((2, 1)), shape=(2,)),
        note=NonTensor(shape=(2,)),
        shape=(2,),
    )
    found = described_spec(spec)
    assert found["agent/reward"]["shape"] == [2, 1]
    assert (found["note"]["kind"], found["note"]["dtype"]) == ("object", None)
    assert all("values" not in leaf for leaf in found.values())


def test_a_promise_for_some_rows_and_times_has_their_shape():
    promised = described_spec(Composite(reward=Unbounded((3, 1)), shape=(3,)))
    assert resized(promised, 2)["reward"]["shape"] == [2, 1]
    assert resized(promised, 2, 8)["reward"]["shape"] == [2, 8, 1]


def test_what_is_overwritten_changes_for_whoever_shares_it():
    own = data()
    reward, index = own.get(("next", "reward")), own.get("env_index")
    overwrite((own,))
    assert reward.tolist() == [[-7.0], [-7.0]]
    assert index.tolist() == [-7, -7]


def test_flags_are_turned_when_they_are_overwritten():
    flags = TensorDict({"done": torch.tensor([[True], [False]])}, batch_size=[2])
    done = flags.get("done")
    overwrite((flags,))
    assert done.tolist() == [[False], [True]]


def test_the_rows_of_a_lazy_stack_are_overwritten_themselves():
    rows = data().unbind(0)
    reward = rows[1].get(("next", "reward"))
    overwrite((lazy_stack([*rows]),))
    assert reward.tolist() == [-7.0]
