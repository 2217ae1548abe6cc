"""The worker of a pool: its envs, one channel, one reply a call; the same in threads and processes."""

from __future__ import annotations

import contextlib
import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch
from torchrl.envs import EnvBase, TransformedEnv

from reference_impl.core import channel
from reference_impl.core.clock import NEVER
from reference_impl.pool.controls import Controls
from reference_impl.pool.env_params import ParamsVersion
from reference_impl.pool.messages import (
    Built,
    Call,
    Done,
    Failed,
    NotBuilt,
    Operation,
    Stop,
    Unreadable,
)
from reference_impl.pool.values import Values, copied, pack, unpack
from reference_impl.pool.worker_slot import WorkerSlot, WorkerSlots, open_slots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tensordict import TensorDictBase

    from reference_impl.core.bell import Bell
    from reference_impl.core.channel import End
    from reference_impl.pool.env_params import Update
    from reference_impl.pool.factories import Factory
    from reference_impl.pool.slot_wires import Wire


# Making an `EnvBase` sets and removes attributes of its class for a moment: two threads that make
# envs of one class at a time would see each other's.
_ONE_AT_A_TIME: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one env of a worker is made of.

    Attributes:
        factory: makes the env.
        updates: of its parameters, made before anything else is.
        seed: of the env; None: it is not seeded.
    """

    factory: Factory
    updates: tuple[Update, ...] = ()
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a worker is started with.

    Attributes:
        end: its end of the channel.
        parts: its envs.
        own_process: whether it has a process to itself; then what it sends is copied by the
            channel.
        wire: its part of what shared slots need, if there may be any.
        shows_version: whether the envs are to show the version of their parameters.
        inherited: ends of other channels that came along with a fork; they are let go.
        inherited_bells: those that are not for this worker, likewise.
    """

    end: End
    parts: tuple[Part, ...]
    own_process: bool
    wire: Wire | None = None
    shows_version: bool = False
    inherited: tuple[End, ...] = ()
    inherited_bells: tuple[Bell, ...] = ()


def serve(serving: Serving) -> None:
    """Build the envs and answer calls until asked to stop or the channel is over."""
    for end in serving.inherited:
        channel.abandon(end)
    for bell in serving.inherited_bells:
        bell.release()
    if serving.own_process:
        torch.set_num_threads(
            1
        )  # as many workers as cores: more threads would only wait for each other
    try:
        with contextlib.ExitStack() as made:  # whatever one raises, all of them are closed
            envs: list[Controls] = []
            for part in serving.parts:
                controls = _build(part, serving)
                if controls is None:
                    return
                made.callback(controls.env.close, raise_if_closed=False)
                envs.append(controls)
            slots = None if serving.wire is None else open_slots(serving.wire, serving.end)
            if slots is not None:
                for place, controls in enumerate(envs):
                    slots[place].shorten(controls.env)
            _answer_calls(envs, serving, slots)
    except channel.ChannelClosed:
        return  # the owner is gone or has no more use for this worker
    finally:
        channel.close(serving.end)


def _build(part: Part, serving: Serving) -> Controls | None:
    try:
        with contextlib.nullcontext() if serving.own_process else _ONE_AT_A_TIME:
            env = part.factory.make()
            if serving.shows_version:
                env = TransformedEnv(env, ParamsVersion())
            controls = Controls(env, part.factory.make)
            for update in part.updates:
                controls.params.update(update)
            if part.seed is not None:
                env.set_seed(part.seed)
        built = Built(
            specs=env.specs.clone(),
            batch_size=tuple(env.batch_size),
            reset_keys=tuple(env.reset_keys),
        )
        channel.send(serving.end, built)
    except channel.ChannelClosed:
        raise
    except Exception as error:  # noqa: BLE001 - the owner reports it
        cause, text = _describe(error)
        channel.send(serving.end, NotBuilt(cause=cause, traceback=text))
        channel.flush((serving.end,), (), NEVER)
        return None
    return controls


def _answer_calls(envs: Sequence[Controls], serving: Serving, slots: WorkerSlots | None) -> None:
    end, last = serving.end, [0] * len(envs)
    while True:
        if slots is None:
            channel.wait((end,), (), NEVER)
        else:
            _answer_in_slots(envs, serving, slots)
        # One message only if it was waited for: a slot may ring without one.
        while slots is None or end.has_message() or end.closed:
            message = _read(end)
            if isinstance(message, Stop):
                return
            # An env's ids only grow: else it is a call that was delivered twice.
            if message is not None and message.request > last[message.place]:
                last[message.place] = message.request
                with _failures_reported(serving, message):
                    _answer(envs[message.place], serving, message)
            if slots is None:
                break


