"""The verbs that reach into running envs: their one parameter, `level`, is read and changed.

It shows in each reward (`harness.model.probe.reward`), and is an attribute `level` and two methods,
`set_level` and `get_level`, of the env that the adapter makes of the probe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Via = Literal["attribute", "method", "update"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetParams:
    """Give running envs a new level.

    Attributes:
        level: the new one.
        envs: which envs; all if it is left out.
        via: by setting an attribute, by calling a method, or by the backend's own way of changing
            parameters, which may do more.
        when: at once, which is between two steps, or at each env's next reset.
        reinit: whether what the envs' transforms made of the old level is made anew.
        refused_by: an env that does not take its value: the call raises, and this env keeps its own.
        refusable: the backend may refuse it, because steps are in flight: nothing changes then.
    """

    level: int
    envs: tuple[int, ...] | None = None
    via: Via = "attribute"
    when: Literal["now", "reset"] = "now"
    reinit: bool = False
    refused_by: int | None = None
    refusable: bool = False
    do: Literal["set_params"] = "set_params"
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """What the backend needs to have for it."""
        return "params_update" if self.when == "reset" or self.reinit else f"params_{self.via}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadParams:
    """Read the level of every env, through an attribute or a method."""

    via: Literal["attribute", "method"] = "attribute"
    do: Literal["read_params"] = "read_params"
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """What the backend needs to have for it."""
        return f"params_{self.via}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildAnew:
    """Close the pool and build the next one, whose envs are made with this level."""

    level: int
    do: Literal["build_anew"] = "build_anew"
    within_s: float = 30.0


PARAMS: frozenset[str] = frozenset({"params_attribute", "params_method", "params_update"})
