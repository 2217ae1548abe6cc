"""The real pool as a subject of the events of `ledger_model`: each env answers when it is let to.

An env waits for a token before it answers, which says how: well or not. What it shows is who it is
and how many calls came before; so results say themselves which request they answer.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Composite, Unbounded
from torchrl.envs import EnvBase

from reference_impl.core import channel
from reference_impl.core.clock import Deadline
from reference_impl.core.errors import Closed, WorkerDied, WorkerError
from reference_impl.pool import AsyncEnvPool
from reference_impl.pool.messages import Operation
from tests.patience import PATIENCE_S
from tests.unit.reference_impl.pool.ledger_model import (
    WAIT,
    Answer,
    Ask,
    Close,
    GiveUp,
    Lose,
    Receive,
    ReceiveAlone,
    ReceiveGroup,
    Retract,
    TakeOver,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.reference_impl.pool.ledger_model import Event, Outcome

WELL, BADLY = b"w", b"f"
ANSWER_S = PATIENCE_S
ASYNC = {
    Operation.RESET: "reset",
    Operation.STEP: "step",
    Operation.STEP_AND_MAYBE_RESET: "step_and_maybe_reset",
}
AT_ONCE = {
    Operation.RESET: "reset",
    Operation.PRIVATE_STEP: "step",
    Operation.STEP_THEN_RESET: "step_and_maybe_reset",
}


class GatedEnv(EnvBase):
    """Shows (index, calls before this one); each call takes one token."""

    def __init__(self, index: int, tokens: int) -> None:
        super().__init__(batch_size=())
        self.index, self._tokens, self._calls = index, tokens, 0
        self.observation_spec = Composite(observation=Unbounded((2,), dtype=torch.int64))
        self.action_spec = Unbounded((1,))
        self.reward_spec = Unbounded((1,))

    def _answer(self) -> TensorDict:
        token = os.read(self._tokens, 1)
        self._calls += 1
        if token == BADLY:
            raise LookupError("planned")
        shown = torch.tensor([self.index, self._calls - 1])
        done = torch.zeros(1, dtype=torch.bool)
        entries = {"observation": shown, "done": done, "terminated": done.clone()}
        return TensorDict(entries, batch_size=())

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:  # noqa: ARG002 - the base class calls it so
        return self._answer()

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:  # noqa: ARG002 - likewise
        return self._answer().set("reward", torch.zeros(1))

    def _set_seed(self, seed: int | None) -> None:
        """Draw nothing."""


class GatedPool:
    """A pool whose requests are called by the order in which they were asked."""

    def __init__(self, num_envs: int, **options: Any) -> None:
        self._tokens = [os.pipe() for _ in range(num_envs)]
        makers = [partial(GatedEnv, i, r) for i, (r, _) in enumerate(self._tokens)]
        self._pool = AsyncEnvPool(makers, start_method="fork", shutdown_timeout=ANSWER_S, **options)
        self._asked: list[list[int]] = [[] for _ in makers]  # by env: its calls, in order
        self._count = 0
        self.env_of: Any = ()

    def end(self) -> None:
        """Let everybody answer, and end the pool."""
        for _, write in self._tokens:
            os.write(write, WELL * 64)
        self._pool.close()
        for fd in (fd for both in self._tokens for fd in both):
            os.close(fd)

    def let(self, env: int, token: bytes) -> None:
        """Let `env` answer the next call that it has or gets."""
        os.write(self._tokens[env][1], token)

    def observed(self) -> Outcome:
        """Which envs are busy, which are lost, how many replies were dropped."""
        told = self._pool.stats()
        return frozenset(told["busy"]), frozenset(told["lost"]), told["replies_dropped"]

    def do(self, event: Event) -> Outcome:
        """Carry the event out; return what it came to, in the model's words."""
        return self._outcome(lambda: self._do(event))

    def _outcome(self, call: Callable[[], Outcome]) -> Outcome:
        try:
            return call()
        except Closed:
            return ("Closed",)
        except TimeoutError:
            return WAIT
        except WorkerDied as error:
            return ("WorkerDied", error.worker)
        except WorkerError as error:
            return ("WorkerError", error.worker)
        except RuntimeError as error:
            said = {"still busy": "busy", "outstanding": "too few"}
            return next(((word,) for part, word in said.items() if part in str(error)), (error,))

    def at_once(self, operation: Operation) -> Outcome:
        """Ask all envs by a call that waits; their results say what they answer."""
        return self._outcome(lambda: self._at_once(operation))

    def settle(self, env: int) -> None:
        """Read until `env` has answered all that it was asked."""
        self._read_until(lambda: self._pool._talk._state.oldest_unanswered(env) is None)

    def _at_once(self, operation: Operation) -> Outcome:
        td = TensorDict({"action": torch.zeros(len(self._asked), 1)}, [len(self._asked)])
        self.took_note(range(len(self._asked)))
        call = getattr(self._pool, AT_ONCE[operation])
        came = call() if operation is Operation.RESET else call(td)
        came = came[0] if isinstance(came, tuple) else came
        return ("got", *self._read(came if operation is Operation.RESET else came["next"]))

    def took_note(self, envs: Any) -> tuple[int, ...]:
        """Call the next requests by their numbers."""
        first = self._count
        for env in envs:
            self._asked[env].append(self._count)
            self._count += 1
        return tuple(range(first, self._count))

    def _do(self, event: Event) -> Outcome:
        match event:
            case Ask(operation, envs, alone):
                return self._ask(operation, envs, alone=alone)
            case Answer(n, well, by):
                assert by is None
                return (self._answer(self.env_of[n], WELL if well else BADLY),)
            case Lose(env):
                self._lose(env)
            case Close():
                for _, write in self._tokens:
                    os.write(write, WELL * 64)
                self._pool.close()
            case Receive(operation, least, _, limit):
                recv = getattr(self._pool, f"async_{ASYNC[operation]}_recv")
                return self._got(operation, recv(min_get=least, max_get=limit, timeout=0.0))
            case ReceiveAlone(operation, env):
                recv = getattr(self._pool, f"async_{ASYNC[operation]}_recv")
                return self._got(operation, recv(env_index=env, timeout=0.0))
            case GiveUp() | Retract() | TakeOver() | ReceiveGroup():
                raise AssertionError(f"not for a pool: {event}")
            case _:
                assert_never(event)
        return ()

    def _ask(self, operation: Operation, envs: tuple[int, ...], *, alone: bool) -> Outcome:
        send = getattr(self._pool, f"async_{ASYNC[operation]}_send")
        td = TensorDict({"action": torch.zeros(len(envs), 1)}, [len(envs)])
        if alone:
            send(td[0], env_index=envs[0])
        else:
            send(None if operation is Operation.RESET else td, env_index=list(envs))
        return ("asked", *self.took_note(envs))

    def _answer(self, env: int, token: bytes) -> bool:
        state = self._pool._talk._state
        oldest, dropped = state.oldest_unanswered(env), state.dropped
        self.let(env, token)
        self._read_until(lambda: state.oldest_unanswered(env) != oldest)
        return bool(state.dropped == dropped)

    def _lose(self, env: int) -> None:
        state = self._pool._talk._state
        if env in state.lost:
            return
        if self._pool.worker_pids:
            os.kill(self._pool.worker_pids[env], signal.SIGKILL)
        else:
            channel.close(self._pool.channels()["commands"][env])
            self.let(env, WELL * 64)  # its thread ends once it comes back
        if not state.closed:
            self._read_until(lambda: env in state.lost)

    def _read_until(self, holds: Any) -> None:
        """Read as a receiving call would, so that what comes of an event does not hang on time."""
        deadline = Deadline.after(ANSWER_S)
        talk = self._pool._talk
        with talk._changed:
            while not holds():
                assert not deadline.expired, "an env did not answer in time"
                talk._read_round(deadline)

    def _got(self, operation: Operation, came: Any) -> Outcome:
        stepped = came[0] if isinstance(came, tuple) else came
        shown = stepped if operation is Operation.RESET else stepped["next"]
        ns = self._read(shown)
        envs = torch.tensor(stepped["env_index"]).flatten().tolist()
        assert envs == [self.env_of[n] for n in ns]
        return ("got", *ns)

    def _read(self, td: TensorDictBase) -> list[int]:
        rows = td["observation"].reshape(-1, 2).tolist()
        return [self._asked[env][ordinal] for env, ordinal in rows]
