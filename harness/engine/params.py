"""Runs the verbs that reach into running envs."""

from __future__ import annotations

from typing import Any

from harness.ports.param_verbs import BuildAnew, ReadParams, SetParams

REFUSED = -1  # a level that no probe env takes


def arguments(verb: SetParams | ReadParams | BuildAnew, num_envs: int) -> dict[str, Any]:
    """What the verb is about to be called with, for the journal."""
    match verb:
        case BuildAnew():
            return {"level": verb.level}
        case ReadParams():
            return {}
        case SetParams():
            envs = list(range(num_envs)) if verb.envs is None else list(verb.envs)
            said: dict[str, Any] = {"level": verb.level, "envs": envs, "when": verb.when}
            if verb.refused_by is not None:
                said |= {"defect": f"env {verb.refused_by}", "refused_by": verb.refused_by}
            return said | ({"refusable": True} if verb.refusable else {}) | {"reinit": verb.reinit}


def perform(pool: Any, verb: SetParams | ReadParams, said: dict[str, Any]) -> dict[str, Any]:
    """Call the pool; returns what the journal should have of the result."""
    match verb:
        case ReadParams():
            return {"levels": [int(level) for level in pool.read_params(verb.via)]}
        case SetParams():
            refusing = said.get("refused_by")
            levels = {env: REFUSED if env == refusing else verb.level for env in said["envs"]}
            pool.set_params(levels, verb)
            return {"pids": [int(pid) for pid in pool.worker_pids()]}
