"""What blocks of scenarios stand on, and what a kind of block is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

from harness.faults.registry import PoolFault
from harness.generate.derive import variants
from harness.model.plain import to_plain
from harness.model.scenario import Heal, Phase
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.pool_verbs import PoolVerb, Reset

PoolStep = PoolVerb | PoolFault | Heal | Phase
Steps = tuple[PoolStep, ...]

K_MAX = 3


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
    def k_max(self) -> int:
        """How often a step can be counted on to step each env, after a reset and one step."""
        if self.capabilities.autoreset == "same_step":
            return K_MAX
        return min(K_MAX, self.setup.horizon - 1)

    @property
    def fresh(self) -> Steps:
        """What has to come before steps are counted: the step after an episode's end may be none."""
        return () if self.capabilities.autoreset == "same_step" else (Reset(),)

    def supported(self, cls: type[Any], **given: Any) -> list[Any]:
        """The variants of a fault that the row can have."""
        setup = to_plain(self.setup)
        every = variants(cls, **given)
        return [fault for fault in every if fault.unsupported(setup, self.capabilities) is None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One kind of block.

    Attributes:
        needs: verbs and faults that it is made of; `reset` and `shutdown` always exist.
        draw: the strategy of its steps.
        hosts: hosts under which the pool can be used like that.
        fits: what else has to hold.
    """

    needs: frozenset[str]
    draw: Callable[[Ground], SearchStrategy[Steps]]
    hosts: frozenset[str] = frozenset({"bare", "transformed"})
    fits: Callable[[Ground], bool] = lambda _: True

    def possible(self, ground: Ground) -> bool:
        """Whether a scenario on this ground can have it."""
        return self.needs <= ground.kinds and ground.setup.host in self.hosts and self.fits(ground)
