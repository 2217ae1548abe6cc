"""The parameters of one env while it runs: switched whole or not at all, under a version.

This is the worker's side. Statistics of transforms are made anew on a second env of the same maker,
with the new parameters: the env that is being stepped does not move.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import torch
from torch.nn.parameter import UninitializedBuffer, is_lazy
from torchrl.data import Unbounded
from torchrl.envs import EnvBase, Transform

from reference_impl.pool.layers import holder, layers, transforms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tensordict import TensorDictBase

PARAMS_VERSION: Final = "env_params_version"
When = Literal["now", "reset"]
_STATISTICS: Final = "init_stats"
_FRAMES: Final = 256  # what statistics are made of where nothing is said


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinit:
    """How one kind of transform begins anew after a switch.

    Attributes:
        transform: the name of its class; all of that name, in their order.
        method: what is called on it. With `init_stats` statistics are made anew, whether there are
            some or not; they are made on a second env of the same maker.
        kwargs: of the call.
    """

    transform: str
    method: str = _STATISTICS
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """One switch of parameters.

    Attributes:
        version: of the parameters afterwards; they only grow.
        values: by name: attributes, or keyword arguments of `method`.
        method: what takes the values; None: they are set as attributes.
        reinit: which transforms begin anew afterwards, in this order.
        when: at once, or at the env's next reset.
    """

    version: int
    values: Mapping[str, Any]
    method: str | None = None
    reinit: tuple[Reinit, ...] = ()
    when: When = "now"


class EnvParams:
    """What is in force in one env, and what waits for its reset."""

    def __init__(self, env: EnvBase, make: Callable[[], EnvBase]) -> None:
        self._env = env
        self._make = make
        self._waiting: list[Update] = []
        self.version = 0
        self._shown = [each for each in transforms(env) if isinstance(each, ParamsVersion)]
        self._applied: list[Update] = []  # the last of each kind, for second envs

    @property
    def waiting(self) -> bool:
        """Whether something is to be done before the next reset."""
        return bool(self._waiting)

    def update(self, update: Update) -> int:
        """Switch, now or later; return the version in force.

        Raises:
            RuntimeError: an earlier update waits for a reset, and this one would overtake it.
            Exception: whatever the env or a transform raises; everything is as it was before.
        """
        if update.when == "reset":
            self._waiting.append(update)
        elif self._waiting:
            first = self._waiting[0].version
            raise RuntimeError(f"version {first} of the parameters still waits for the next reset")
        else:
            self._switch(update)
        return self.version

    def before_reset(self) -> None:
        """Make the switches that have waited for this.

        Raises:
            RuntimeError: one of them failed, and is dropped; the reset has not begun.
        """
        while self._waiting:
            update = self._waiting.pop(0)
            try:
                self._switch(update)
            except Exception as error:
                raise RuntimeError(
                    f"update_env_params to version {update.version}, which was to be made at this "
                    f"reset: {error!r}; version {self.version} stays in force"
                ) from error

    def _switch(self, update: Update) -> None:
        before = [_Saved(each) for each in (*layers(self._env), *transforms(self._env))]
        try:
            set_params(self._env, update)
            self._begin_anew(update)
        except BaseException:
            for each in before:
                each.restore()
            raise
        self._applied = [*superseding(self._applied, update), update]
        self.version = update.version
        for shown in self._shown:
            shown.version = update.version

    def _begin_anew(self, update: Update) -> None:
        second: EnvBase | None = None
        try:
            for one in update.reinit:
                named = _named(self._env, one.transform)
                if one.method != _STATISTICS:
                    for transform in named:
                        getattr(transform, one.method)(**one.kwargs)
                    continue
                if second is None:
                    second = self._second_env(update)
                for live, fresh in zip(named, _named(second, one.transform), strict=True):
                    _take_statistics(live, fresh, one.kwargs)
        finally:
            if second is not None:
                second.close(raise_if_closed=False)

    def _second_env(self, update: Update) -> EnvBase:
        """An env like the live one, with its statistics so far and the new parameters."""
        second = self._make()
        for each in (*self._applied, update):
            set_params(second, each)
        mine = [each for each in transforms(self._env) if not isinstance(each, ParamsVersion)]
        for live, fresh in zip(mine, transforms(second), strict=True):
            if hasattr(live, _STATISTICS) and not is_lazy(live.loc):
                fresh.loc, fresh.scale = live.loc.clone(), live.scale.clone()
        return second


def superseding(updates: Iterable[Update], update: Update) -> list[Update]:
    """Return the updates without those of which nothing is left after `update`.

    Statistics that one of them made are left, unless `update` makes them, too.
    """
    made = _made_anew(update)
    return [
        each
        for each in updates
        if each.method != update.method
        or not each.values.keys() <= update.values.keys()
        or not _made_anew(each) <= made
    ]


def _made_anew(update: Update) -> set[tuple[str, str]]:
    return {(each.transform, each.method) for each in update.reinit}


def set_params(env: EnvBase, update: Update) -> None:
    """Hand the values to whoever has the method, or the attributes, behind all wrappers."""
    if update.method is not None:
        getattr(holder(env, update.method), update.method)(**update.values)
        return
    owners = {name: holder(env, name) for name in update.values}  # all are there, or none is set
    for name, value in update.values.items():
        setattr(owners[name], name, value)


def _named(env: EnvBase, name: str) -> list[Any]:
    all_of_them = transforms(env)
    named = [each for each in all_of_them if type(each).__name__ == name]
    if not named:
        there = ", ".join(type(each).__name__ for each in all_of_them) or "none"
        raise LookupError(f"no transform {name!r} to begin anew: there are {there}")
    return named


def _take_statistics(live: Any, fresh: Any, kwargs: Mapping[str, Any]) -> None:
    # A transform that has statistics refuses to make others.
    fresh.loc, fresh.scale = UninitializedBuffer(), UninitializedBuffer()
    fresh.init_stats(**{"num_iter": _FRAMES, **kwargs})
    live.loc, live.scale = fresh.loc.clone(), fresh.scale.clone()


class _Saved:
    """The attributes of an object, to be put back: rebound ones, and containers and buffers."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing
        self._saved = {name: _copied(value) for name, value in _attributes(thing).items()}

    def restore(self) -> None:
        now = _attributes(self._thing)
        now.clear()
        now.update(self._saved)


