"""Runs the verbs of the weights port."""

from __future__ import annotations

from typing import Any

from harness.engine.loader import backend_of
from harness.engine.session import Session
from harness.model.plain import from_plain
from harness.ports import weights as port


class WeightsSession(Session):
    """One trainer with its workers."""

    _sync: Any = None
    _spoilt: tuple[str, str] | None = None

    def subject(self) -> object:
        """The trainer's side."""
        return self._sync

    def open(self) -> None:
        """Build workers over probe policies."""
        from harness.payloads.policy import VersionedPolicyFactory

        setup = from_plain(port.WeightsSetup, self.request.setup)
        found = backend_of(self.request.adapter).weights
        assert found is not None
        sends = [verb.within_s for verb in self.request.verbs() if verb.do == "send"]
        deadline_s = min(sends, default=5.0) * self.request.time_scale
        factory = VersionedPolicyFactory(numel=setup.numel, link=self.link)
        self._sync = found.make(setup, factory, deadline_s)

    def drop(self) -> None:
        """Forget them."""
        self._sync = None

    def arguments(self, verb: Any) -> dict[str, Any]:
        """Versions, and whether a fault spoils the send."""
        match verb:
            case port.Send():
                defect = None
                if self._spoilt is not None:
                    fault, defect = self._spoilt
                    self._spoilt = None
                    self.stage.record(
                        fault, "effect", f"send of version {verb.version} has {defect}"
                    )
                return {"version": verb.version, "how": verb.how, "defect": defect}
            case port.Mutate():
                return {"version": verb.version}
            case _:
                return {}

    def perform(self, verb: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call the trainer's side."""
        match verb:
            case port.Forward():
                return {"rows": [_row(stamp) for stamp in self._sync.forward()]}
            case port.Mutate():
                self._sync.mutate(verb.version)
            case port.Send():
                fresh = verb.how == "fresh"
                self._sync.send(verb.version, fresh=fresh, defect=arguments["defect"])
            case port.Shutdown():
                self._sync.close()
            case _:
                raise AssertionError(f"no such verb: {verb!r}")
        return {}

    def spoil_next_send(self, fault: str, defect: str) -> None:
        """Have the next send carry weights that the worker cannot apply."""
        self._spoilt = (fault, defect)


def _row(stamp: port.Stamp) -> dict[str, int]:
    return {
        "worker": stamp.worker,
        "first": stamp.first,
        "last": stamp.last,
        "buffer": stamp.buffer,
    }
