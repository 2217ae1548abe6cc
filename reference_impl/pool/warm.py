"""What importing this finds out, workers that are forked from here need not: it is a third of their start.

Making the first gymnasium env of a process imports modules, compiles patterns and fills caches.
"""

from __future__ import annotations

import sys
from typing import Any

from reference_impl.pool.gym_envs import GymnasiumEnv

if "gymnasium" in sys.modules:  # else envs are not of it
    import gymnasium
    import numpy as np

    class _Nothing(gymnasium.Env[Any, Any]):
        """Shows one number."""

        observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1.0, 1.0, (1,))

        def reset(self, **_: Any) -> Any:
            """Show it."""
            return np.zeros(1, np.float32), {}

    _env = GymnasiumEnv(_Nothing())
    _env.specs.clone()
    _env.reset()
    _env.close()

    # torchrl keeps an error of one of these imports, and with its traceback all that whoever caused
    # them works on: the first pool would never be collected.
    _error = getattr(sys.modules.get("torchrl.envs.libs.utils"), "IMPORT_ERROR", None)
    if _error is not None:
        _error.__traceback__ = None
