"""Entry points of a pool that are called by name, and how what they take and give is described."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

Extras = Literal["none", "tensors", "objects", "reward"]
Entry = Literal[
    "specs",
    "reset",
    "step",
    "step_and_maybe_reset",
    "private_reset",
    "private_step",
    "async_reset",
    "async_step",
    "async_step_and_maybe_reset",
    "rollout",
    "rand_action",
]
Writes = Literal["next", "root", "env_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """Call an entry point by name, and the same one of a serial twin; both results are described.

    Attributes:
        entry: which one.
        mask: the envs that are reset, or that are sent a step; all if it is left out.
        overwrite: the caller writes over all that it got, as its owner may.
        BESIDE: the verbs that may stand in a scenario beside it: others would move the pool and not its twin.
        PAYLOADS: those whose observations tell which of their entries are an env's own.
    """

    BESIDE: ClassVar[frozenset[str]] = frozenset(
        {"compare", "idle", "mark", "open_beside", "close_beside", "shutdown", "leave"}
    )
    PAYLOADS: ClassVar[frozenset[str]] = frozenset({"plain", "special", "reused", "reward_array"})

    entry: Entry
    mask: tuple[bool, ...] | None = None
    overwrite: bool = False
    do: Literal["compare"] = "compare"
    within_s: float = 5.0

    @property
    def capability(self) -> str:
        """Each entry point is declared by itself."""
        return f"compare_{self.entry}"


COMPARABLE: frozenset[str] = frozenset(f"compare_{entry}" for entry in get_args(Entry))

Described = Mapping[str, Mapping[str, Any]]
"""Data by the path of its keys (`next/reward`): `kind` (`tensor`, `object`), `shape`, `dtype`, `device`,
and `values`, nested lists, None where they are many or random. JSON values all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What a call through an entry point took and gave.

    What `step_and_maybe_reset` returns is below `stepped/` and `root/`; the specs are below their names.

    Attributes:
        returned: what it returned.
        promised: what the backend's own specs say of it, without values; the least that it has to hold.
        given: what it was given, before the call; None where that is nothing.
        given_after: the same object after the call.
    """

    returned: Described
    promised: Described
    given: Described | None = None
    given_after: Described | None = None
