"""What blocks of scenarios stand on, and what a kind of block is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.registry import PoolFault
from harness.generate.derive import drawn, variants
from harness.model.plain import to_plain
from harness.model.scenario import Heal, Phase, Placement
from harness.payloads.forms import LANES
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.pool_verbs import PoolVerb, Reset, Step

PoolStep = PoolVerb | PoolFault | Heal | Phase
Steps = tuple[PoolStep, ...]

K_MAX = 3
# The weights of what most scenarios need or many have no place for, and of what takes its time.
OFTEN, SELDOM, RARE = 12, 2, 1
BARE = frozenset({"bare"})  # what is sent goes to the pool itself, past its host
STEPPED = frozenset({"bare", "transformed"})
COLLECTOR = frozenset({"collector"})
EVERYWHERE = frozenset({"bare", "transformed", "collector"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the blocks of one scenario stand on.

    Attributes:
        setup: of the scenario.
        capabilities: of the backend.
        kinds: verbs and faults that exist in this scenario.
        frames: what every rollout takes: a collector is built once, for one size of batch.
    """

    setup: PoolSetup
    capabilities: PoolCapabilities
    kinds: frozenset[str]
    frames: int

    @property
    def envs(self) -> range:
        """The envs."""
        return range(self.setup.num_envs)

    @property
    def processes(self) -> bool:
        """Whether workers are processes."""
        return self.setup.transport == "process"

    @property
    def k_max(self) -> int:
        """How often a step can be counted on to step each env, after a reset and one step."""
        if self.capabilities.autoreset == "same_step":
            return K_MAX
        return min(K_MAX, self.setup.horizon - 1)

    @property
    def fresh(self) -> Steps:
        """What has to come before steps are counted: the step after an episode's end may be none."""
        return () if self.capabilities.autoreset == "same_step" else (Reset(),)

    @property
    def begun(self) -> Steps:
        """What has to come before a call that is struck: one that works, so that there is an answer to judge."""
        return (*self.fresh, Step())

    def supported(self, cls: type[Any], **given: Any) -> list[Any]:
        """The variants of a fault that the row can have."""
        setup = to_plain(self.setup)
        every = variants(cls, **given)
        return [fault for fault in every if fault.unsupported(setup, self.capabilities) is None]

    def worker(self) -> SearchStrategy[str]:
        """One worker, the simplest first, or whichever comes."""
        return st.sampled_from([*(f"worker:{env}" for env in self.envs), "worker"])

    def placement(self, op: str, k_max: int = 1) -> SearchStrategy[Placement]:
        """Some place at an operation of a worker, before it or after it."""
        # The probe env asks the gate before each of its operations, and after a step.
        edges = ("before", "after") if op == "step" else ("before",)
        return drawn(
            Placement,
            role=self.worker(),
            op=st.just(op),
            k=st.integers(1, k_max),
            edge=st.sampled_from(edges),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One kind of block.

    Attributes:
        needs: verbs and faults that it is made of; `reset` and `shutdown` always exist.
        draw: the strategy of its steps.
        hosts: hosts under which the pool can be used like that.
        fits: what else has to hold.
        lanes: whether it can be had where a child, or a worker, holds several envs: roles and receives count
            children, and what strikes a worker strikes all of its envs.
        weight: how often it comes against others: less often if it takes its time.
    """

    needs: frozenset[str]
    draw: Callable[[Ground], SearchStrategy[Steps]]
    hosts: frozenset[str] = STEPPED
    fits: Callable[[Ground], bool] = lambda _: True
    lanes: bool = False
    weight: int = 4

    def possible(self, ground: Ground) -> bool:
        """Whether a scenario on this ground can have it."""
        several = ground.setup.payload in LANES or ground.setup.envs_per_worker > 1
        laid_out = self.lanes or not several
        hosted = ground.setup.host in self.hosts
        return self.needs <= ground.kinds and hosted and laid_out and self.fits(ground)


def form(*needs: str, draw: Callable[[Ground], SearchStrategy[Steps]], **rest: Any) -> Form:
    """A form, its needs first."""
    return Form(needs=frozenset(needs), draw=draw, **rest)


def steps_of(*steps: SearchStrategy[Any]) -> SearchStrategy[Steps]:
    """A block of so many steps, each drawn by itself."""
    return st.tuples(*steps)


def in_processes(ground: Ground) -> bool:
    """Whether workers are processes."""
    return ground.processes


def able(cls: type[Any], **given: Any) -> Callable[[Ground], bool]:
    """Whether the row can have some variant of a fault."""
    return lambda ground: bool(ground.supported(cls, **given))


def receives_some(ground: Ground) -> bool:
    """Whether results can be received one by one."""
    return "recv_some" in ground.capabilities.verbs


def receives_some_of_several(ground: Ground) -> bool:
    """Whether the results of some envs can be received before those of the others."""
    return receives_some(ground) and ground.setup.num_envs > 1


def going_on(draw: DrawFn) -> Steps:
    """A reset and a step after a call that has failed, or nothing."""
    return (Reset(), Step()) if draw(st.booleans()) else ()


EDGES: tuple[Literal["before", "after"], ...] = ("before", "after")
HUNG_S = 3.0  # a shutdown's deadline where somebody has to be killed: pools share it out
HEALED = Heal(heal="")  # the last fault's: ids are given once the order of all blocks is known
