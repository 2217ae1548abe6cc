"""The probe models carry their version everywhere, and pass the gate where they are asked to."""

from __future__ import annotations

import typing
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from tensordict import TensorDict

from harness.adapters.tensordict_weights import stamps
from harness.payloads.policy import VersionedPolicyFactory
from harness.ports.weights import FIRST_VERSION, Defect


@dataclass
class Line:
    """A line to nobody that keeps what came along."""

    gated: tuple[str, ...] = ()
    passed: list[tuple[str, str, str]] = field(default_factory=list)

    def pass_gate(self, role: str, op: str, edge: str = "before") -> None:
        self.passed.append((role, op, edge))

    def observe(self, role: str, op: str, **_: Any) -> None:
        self.passed.append((role, op, "seen"))


def factory(line: Line, **more: Any) -> VersionedPolicyFactory:
    return VersionedPolicyFactory(numel=10, link=line, **more)  # type: ignore[arg-type]  # a line is enough


def stamp_of(policy: Any, worker: int = 1) -> Any:
    found = policy(TensorDict({"observation": torch.tensor([float(worker)])}, batch_size=[]))
    (stamp,) = stamps(found)
    return stamp


@pytest.mark.parametrize("reads_all", [False, True])
def test_a_forward_says_whose_it_is_and_which_version_it_read(reads_all):
    stamp = stamp_of(factory(Line(), reads_all=reads_all)())
    assert (stamp.worker, stamp.first, stamp.last, stamp.buffer) == (1, *[FIRST_VERSION] * 3)
    assert stamp.began_ns > 0


@pytest.mark.parametrize("name", ["large", "small", "stamp"])
@pytest.mark.parametrize("reads_all", [False, True])
def test_one_tensor_of_another_version_makes_a_forward_torn(name, reads_all):
    policy = factory(Line(), reads_all=reads_all)()
    getattr(policy, name).data[-1] = 7.0
    stamp = stamp_of(policy)
    assert len({stamp.first, stamp.last, stamp.buffer}) > 1


def test_a_load_passes_the_gate_before_it_half_way_and_after_it():
    line = Line(gated=("apply", "half_apply"))
    made = factory(line)
    policy = made()
    stamp_of(policy)
    line.passed.clear()
    policy.load_state_dict(made.weights(2, None))
    ops = [(op, edge) for _, op, edge in line.passed]
    assert ops == [("apply", "before"), ("half_apply", "before"), ("apply", "after")]
    assert {role for role, _, _ in line.passed} == {"worker:1"}
    assert stamp_of(policy).first == 2


def test_where_nobody_asks_at_a_load_the_policy_is_a_plain_module():
    plain, passing = factory(Line())(), factory(Line(gated=("apply",)))()
    assert "load_state_dict" not in vars(type(plain))
    assert "load_state_dict" in vars(type(passing))


def test_a_value_network_is_none_of_the_policys_own_modules():
    policy = factory(Line(), valued=True)()
    assert set(policy.state_dict()) == {"large", "small", "stamp"}
    found = policy(TensorDict({"observation": torch.zeros(1)}, batch_size=[]))
    assert found["state_value"].item() == FIRST_VERSION


def test_a_value_network_of_two_versions_says_so():
    network = factory(Line()).value_network()
    network.small.data[0] = 9.0
    found = network(TensorDict({"observation": torch.zeros(1)}, batch_size=[]))
    assert found["state_value"].item() == -1.0


@pytest.mark.parametrize("defect", typing.get_args(Defect))
def test_spoilt_weights_are_not_those_of_the_policy(defect):
    made = factory(Line())
    sound, spoilt = made.weights(2, None), made.weights(2, defect)
    shapes = ({n: (t.shape, t.dtype) for n, t in each.items()} for each in (sound, spoilt))
    one, other = shapes
    assert one != other


def test_who_takes_spoilt_weights_is_seen(monkeypatch):
    taken: list[str] = []
    made = factory(Line())
    monkeypatch.setattr(type(made), "spoils", taken.append)
    made.weights(2, None)
    assert taken == []
    made.weights(2, "wrong_key")
    assert taken == ["wrong_key"]
