"""The calls that reach into running envs: methods, attributes, parameters, state.

They go through wrappers to whoever has what is named, and do not disturb steps: an env that works
on one answers after it. What they return is a copy, in threads as in processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from reference_impl.core.errors import WorkerError
from reference_impl.pool.async_calls import AsyncCalls
from reference_impl.pool.controls import packed, unpacked
from reference_impl.pool.env_params import Update, When, reinits, superseding
from reference_impl.pool.messages import Operation

if TYPE_CHECKING:
    from reference_impl.pool.env_params import Reinit


class EnvParamsError(WorkerError):
    """Some envs did not take new parameters: those keep what they had before.

    Attributes:
        versions: by env, which version is in force in each that was asked, if that is known.
        failures: by env, why it did not take them.
    """

    def __init__(self, versions: dict[int, int], failures: dict[int, WorkerError]) -> None:
        self.versions = versions
        self.failures = failures
        first = failures[min(failures)]
        super().__init__(first.worker, first.operation, first.cause, first.traceback, first.env)

    def __str__(self) -> str:
        head, *rest = super().__str__().split("\n", 1)
        others = [f"env {env} ({one.cause})" for env, one in sorted(self.failures.items())[1:]]
        told = f"; so did {', '.join(others)}" if others else ""
        force = ", ".join(f"{env}: {version}" for env, version in sorted(self.versions.items()))
        return "\n".join((f"{head}{told}; versions in force by env: {{{force}}}", *rest))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.versions, self.failures)


class ControlCalls(AsyncCalls):
    """The half of a pool's public face that talks to its envs, not to their task."""

    _params_version = 0
    _params_log: dict[int, list[Update]]

    def call(
        self, name: str, *args: Any, env_index: int | Sequence[int] | None = None, **kwargs: Any
    ) -> Any:
        """Call a method of each env; return a tuple of what they return.

        Args:
            name: of a method; of an attribute, its value is returned.
            args: of the call, the same for all.
            env_index: which envs, and their order; all by default. For an int, its result alone.
            kwargs: of the call.

        Raises:
            WorkerError: an env failed, or what it returned cannot be pickled; the others were
                called too, and all stay usable.
        """
        given = {"name": name, "args": args, "kwargs": kwargs}
        return self._controlled(Operation.CALL, given, env_index)

    def get_attr(self, name: str, env_index: int | Sequence[int] | None = None) -> Any:
        """Return a tuple of an attribute of each env; for an int, that env's alone.

        Raises:
            WorkerError: an env has no such attribute, or it cannot be pickled.
        """
        return self._controlled(Operation.GET_ATTR, {"name": name}, env_index)

    def set_attr(
        self, name: str, values: Any, env_index: int | Sequence[int] | None = None
    ) -> None:
        """Set an attribute that each env has, wherever behind its wrappers it is.

        Args:
            name: of the attribute.
            values: one for all, or a list or tuple of one for each.
            env_index: which envs; all by default.

        Raises:
            ValueError: there are more or fewer values than envs.
            WorkerError: an env has no such attribute, or does not let it be set.
        """
        envs = self._envs(env_index)
        if not isinstance(values, list | tuple):
            values = [values] * len(envs)
        _one_each(values, envs, "values")
        given = {
            env: {"name": name, "value": value} for env, value in zip(envs, values, strict=True)
        }
        self._ask_all(Operation.SET_ATTR, given)

    def update_env_params(
        self,
        values: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        env_index: int | Sequence[int] | None = None,
        method: str | None = None,
        reinit_transforms: Sequence[str | Reinit] = (),
        when: When = "now",
    ) -> dict[int, int]:
        """Switch the parameters of running envs; return by env the version that is in force.

        A switch falls between two steps of an env: after those that are in flight, or before its
        next reset. Within an env it is whole or not at all: if it raises, the attributes of the env
        and of its transforms are put back.

        Args:
            values: by name; one mapping for all, or one for each env.
            env_index: which envs; all by default.
            method: of the env or a wrapper, called with the values as keyword arguments; None: they
                are set as attributes, which have to be there.
            reinit_transforms: which transforms begin anew after that, in this order: the name of a
                class (statistics as of `ObservationNorm` are made anew), or `Reinit`.
            when: "now" or "reset".

        Raises:
            ValueError: an argument has a value that is not supported; nothing was sent.
            EnvParamsError: an env failed; it names each that did, and says which version is in
                force in which env. With "reset" it is the reset that raises `WorkerError`.
        """
        if when not in get_args(When):
            raise ValueError(f"when must be one of {get_args(When)}, got {when!r}")
        envs = self._envs(env_index)
        update = partial(
            Update,
            version=self._params_version + 1,
            method=method,
            reinit=reinits(reinit_transforms),
            when=when,
        )
        if isinstance(values, Mapping):  # made, and packed, once
            each = [update(values=dict(values))] * len(envs)
        else:
            each = [update(values=dict(mine)) for mine in values]
        _one_each(each, envs, "values")
        self._params_version += 1
        updates = dict(zip(envs, each, strict=True))
        done, failed = self._ask_envs(Operation.UPDATE_ENV_PARAMS, updates)
        for env in done:
            log = superseding(self._params_log.get(env, ()), updates[env])
            # A restart is a reset: what waits for one is made at once.
            made = updates[env] if when == "now" else replace(updates[env], when="now")
            self._params_log[env] = [*log, made]
        if failed:
            lost = self._talk.lost()
            kept = [env for env in failed if env not in lost]
            versions = done | self._ask_envs(Operation.ENV_PARAMS_VERSIONS, dict.fromkeys(kept))[0]
            raise EnvParamsError(versions, failed)
        return done

    def env_params_versions(self) -> tuple[int, ...]:
        """Return which version of the parameters is in force in each env: 0 before any update."""
        versions: tuple[int, ...] = self._controlled(Operation.ENV_PARAMS_VERSIONS, None, None)
        return versions

    def state_dict(self) -> dict[str, Any]:
        """Return the envs' own `state_dict`, by "worker0" and so on."""
        states = self._controlled(Operation.STATE_DICT, None, None)
        return {f"worker{env}": state for env, state in enumerate(states)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load what `state_dict` returned, or one env's own state into all of them.

        Raises:
            KeyError: it has the state of some envs only.
            WorkerError: an env did not take its state.
        """
        envs = range(self.num_envs)
        given = dict.fromkeys(envs, state_dict)
        if "worker0" in state_dict:
            given = {env: state_dict[f"worker{env}"] for env in envs}
        self._ask_all(Operation.LOAD_STATE_DICT, given)

    def _controlled(
        self, operation: Operation, given: Any, env_index: int | Sequence[int] | None
    ) -> Any:
        envs = self._envs(env_index)
        done = self._ask_all(operation, dict.fromkeys(envs, given))
        return done[env_index] if isinstance(env_index, int) else tuple(done[env] for env in envs)

    def _ask_all(self, operation: Operation, given: Mapping[int, Any]) -> dict[int, Any]:
        done, failed = self._ask_envs(operation, given)
        if failed:
            raise failed[min(failed)]
        return done

    def _ask_envs(
        self, operation: Operation, given: Mapping[int, Any]
    ) -> tuple[dict[int, Any], dict[int, WorkerError]]:
        data: dict[int, bytes] = {}  # before any is sent, and once what several are given
        for each in given.values():
            if id(each) not in data:
                data[id(each)] = packed(each)
        kwargs = {env: {"data": data[id(each)]} for env, each in given.items()}
        done: dict[int, Any] = {}
        failed: dict[int, WorkerError] = {}
        for env, reply in self._talk.ask_each(operation, kwargs).items():
            if isinstance(reply, WorkerError):
                failed[env] = reply
            else:
                done[env] = unpacked(reply.result)
        return done, failed


def _one_each(values: Sequence[Any], envs: Sequence[int], name: str) -> None:
    if len(values) != len(envs):
        raise ValueError(f"{name} must be one for all envs or {len(envs)}, got {len(values)}")
