"""A worker answers everything it is told, goes forward only, and may be given another model."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.weights.flattening import Flattener
from reference_impl.weights.messages import LoadWeights
from reference_impl.weights.packing import pack
from reference_impl.weights.receiver import Receiver
from reference_impl.weights.store import SnapshotStore
from reference_impl.weights.target import Target
from tests.unit.reference_impl.weights.policies import WAIT_S, TwoReads, weights


class Owner:
    """The other side of a receiver."""

    def __init__(self, *, private) -> None:
        self.store, self.flattener = SnapshotStore(), Flattener()
        self.end, theirs = channel.pair("thread")
        self.model = TwoReads(0.0)
        self.receiver = Receiver(
            Target(self.model), theirs, self.store.reader(), 0, private=private
        )
        self.receiver.start()
        self.asked = 0

    def instruction(self, version) -> LoadWeights:
        self.asked += 1
        flat = self.flattener.flatten(weights(float(version)))
        payload = self.store.put(flat, version)
        return LoadWeights(request_id=self.asked, version=version, payload=payload)

    def tell(self, message) -> Any:
        channel.send(self.end, message)
        assert channel.wait((self.end,), (), Deadline.after(WAIT_S))
        return channel.recv(self.end)

    def close(self) -> None:
        channel.close(self.end)
        assert self.receiver.stop(Deadline.after(WAIT_S))
        self.store.close()
        del self.model, self.receiver  # its weights lie in a slot


@pytest.fixture(params=[True, False], ids=["copy", "shared"])
def owner(request) -> Any:
    owner = Owner(private=request.param)
    yield owner
    owner.close()


def test_an_ack_carries_request_and_version(owner):
    ack = owner.tell(owner.instruction(7))
    assert (ack.request_id, ack.version, ack.failure) == (1, 7, None)
    assert owner.model(None) == [7.0] * 3


def test_a_version_that_was_overtaken_is_acknowledged_and_not_applied(owner):
    first, second = owner.instruction(1), owner.instruction(2)
    owner.tell(second)
    assert owner.tell(first).failure is None
    assert owner.model(None) == [2.0] * 3


def test_an_instruction_that_comes_again_changes_nothing(owner):
    instruction = owner.instruction(1)
    owner.tell(instruction)
    owner.store.keep(())
    owner.tell(owner.instruction(2))
    assert owner.tell(instruction).failure is None
    assert owner.model(None) == [2.0] * 3


def test_an_instruction_whose_payload_is_not_there_is_answered_with_a_failure(owner):
    stale = owner.instruction(1)
    owner.store.keep(())
    owner.instruction(2)
    assert "PayloadMissing" in owner.tell(stale).failure.cause
    missing = stale.payload._replace(offset=1 << 30)
    assert "EOFError" in owner.tell(stale._replace(payload=missing)).failure.cause
    assert owner.model(None) == [0.0] * 3


@pytest.mark.parametrize("message", [None, "receive", 3], ids=str)
def test_an_unknown_instruction_is_answered_with_a_failure(owner, message):
    ack = owner.tell(message)
    assert (ack.request_id, ack.version) == (0, -1)
    assert "unknown instruction" in ack.failure.cause
    assert owner.tell(owner.instruction(1)).failure is None


def test_a_failure_is_logged_in_the_worker(owner, caplog):
    owner.tell(None)
    assert "worker 0 kept its old weights" in caplog.text


def test_another_model_begins_with_the_version_that_is_held(owner):
    owner.tell(owner.instruction(3))
    other = TwoReads(-1.0)
    owner.receiver.retarget(Target(other))
    assert (other(None), owner.receiver.target.version) == ([3.0] * 3, 3)
    for version in (4, 5, 6):
        owner.store.keep(())
        owner.tell(owner.instruction(version))
    assert (other(None), owner.model(None)) == ([6.0] * 3, [3.0] * 3)


def test_a_model_that_does_not_fit_does_not_take_the_place_of_one_that_does(owner):
    owner.tell(owner.instruction(3))
    other = nn.Linear(1, 1)
    for _ in range(2):  # it was let go
        with pytest.raises(ValueError, match="do not fit"):
            owner.receiver.retarget(Target(other))
    owner.tell(owner.instruction(4))
    assert owner.model(None) == [4.0] * 3


def test_a_copy_of_the_model_runs_on_its_own_weights_and_can_be_a_target_itself(owner):
    owner.tell(owner.instruction(3))
    other = copy.deepcopy(owner.model)
    owner.tell(owner.instruction(4))
    assert (other(None), owner.model(None)) == ([3.0] * 3, [4.0] * 3)
    owner.receiver.retarget(Target(other))
    assert other(None) == [4.0] * 3


def test_a_model_that_was_cast_is_told_and_keeps_what_it_has(owner):
    owner.tell(owner.instruction(3))
    owner.model.double()
    assert "dtype" in owner.tell(owner.instruction(4)).failure.cause
    assert owner.model(None) == [3.0] * 3


def test_a_parameter_that_was_replaced_is_the_one_that_is_changed(owner):
    owner.tell(owner.instruction(3))
    owner.model.first = nn.Parameter(torch.full((3,), -1.0))
    owner.tell(owner.instruction(4))
    assert owner.model(None) == [4.0] * 3


def test_a_hook_that_was_added_is_honoured(owner):
    owner.tell(owner.instruction(3))
    loaded: list[Any] = []
    owner.model.register_load_state_dict_post_hook(lambda *_: loaded.append(True))
    owner.tell(owner.instruction(4))
    assert (owner.model(None), loaded) == ([4.0] * 3, [True])


def test_a_buffer_that_is_not_sent_keeps_its_values_whatever_comes_where_they_lay(owner):
    owner.model.register_buffer("mask", torch.zeros(3), persistent=False)
    sources = [{"mask": torch.full((3,), 8.0), **weights(1.0)}, weights(2.0), weights(3.0)]
    kept: list[int] = []
    for version, source in enumerate([*sources, weights(4.0)], 1):
        owner.store.keep(kept)
        payload = owner.store.put(owner.flattener.flatten(source), version)
        message = LoadWeights(request_id=version, version=version, payload=payload)
        assert owner.tell(message).failure is None
        kept = [payload.offset]  # the one in force
    assert owner.model(None) == [4.0] * 3
    assert owner.model.mask.tolist() == [8.0] * 3


def test_a_model_on_meta_gets_a_place_with_its_first_weights():
    model = TwoReads(0.0).to("meta")
    target = Target(model)
    target.apply(0, *pack(weights(5.0)))
    assert model(None) == [5.0] * 3
    assert isinstance(model.first, nn.Parameter)


def test_a_model_on_meta_whose_weights_do_not_fit_does_not_act():
    model = TwoReads(0.0).to("meta")
    target = Target(model)
    with pytest.raises(ValueError, match="do not fit"):
        target.apply(0, *pack({"first": torch.ones(3)}))
    with pytest.raises(RuntimeError, match="none have come yet"):
        model(None)
    target.apply(0, *pack(weights(5.0)))
    assert model(None) == [5.0] * 3


def test_tied_parameters_on_meta_stay_tied():
    model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False))
    model.to("meta")
    model[1].weight = model[0].weight
    Target(model).apply(0, *pack({f"{i}.weight": torch.ones(2, 2) for i in (0, 1)}))
    assert model[0].weight is model[1].weight


def test_a_released_model_can_be_another_targets():
    model = TwoReads(0.0)
    Target(model).release()
    assert "forward" not in vars(model)
    Target(model)
