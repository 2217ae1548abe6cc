"""Steps of an `EnvBase` straight into a slot: what is taken, and what is left to tensordicts."""

from __future__ import annotations

import pytest
import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase

from reference_impl.pool.env_steps import env_steps
from reference_impl.pool.layout import layout_of
from reference_impl.pool.messages import CODES, Operation
from reference_impl.pool.slots import ANSWERED, FOLLOWING, NOTHING, ROOT, Slots
from reference_impl.pool.values import Values


class Told(EnvBase):
    """Returns from a step what it was told to, and keeps what it is given."""

    def __init__(self) -> None:
        super().__init__(batch_size=())
        self.observation_spec = Composite(observation=Unbounded((2,)))
        self.action_spec = Bounded(-1.0, 1.0, (1,))
        self.reward_spec = Unbounded((1,))
        flags = ("done", "terminated")
        self.done_spec = Composite({key: Categorical(2, (1,), dtype=torch.bool) for key in flags})
        no = torch.zeros(1, dtype=torch.bool)
        self.shows = {
            "observation": torch.ones(2),
            "reward": torch.full((1,), 3.0),
            "done": no,
            "terminated": no.clone(),
        }
        self.given: list[TensorDictBase] = []

    def _reset(self, tensordict=None, **kwargs):  # noqa: ARG002 - the base class calls it so
        raise AssertionError("a step resets nothing here")

    def _step(self, tensordict):
        self.given.append(tensordict)
        return TensorDict(self.shows, [])

    def _set_seed(self, seed):
        """Nothing is drawn."""


class Stepped:
    def __init__(self) -> None:
        self.env = Told()
        layout = layout_of([self.env.specs], self.env.reset_keys)
        self.slots = Slots(layout, torch.zeros(layout.size, dtype=torch.uint8))
        short = env_steps(self.env, self.slots, 0)
        assert short is not None
        self.short = short

    def step(self, action: float = 0.5, operation: Operation = Operation.STEP_THEN_RESET) -> bool:
        bits = self.slots.given.put_known(
            0, Values(entries={"action": torch.tensor([action])}, batch_size=())
        )
        self.slots.command(0, 7, CODES[operation], bits)
        return self.short.stepped()

    def answered(self) -> bool:
        return self.slots.word(0, ANSWERED) == 7


@pytest.fixture
def one():
    return Stepped()


def test_a_step_that_is_whole_is_answered_in_the_slot(one):
    assert one.step()
    assert one.answered()
    assert one.slots.word(0, FOLLOWING) == one.slots.following.full
    assert one.slots.word(0, ROOT) == 0
    shown = one.slots.following.read(0, one.slots.following.full)
    assert shown.entries["reward"].item() == 3.0
    assert shown.entries["observation"].tolist() == [1.0, 1.0]
    assert one.short.begun is None


def test_an_env_may_keep_what_it_was_given(one):
    one.step(0.5)
    one.step(-0.5)
    assert [td["action"].item() for td in one.env.given] == [0.5, -0.5]


def _ends(shows):
    shows["done"] = torch.ones(1, dtype=torch.bool)


def _lacks_a_flag(shows):
    del shows["terminated"]


def _has_another_shape(shows):
    shows["done"] = torch.zeros((), dtype=torch.bool)


def _has_another_dtype(shows):
    shows["reward"] = torch.zeros(1, dtype=torch.float64)


def _has_more(shows):
    shows["more"] = torch.zeros(1)


def _has_a_gradient(shows):
    shows["reward"] = torch.zeros(1, requires_grad=True)


@pytest.mark.parametrize(
    "change",
    [_ends, _lacks_a_flag, _has_another_shape, _has_another_dtype, _has_more, _has_a_gradient],
)
def test_a_step_that_needs_more_is_begun_once_and_not_answered(one, change):
    change(one.env.shows)
    assert not one.step()
    assert not one.answered()
    assert one.short.begun is not None
    assert one.short.begun.keys() == one.env.shows.keys()
    assert len(one.env.given) == 1
    assert not one.slots.following.columns[0].any()


def test_what_is_no_step_with_a_reset_is_not_begun(one):
    assert not one.step(operation=Operation.STEP)
    assert one.env.given == []
    one.slots.command(0, 7, CODES[Operation.STEP_THEN_RESET], NOTHING)
    assert not one.short.stepped()
    assert one.short.begun is None
