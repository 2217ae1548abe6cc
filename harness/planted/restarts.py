"""The reference's pool with one bug each in how it replaces workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.planted.variants import planted
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.conversation import Conversation
from reference_impl.pool.messages import Built, Call, Operation
from reference_impl.pool.options import Options
from reference_impl.pool.restarts import RestartingConversation


class _Repeating(RestartingConversation):
    def _cut(self, env: int, call: Call) -> None:
        # The answer to this reset goes to nobody: its number was another call's.
        reset = Call(request=call.request - 1, operation=Operation.RESET, values=None, kwargs={})
        Conversation._post(self, env, reset)  # noqa: SLF001 - of the class that this one has below it
        Conversation._post(self, env, call)  # noqa: SLF001 - likewise


class LostStepRepeated(AsyncEnvPool):
    """Has new workers reset their env and carry out the step that was lost with the old one."""

    def _conversation(self, options: Options, built: Sequence[Built]) -> Any:
        found = super()._conversation(options, built)
        if self._restarts is not None:
            found.__class__ = _Repeating
        return found


lost_step_repeated = planted("lost_step_repeated", LostStepRepeated)
