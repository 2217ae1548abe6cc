"""What runs inside a policy worker: build the policy, then one forward a command, until the owner hangs up."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from reference_impl.core import channel
from reference_impl.core.channel import ChannelClosed
from reference_impl.weights.messages import Acted, Started, failure_of
from reference_impl.weights.recipe import POLICY, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

    from reference_impl.core.channel import End
    from reference_impl.weights.messages import Failure, Forward
    from reference_impl.weights.scheme import WeightSyncScheme

_RECEIVER_END_WAIT_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetup:
    """The argument of a worker.

    Attributes:
        worker: index of the worker.
        policy_factory: builds the policy; taken out when it was called, so that a thread keeps
            alive nothing it refers to.
        end: the worker's end of its channel for commands and results.
        schemes: the worker's sides of the weight schemes, by model id: "policy", and attribute paths
            of the policy.
        request_id: what `Started` must carry.
    """

    worker: int
    policy_factory: list[Callable[[], nn.Module]]
    end: End
    schemes: Mapping[str, WeightSyncScheme]
    request_id: int

    def hand_over(self) -> None:
        """Drop this process's copies of what another process has got."""
        channel.abandon(self.end)
        for scheme in self.schemes.values():
            scheme.hand_over()


def run_in_process(setup: WorkerSetup) -> None:
    """Be a worker process."""
    torch.set_num_threads(
        1
    )  # the thread pool of a forked parent is gone: waiting for it would never end
    run(setup)


def run_in_thread(setup: WorkerSetup) -> None:
    """Be a worker thread; `sys.exit` ends it as it ends a process: its channels are closed."""
    with contextlib.suppress(SystemExit):
        run(setup)


def run(setup: WorkerSetup) -> None:
    """Be a worker until the owner hangs up; leaves no thread and no open channel."""
    try:
        if _start(setup):
            while True:
                channel.send(setup.end, _act(setup.schemes[POLICY], channel.recv(setup.end)))
    except ChannelClosed:  # the owner has hung up: there is nobody left to tell
        return
    finally:
        for scheme in setup.schemes.values():
            scheme.shutdown(_RECEIVER_END_WAIT_S)
        channel.close(setup.end)


def _start(setup: WorkerSetup) -> bool:
    failure: Failure | None = None
    try:
        policy = setup.policy_factory.pop()()
        for model_id, scheme in setup.schemes.items():
            model = policy if model_id == POLICY else resolve(policy, model_id)
            scheme.init_on_receiver(model_id=model_id, model=model, worker_idx=setup.worker)
        for scheme in setup.schemes.values():
            scheme.listen()
    except Exception as error:  # noqa: BLE001 - whatever the factory raises is the answer to the start
        failure = failure_of(error)
    channel.send(setup.end, Started(request_id=setup.request_id, failure=failure))
    return failure is None


def _act(scheme: WeightSyncScheme, command: Forward) -> Acted:
    failure: Failure | None = None
    try:
        version, value = scheme.target.act(command.observation)
    except Exception as error:  # noqa: BLE001 - whatever the policy raises is this request's answer
        version, value, failure = scheme.target.version, b"", failure_of(error)
    return Acted(request_id=command.request_id, version=version, value=value, failure=failure)
