"""The model of a worker, to which a snapshot is applied whole or not at all, never inside a forward."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from reference_impl.core import wire
from reference_impl.weights import packing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import nn

_MARK: Final = "locked_by_weights_target"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Original:
    module: nn.Module
    name: str
    tensor: torch.Tensor
    memory: torch.Tensor


class Target:
    """A model whose forward and whose weights exclude each other.

    Wraps `model.forward` on the instance, so that every way of calling the model holds the lock for
    the whole of it.

    Attributes:
        model: the wrapped model.
        version: weights version that it holds; -1 until the first snapshot was applied.

    Raises:
        ValueError: the model is wrapped already: two locks exclude nothing.
    """

    def __init__(self, model: nn.Module) -> None:
        if getattr(model.forward, _MARK, False):
            raise ValueError("the model is another worker's: a factory must build one of its own")
        self.model = model
        self.version = -1
        # Guards the model's tensors and `version`: a snapshot applied between two reads of one forward would tear
        # it. Reentrant, because a policy may call itself.
        self._lock = threading.RLock()
        self._undo: packing.Packer | None = None
        self._undo_nbytes = 0
        self._torn = False
        model.forward = self._locked(model.forward)

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
        """Copy a snapshot into the model, between two forwards.

        Through `model.load_state_dict`, so that the hooks of a module are honoured.

        Args:
            version: weights version of the snapshot.
            layout: what lies where in `buffer`.
            buffer: uint8; given up by the caller, since a module may keep what it is given to load.

        Raises:
            WeightsMismatch: the snapshot does not fit; the model was not touched.
            Exception: whatever the model raised while it loaded; it holds its old weights again,
                whole.
        """
        with self._lock, torch.no_grad():
            model = packing.model_tensors(self.model)
            packing.check(layout, model)
            tensors = packing.views(layout, buffer)
            originals, old = self._save()
            self._torn = True
            try:
                self._load(tensors, model.transient)
            except BaseException:
                _restore(originals, old)
                self._torn = False
                raise
            self._torn = False
            self.version = version

    def _load(
        self, tensors: dict[str, torch.Tensor], transient: Mapping[str, torch.Tensor]
    ) -> None:
        for name, buffer in transient.items():
            if name in tensors:
                buffer.copy_(tensors.pop(name))
        self.model.load_state_dict(tensors)

    def _locked(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(forward)  # torchrl looks at the signature of a policy
        def locked_forward(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                if self._torn:
                    raise RuntimeError(
                        "torn weights: the model failed to load new ones, then to take its old ones back"
                    )
                return forward(*args, **kwargs)

        setattr(locked_forward, _MARK, True)
        return locked_forward

    def _save(self) -> tuple[list[_Original], Mapping[str, torch.Tensor]]:
        """Copy every tensor of the model into memory kept for it, from which a failed load is undone."""
        originals = [
            _Original(module=module, name=name, tensor=tensor, memory=tensor.detach())
            for module in self.model.modules()
            for named in (module.named_parameters, module.named_buffers)
            for name, tensor in named(recurse=False)
        ]
        tensors = {str(index): original.memory for index, original in enumerate(originals)}
        layout = packing.layout_of(tensors)
        if self._undo is None or self._undo_nbytes < layout.nbytes:
            self._undo_nbytes = layout.nbytes
            self._undo = packing.Packer(torch.empty(layout.nbytes, dtype=torch.uint8))
        return originals, self._undo.write(tensors, layout)


def _restore(originals: list[_Original], old: Mapping[str, torch.Tensor]) -> None:
    """Give each module its own tensors back, each tensor its own memory, and the memory its old values."""
    for original, values in zip(originals, old.values(), strict=True):
        original.tensor.data = original.memory
        original.memory.copy_(values)
        if getattr(original.module, original.name, None) is not original.tensor:
            setattr(original.module, original.name, original.tensor)
