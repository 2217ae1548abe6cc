"""The model of a worker, to which a snapshot is applied whole or not at all, never inside a forward."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

from reference_impl.core import wire
from reference_impl.weights import packing
from reference_impl.weights.plan import Plan
from reference_impl.weights.undo import Undo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_FLIPS_MAX: Final = 4  # the slots, or private copies, that versions come in by turns


class _LockedForward:
    """The forward of one model, which holds its lock; a copy of the model gets one without."""

    def __init__(self, target: Target, model: nn.Module, lock: threading.RLock) -> None:
        self.forward: Callable[..., Any] = model.forward
        self.__wrapped__ = self.forward  # torchrl looks at the signature of a policy
        self.lock = lock
        self.target = weakref.ref(target)
        self.model = weakref.ref(model)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.lock:
            target = self.target()
            if target is not None and target.torn:
                raise RuntimeError(f"torn weights: {target.torn}")
            return self.forward(*args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Callable[..., Any]:
        copy = memo.get(id(self.model()))
        # Bound to the copy: the original's lock guards nothing of it, nor does it run on its weights.
        return self.forward if copy is None else MethodType(type(copy).forward, copy)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self.model(), "forward")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flip:
    """How the tensors of a plain model become those of a snapshot: each gets another memory."""

    layout: packing.Layout
    memory: int
    pairs: list[tuple[torch.Tensor, torch.Tensor]]
    others: list[torch.Tensor]  # of the model, and not in the snapshot
    dtypes: list[torch.dtype]

    def fits(self, layout: packing.Layout, buffer: torch.Tensor) -> bool:
        return self.layout is layout and self.memory == buffer.data_ptr()


class Target:
    """A model whose forward and whose weights exclude each other.

    Wraps `model.forward` on the instance, so that every way of calling the model holds the lock for
    the whole of it.

    Attributes:
        model: the wrapped model.
        version: weights version that it holds; -1 until the first snapshot was applied.
        torn: why the model must not act, if it must not; else "".

    Raises:
        ValueError: the model is wrapped already: two locks exclude nothing.
    """

    def __init__(self, model: nn.Module) -> None:
        if isinstance(model.__dict__.get("forward"), _LockedForward):
            message = "the model is another worker's: a factory must build one of its own"
            raise ValueError(message)  # noqa: TRY004 - it is a module, but in the wrong hands
        self.model = model
        self.version = -1
        # Guards the model's tensors and `version`: a snapshot applied between two reads of one forward would tear
        # it. Reentrant, because a policy may call itself.
        self._lock = threading.RLock()
        self.torn = ""
        self._plan = Plan(model)
        self._flips: list[_Flip] = []
        self._in_force: _Flip | None = None
        self._borrows = False
        model.forward = _LockedForward(self, model, self._lock)

    def release(self) -> None:
        """Let the model go, with the weights that it has."""
        with self._lock:
            if self._borrows:
                _give_memory(self._plan.tensors.values())
                self._borrows = False
        forward = self.model.__dict__.pop("forward", None)
        if isinstance(forward, _LockedForward) and forward.forward != self.model.forward:
            self.model.forward = forward.forward  # it had one of its own before

    def act(self, observation: bytes) -> tuple[int, bytes]:
        """Call the model without gradients; return the weights version that the whole call ran with, and its result.

        Both as `wire` bytes, made under the lock: a result may share memory with the weights.

        Raises:
            Exception: whatever the model, or pickling its result, raises.
        """
        given = wire.loads(observation)
        with self._lock, torch.no_grad():
            return self.version, wire.dumps(self.model(given))

    def apply(self, version: int, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Have the model act on a snapshot, between two forwards.

        The tensors of a plain model on the CPU get the snapshot's memory for their own. Any other
        model loads a copy through its `load_state_dict`, so that its hooks are honoured.

        Args:
            version: weights version of the snapshot.
            layout: what lies where in `buffer`.
            buffer: uint8; not written to by anybody until two more snapshots were applied.

        Raises:
            WeightsMismatch: the snapshot does not fit; the model was not touched.
            Exception: whatever the model raised while it loaded; it holds its old weights again,
                whole.
        """
        with self._lock, torch.no_grad():
            if self.version < 0:
                self._materialise()
            if self._plan.refresh():
                self._flips.clear()
                self._in_force = None
            if self._plan.plain and all(t.is_cpu for t in self._plan.tensors.values()):
                self._flip(layout, buffer)
            else:
                self._load_whole(layout, buffer)
            self.version, self.torn = version, ""

    def apply_unsent(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        """Do what `apply` does, under the version that is held: one that is sent meanwhile comes before it or after.

        Raises:
            Exception: as `apply`.
        """
        with self._lock:
            self.apply(self.version, layout, buffer)

    def _flip(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        flip = next((flip for flip in self._flips if flip.fits(layout, buffer)), None)
        if flip is None or flip.dtypes != [tensor.dtype for tensor, _ in flip.pairs]:
            flip = self._flip_for(layout, buffer)
        if flip.others and (self._in_force is None or self._in_force.layout is not layout):
            _give_memory(flip.others)
        self._borrows = True
        try:
            for tensor, view in flip.pairs:
                tensor.data = view
        except BaseException:
            self.torn = "some are of one version, some of another"
            for tensor, view in self._in_force.pairs if self._in_force else ():
                tensor.data = view
            self.torn = "" if self._in_force else self.torn
            raise
        self._in_force = flip

    def _flip_for(self, layout: packing.Layout, buffer: torch.Tensor) -> _Flip:
        tensors, left_out = self._plan.tensors, self._plan.transient
        saved = {name: t for name, t in tensors.items() if name not in left_out}
        transient = {name: tensors[name] for name in left_out}
        packing.check(layout, packing.ModelTensors(saved=saved, transient=transient))
        views = packing.views(layout, buffer)
        flip = _Flip(
            layout=layout,
            memory=buffer.data_ptr(),
            pairs=[(tensors[name], view) for name, view in views.items()],
            others=[tensor for name, tensor in tensors.items() if name not in views],
            dtypes=[view.dtype for view in views.values()],
        )
        self._flips = [*self._flips[1 - _FLIPS_MAX :], flip]
        return flip

    def _load_whole(self, layout: packing.Layout, buffer: torch.Tensor) -> None:
        model = packing.model_tensors(self.model)
        packing.check(layout, model)
        # A copy: a module may keep what it is given to load.
        tensors: dict[str, Any] = packing.views(layout, buffer.clone())
        if self._borrows:  # it would load into memory that is given to others, and forgotten
            _give_memory([*self.model.parameters(), *self.model.buffers()])
            self._borrows = False
        undo, before = Undo(self.model), self.torn
        self.torn = "the model failed to load new ones, then to take its old ones back"
        try:
            self._load({**tensors, **layout.extra_state()}, model.transient)
        except BaseException:
            undo.undo()
            self.torn = before
            raise
        self._in_force = None

    def _load(self, weights: dict[str, Any], transient: Mapping[str, torch.Tensor]) -> None:
        for name, buffer in transient.items():
            if name in weights:
                buffer.copy_(weights.pop(name))
        self.model.load_state_dict(weights)

    def _materialise(self) -> None:
        """Give tensors that are on no device a place on the CPU; a model on `meta` has no weights yet."""
        made: dict[int, torch.Tensor] = {}
        for module in self.model.modules():
            for kind in (module._parameters, module._buffers):  # noqa: SLF001 - their own, not what they are wrapped in
                for name, tensor in kind.items():
                    if tensor is not None and tensor.is_meta:
                        if id(tensor) not in made:
                            made[id(tensor)] = _on_cpu(tensor)
                        setattr(module, name, made[id(tensor)])
        if made:
            self.torn = "none have come yet"


def _give_memory(tensors: Iterable[torch.Tensor]) -> None:
    """Give each tensor its values in memory of its own; tied ones, which are one object, stay so."""
    for tensor in {id(tensor): tensor for tensor in tensors}.values():
        tensor.data = tensor.data.clone()


def _on_cpu(tensor: torch.Tensor) -> torch.Tensor:
    memory = torch.empty_like(tensor, device="cpu")
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(memory, requires_grad=tensor.requires_grad)
    return memory