def _answer_in_slots(envs: Sequence[Controls], serving: Serving, slots: WorkerSlots) -> None:
    """Wait until somebody is asked something, and answer what is asked through slots."""
    for place, controls in enumerate(envs):
        # Its resets know of no parameters.
        slots[place].takes_short_cut = not controls.params.waiting
    with _failures_reported(serving, slots):
        slots.wait(serving.end)
    while (slot := slots.asked()) is not None:
        with _failures_reported(serving, slot):
            call = slot.call()
            result = _execute(envs[slot.place], call, shared=False, begun=slot.begun())
            if slot.answer(call.operation, result):
                slots.tell(slot)
            else:
                slot.put_aside()
                done = Done(request=call.request, result=result, place=call.place)
                channel.send(serving.end, done)
    slots.rest()


def _read(end: End) -> Call | Stop | None:
    """The next message; None if it could not be rebuilt, which the owner is told."""
    try:
        message: Call | Stop = channel.recv(end)
    except channel.ChannelClosed:
        raise
    except Exception as error:  # noqa: BLE001 - the owner reports it: whatever rebuilding raises
        cause, text = _describe(error)
        channel.send(end, Unreadable(cause=cause, traceback=text))
        return None
    return message


def _answer(controls: Controls, serving: Serving, call: Call) -> None:
    result = _execute(controls, call, shared=not serving.own_process)
    if not serving.own_process:
        result = _by_value(result)
    channel.send(serving.end, Done(request=call.request, result=result, place=call.place))


@contextlib.contextmanager
def _failures_reported(serving: Serving, asked: Call | WorkerSlot | WorkerSlots) -> Iterator[None]:
    """Answer the request of `asked`, or its last one, with what the block raises."""
    try:
        yield
    except channel.ChannelClosed:
        raise
    except BaseException as error:
        if serving.own_process and not isinstance(error, Exception):
            raise  # an exit ends this process; in a thread it could only end the pool's worker
        cause, text = _describe(error)
        one = asked.last if isinstance(asked, WorkerSlots) else asked
        failed = Failed(request=one.request, cause=cause, traceback=text, place=one.place)
        if isinstance(one, WorkerSlot):
            one.put_aside()
        channel.send(serving.end, failed)


def _execute(
    controls: Controls, call: Call, *, shared: bool, begun: TensorDictBase | None = None
) -> Any:
    env, td = controls.env, None
    if call.values is not None:
        td = unpack(copied(call.values) if shared else call.values, env.device)
    match call.operation:
        case Operation.RESET:
            return pack(controls.reset(env.reset, td, call.kwargs))
        case Operation.PRIVATE_RESET:
            return pack(controls.reset(env._reset, td, call.kwargs))  # noqa: SLF001 - the verb that was asked for
        case Operation.STEP:
            return pack(env.step(_given(td)).get("next"))
        case Operation.PRIVATE_STEP:
            return pack(env._step(_given(td)))  # noqa: SLF001 - the verb that was asked for
        case Operation.STEP_AND_MAYBE_RESET:
            stepped = env.step(_given(td))
            following = copied(
                pack(stepped.get("next"))
            )  # an env may reuse its arrays in the reset
            root = env.step_mdp(stepped)
            if controls.params.waiting and env.any_done(root):
                controls.params.before_reset()
            return following, pack(env.maybe_reset(root))
        case Operation.STEP_THEN_RESET:
            return _step_then_reset(controls, _given(td), begun)
        case Operation.SET_SEED:
            return env.set_seed(**call.kwargs)
        case _:
            return controls.carry_out(call.operation, **call.kwargs)


def _step_then_reset(
    controls: Controls, td: TensorDictBase, begun: TensorDictBase | None
) -> tuple[Values, Values | None]:
    env, following = controls.env, begun
    if following is None:
        # Not `step`: the pool checks and completes shapes for all envs at once, as SerialEnv does.
        following = env._step(td)  # noqa: SLF001 - what SerialEnv asks of each env
    if controls.episodes.going_on(following) is not None:
        return pack(following), None
    EnvBase._complete_done(env.full_done_spec, following)  # noqa: SLF001 - before `done` is read
    if not any(bool(following.get(key).any()) for key in env.done_keys):
        return pack(following), None
    root = following.select(*env.done_keys)
    if not env.any_done(root):  # sets the masks; a `done` below another one does not count
        return pack(following), None
    kept = copied(pack(following))  # an env may reuse its arrays in the reset
    given = root.select(*env.reset_keys, strict=False)
    return kept, pack(controls.reset(env.reset, given, {}))


def _given(td: TensorDictBase | None) -> TensorDictBase:
    assert td is not None
    return td


def _by_value(result: Any) -> Any:
    if isinstance(result, Values):
        return copied(result)
    if isinstance(result, tuple):
        return tuple(_by_value(part) for part in result)
    return result


def _describe(error: BaseException) -> tuple[str, str]:
    lines = traceback.format_exception_only(error)
    return lines[-1].strip(), "".join(traceback.format_exception(error))