def _attributes(thing: Any) -> dict[str, Any]:
    found: dict[str, Any] = getattr(thing, "__dict__", {})
    return found


def _copied(value: Any) -> Any:
    if type(value) is dict:
        return {key: _cloned(each) for key, each in value.items()}
    return value.copy() if type(value) in (list, set) else _cloned(value)


def _cloned(value: Any) -> Any:
    plain = isinstance(value, torch.Tensor) and not is_lazy(value)
    return value.clone() if plain and not isinstance(value, torch.nn.Parameter) else value


class ParamsVersion(Transform):
    """Shows the version of the parameters that are in force: int64 [*batch, 1], 0 at first.

    The root has the one under which it was made, and "next" the one under which the step ran.
    """

    def __init__(self) -> None:
        super().__init__(in_keys=[], out_keys=[])
        self.version = 0

    def _step(self, tensordict: TensorDictBase, next_tensordict: TensorDictBase) -> TensorDictBase:  # noqa: ARG002 - torchrl's signature
        return self._show(next_tensordict)

    def _reset(
        self,
        tensordict: TensorDictBase,  # noqa: ARG002 - torchrl's signature
        tensordict_reset: TensorDictBase,
    ) -> TensorDictBase:
        return self._show(tensordict_reset)

    def _show(self, td: TensorDictBase) -> TensorDictBase:
        return td.set(PARAMS_VERSION, torch.full((*td.batch_size, 1), self.version))

    def transform_observation_spec(self, observation_spec: Any) -> Any:
        """Add the entry."""
        spec = observation_spec.clone()
        spec[PARAMS_VERSION] = Unbounded((*spec.shape, 1), dtype=torch.int64)
        return spec


def reinits(given: Sequence[str | Reinit]) -> tuple[Reinit, ...]:
    """Return what is to begin anew; a name alone is that of a transform with statistics."""
    return tuple(one if isinstance(one, Reinit) else Reinit(transform=one) for one in given)
