"""What a sender was told at set-up: whose weights go to which worker, made on demand and never kept."""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch
from tensordict import TensorDict, TensorDictBase
from torch import nn

from reference_impl.weights.packing import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

DeviceMap: TypeAlias = Callable[[int, TensorDictBase], Source]
POLICY: Final = "policy"  # the model whose versions are counted, by torchrl's name
_STEP: Final = re.compile(r"([^.\[\]]+)|\[([^\]]+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """What `init_on_sender` was given; see there."""

    model_id: str | None = None
    context: Any = None
    weights: TensorDictBase | None = None
    model: nn.Module | None = None
    params_map: Mapping[int, TensorDictBase] | None = None
    devices: Sequence[torch.device] | None = None
    device_map_fn: DeviceMap | None = None
    num_workers: int | None = None


class Recipe:
    """Makes the weights of each worker when they are asked for.

    Attributes:
        num_workers: how many workers there are.
        uniform: whether all of them are given the same.

    Raises:
        ValueError: arguments contradict each other, or do not say whose weights are meant.
        TypeError: what has the weights is no module.
        AttributeError: the context has no such model.
    """

    def __init__(self, arguments: Arguments) -> None:
        _check(arguments)
        self._given = arguments
        self._context = None if arguments.context is None else weakref.ref(arguments.context)
        if self._context is not None:
            self._given = Arguments(model_id=arguments.model_id)
        self.num_workers = _num_workers(arguments)
        if self.num_workers < 1:
            raise ValueError(f"num_workers must be at least 1, got {self.num_workers}")
        self.uniform = arguments.params_map is None and arguments.device_map_fn is None
        if self._context is not None:
            self.uniform = self._factories() is None
        if self.uniform:
            self.base()  # looked up now: what is not there is the caller's mistake

    def base(self) -> Source:
        """Return what is sent when nothing else is given, to every worker alike.

        Raises:
            RuntimeError: the context is gone, or each worker has weights of its own.
            TypeError, AttributeError: as at set-up.
        """
        given = self._given
        if self._context is not None:
            model = model_of(self._living(), given.model_id)
            if not isinstance(model, nn.Module):
                raise TypeError(
                    f"model {given.model_id!r} must be a Module, got {type(model).__name__}"
                )
            return model
        source = given.weights if given.model is None else given.model
        if source is None:
            raise RuntimeError("each worker has weights of its own: there are none for all")
        return source

    def sources(self, workers: Iterable[int]) -> Iterator[tuple[tuple[int, ...], Source]]:
        """Yield the weights of `workers`, each once with all that get it; the next is made when it is asked for.

        Raises:
            ValueError: a worker has none.
            Exception: whatever the caller's map, factory or context raises.
        """
        given, workers = self._given, tuple(workers)
        factories = None if self._context is None else self._factories()
        if given.params_map is not None:
            yield from grouped(workers, given.params_map)
        elif given.device_map_fn is not None:
            base = self.base()
            weights = TensorDict.from_module(base).data if isinstance(base, nn.Module) else base
            for worker in workers:
                yield (worker,), given.device_map_fn(worker, weights)
        elif factories is not None:
            for group, factory in grouped(workers, dict(enumerate(factories))):
                yield group, factory()
        else:
            yield workers, self.base()

    def _living(self) -> Any:
        context = None if self._context is None else self._context()
        if context is None:
            raise RuntimeError("the context of the scheme is gone: give send() the weights")
        return context

    def _factories(self) -> Sequence[Callable[[], nn.Module]] | None:
        """The context's policy factories, if it has no policy of its own."""
        context = self._living()
        factories = getattr(context, "policy_factory", None)
        if self._given.model_id != POLICY or not factories or not all(factories):
            return None
        try:
            return None if model_of(context, POLICY) is not None else factories
        except (AttributeError, ValueError):
            return factories  # type: ignore[no-any-return]  # the context's own


def model_of(context: Any, model_id: str | None) -> Any:
    """Return what `context` calls `model_id`: by its own `get_model`, else an attribute path such as `postproc.net[0]`.

    Raises:
        AttributeError: it has no such attribute.
        Exception: what its `get_model` raises.
    """
    if hasattr(context, "get_model"):
        return context.get_model(model_id)
    return resolve(context, str(model_id))


def resolve(root: Any, path: str) -> Any:
    """Follow an attribute path, with items in brackets: `postproc.nets[0]`, `schemes['policy']`.

    Raises:
        AttributeError, LookupError: a step of it does not exist.
    """
    found = root
    for name, item in _STEP.findall(path):
        if name:
            found = getattr(found, name)
        else:
            bare = item.strip("'\"")
            found = found[int(bare) if bare == item and item.isdecimal() else bare]
    return found


def _check(a: Arguments) -> None:
    if a.params_map is not None:
        _check_params_map(a)
    elif a.context is not None:
        if a.model_id is None:
            raise ValueError("model_id must be provided if context is provided")
        _exclude(a, "context", "model", "weights", "devices", "device_map_fn")
    elif a.model is not None:
        if not isinstance(a.model, nn.Module):
            raise TypeError(f"model must be a Module, got {type(a.model).__name__}")
        _exclude(a, "model", "weights")
    elif a.weights is None:
        raise ValueError(
            "either params_map, model_id + context, or model or weights with num_workers or devices"
            " must be provided"
        )
    if a.device_map_fn is not None:
        _exclude(a, "device_map_fn", "devices")
        if a.num_workers is None:
            raise ValueError("num_workers must be provided with device_map_fn")


def _check_params_map(a: Arguments) -> None:
    params_map = by_worker(a.params_map)
    if params_map is None or not all(isinstance(w, TensorDictBase) for w in params_map.values()):
        raise ValueError("params_map must be a dict[int, TensorDictBase]")
    others = ("model_id", "context", "weights", "model", "devices", "device_map_fn", "num_workers")
    _exclude(a, "params_map", *others)
    if sorted(params_map) != list(range(len(params_map))):
        raise ValueError(f"params_map must name workers from 0 on, got {sorted(params_map)}")


def _exclude(a: Arguments, given: str, *others: str) -> None:
    for name in others:
        if getattr(a, name) is not None:
            raise ValueError(f"{name} cannot be provided if {given} is provided")


def by_worker(weights: object) -> dict[int, Any] | None:
    """Return `weights` if they are weights by worker, else None."""
    if not isinstance(weights, dict) or not weights:
        return None
    return weights if all(type(worker) is int for worker in weights) else None


def _num_workers(a: Arguments) -> int:
    if a.params_map is not None:
        return len(a.params_map)
    devices = a.devices
    if a.context is not None:
        devices = getattr(a.context, "policy_device", None)
        if not isinstance(devices, list | tuple):  # one for all, or none is named
            devices = [torch.device("cpu")] * int(a.context.num_workers)
    if devices is None:
        if a.num_workers is None:
            raise ValueError("num_workers or devices must be provided with model or weights")
        return a.num_workers
    if a.num_workers not in (None, len(devices)):
        raise ValueError(f"num_workers is {a.num_workers}, but there are {len(devices)} devices")
    return len(devices)


def grouped(
    workers: tuple[int, ...], entries: Mapping[int, Any]
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield each entry once, with all workers whose entry is that very object.

    Raises:
        ValueError: a worker has none.
    """
    missing = [worker for worker in workers if worker not in entries]
    if missing:
        raise ValueError(f"there are no weights for workers {missing}")
    ordered = sorted(workers, key=lambda worker: id(entries[worker]))
    for _, group in itertools.groupby(ordered, key=lambda worker: id(entries[worker])):
        members = tuple(group)
        yield members, entries[members[0]]
