"""Sets up one more scheme in torchrl's vocabulary, from weights by worker, with forked workers of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from tensordict import TensorDict

from harness.ports.weights import PolicyFactory, Stamp


def held_after_set_up(
    make_scheme: Callable[[], Any], factory: PolicyFactory, versions: Sequence[int]
) -> list[Stamp]:
    """What each worker's model holds once a scheme has connected it.

    Raises:
        Exception: whatever the scheme raises, on either side.
    """
    scheme = make_scheme()
    weights = (TensorDict(factory.weights(version, None), batch_size=[]) for version in versions)
    scheme.init_on_sender(params_map=dict(enumerate(weights)))
    context = multiprocessing.get_context("fork")  # noqa: TID251 - a scheme does not start the workers that it is for
    workers = []
    try:
        for worker in range(len(versions)):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_hold, args=(scheme, factory, worker, theirs))
            process.start()
            theirs.close()
            workers.append((process, ours))
        scheme.connect()
        return [_taken(ours) for _, ours in workers]
    finally:
        for process, ours in workers:
            process.kill()
            process.join()
            process.close()
            ours.close()
        scheme.shutdown()


def _taken(answers: Connection) -> Stamp:
    held: Stamp | Exception = answers.recv()  # the operation's deadline bounds it
    if isinstance(held, Exception):
        raise held
    return held


def _hold(scheme: Any, factory: PolicyFactory, worker: int, answers: Connection) -> None:
    """Be a worker until it is killed, or alone."""
    try:
        model = factory()
        scheme.init_on_receiver(model_id="policy", model=model, worker_idx=worker)
        scheme.connect(worker_idx=worker)
        answers.send(_stamp(worker, model.state_dict()))
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller raises it
        answers.send(error)
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])


def _stamp(worker: int, weights: dict[str, Any]) -> Stamp:
    """What the tensors say: the ends of the large one, and of the others whichever disagrees."""
    first, last = (round(weights["large"][at].item()) for at in (0, -1))
    rest = [round(value) for name in ("small", "stamp") for value in weights[name].tolist()]
    buffer = next((value for value in rest if value != first), first)
    return Stamp(worker=worker, first=first, last=last, buffer=buffer)
