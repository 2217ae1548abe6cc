"""Where workers are forked from, what each would find out is found out once."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE_S

_FRESH = """
import sys
import gymnasium, torch
from reference_impl.pool import AsyncEnvPool
before = torch.get_rng_state()
import reference_impl.pool.warm
assert torch.equal(before, torch.get_rng_state())
known = set(sys.modules)
from tests.unit.reference_impl.pool.test_gym_steps import Episodes
known |= {name for name in sys.modules if not name.startswith("torchrl.")}
from reference_impl.pool.gym_envs import GymnasiumEnv
GymnasiumEnv(Episodes()).reset()
print(sorted(set(sys.modules) - known))
"""


def test_a_gymnasium_env_imports_nothing_more_and_nothing_was_drawn():
    done = subprocess.run(
        [sys.executable, "-c", _FRESH],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


_KEPT = """
import weakref, gymnasium
from reference_impl.core.errors import Closed
def first():
    held = Closed()
    import reference_impl.pool.warm
    return weakref.ref(held)
print(first()())
"""


def test_whoever_imports_it_first_is_not_kept():
    done = subprocess.run(
        [sys.executable, "-c", _KEPT],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("None", 0), done.stderr
