"""What workers have answered, looked at before it is heard."""

from __future__ import annotations

import select

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.pool.slots import ANSWERED, REQUEST
from tests.patience import PATIENCE_S


def answered(pool, env):
    """Wait until an env's answer is there, without hearing it."""
    deadline = Deadline.after(PATIENCE_S)
    if pool.resolved_exchange == "queue":
        end = pool._workers.members[env].end
        if pool.backend == "threading":
            return bool(channel.wait((end,), (), deadline))
        return bool(select.select([end.fileno()], [], [], PATIENCE_S)[0])
    slots = pool._line.slots
    while slots.word(env, ANSWERED) != slots.word(env, REQUEST) and not deadline.expired:
        deadline.pause(0.001)
    return not deadline.expired
