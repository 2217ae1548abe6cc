"""Runs the verbs of the weights port."""

from __future__ import annotations

from typing import Any

from harness.engine.aside import repeated_beside
from harness.engine.loader import backend_of
from harness.engine.session import Session
from harness.ports import weights as port
from harness.ports import weights_verbs as verbs

BOUNDED = frozenset({"send", "wait_async", "shutdown"})  # what a backend's own bound has to fit
TORN_MAX = 8  # torn forwards of a race that are journalled; all are counted


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

        setup = self.scaled_setup(port.WeightsSetup)
        found = backend_of(self.request.adapter).weights
        assert found is not None
        bounded = [verb.within_s for verb in self.request.verbs() if verb.do in BOUNDED]
        deadline_s = min(bounded, default=5.0) * self.request.time_scale
        factory = VersionedPolicyFactory(
            numel=setup.numel,
            link=self.link,
            reads_all=setup.reads == "all",
            valued=setup.models == "policy_and_value",
            hooks=self.hooks(),
        )
        self._sync = found.make(setup, factory, deadline_s)

    def drop(self) -> None:
        """Forget them."""
        self._sync = None

    def arguments(self, verb: Any) -> dict[str, Any]:
        """Versions, targets, and whether a fault spoils the send."""
        match verb:
            case verbs.Send():
                return {
                    "version": verb.version,
                    "how": verb.how,
                    "defect": self._defect_of(verb),
                    "workers": _listed(verb.workers),
                    "model": verb.model,
                }
            case verbs.SendAsync():
                return {"version": verb.version, "how": "fresh", "defect": self._defect_of(verb)}
            case verbs.Mutate():
                return {"version": verb.version}
            case verbs.Forward():
                return {"workers": _listed(verb.workers)}
            case verbs.RestartWorker():
                return {"worker": verb.worker}
            case verbs.Misused():
                return {"what": verb.what, "refusable": True}
            case verbs.SetUp():
                return {"versions": list(verb.versions)}
            case verbs.Race():
                return {"sends": verb.sends, "versions_from": verb.versions_from}
            case _:
                return {}

    def perform(self, verb: Any, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call the trainer's side."""
        self.allow(self._sync, verb.within_s)
        match verb:
            case verbs.Forward() | verbs.SetUp():
                return {"rows": [_row(stamp) for stamp in self._stamps(verb)]}
            case verbs.Race():
                return self._race(verb)
            case verbs.Mutate():
                self._sync.mutate(verb.version)
            case verbs.Send():
                self._sync.send(
                    verb.version,
                    fresh=verb.how == "fresh",
                    defect=arguments["defect"],
                    workers=verb.workers,
                    model=verb.model,
                )
            case verbs.SendAsync():
                self._sync.send_async(verb.version, defect=arguments["defect"])
            case verbs.WaitAsync():
                self._sync.wait_async()
            case verbs.RestartWorker():
                self._sync.restart_worker(verb.worker)
            case verbs.Misused():
                self._sync.misuse(verb.what)
            case verbs.Shutdown():
                self._sync.close()
            case _:
                raise AssertionError(f"no such verb: {verb!r}")
        return {}

    def _stamps(self, verb: verbs.Forward | verbs.SetUp) -> list[port.Stamp]:
        if isinstance(verb, verbs.SetUp):
            found: list[port.Stamp] = self._sync.set_up(verb.versions)
        else:
            found = self._sync.forward(verb.workers)
        return found

    def spoil_next_send(self, fault: str, defect: str) -> None:
        """Have the next send carry weights that the worker cannot apply."""
        self._spoilt = (fault, defect)

    def _defect_of(self, verb: Any) -> str | None:
        """How this send is spoilt, if a fault says so."""
        if self._spoilt is None:
            return None
        from harness.payloads.policy import VersionedPolicyFactory

        fault, defect = self._spoilt
        self._spoilt = None
        what = f"weights of version {verb.version} with"
        VersionedPolicyFactory.spoils = lambda taken: self.stage.record(
            fault, "effect", f"{what} {taken} were taken for the send"
        )
        return defect

    def _race(self, verb: verbs.Race) -> dict[str, Any]:
        """Send without a pause, and forward without one beside it, until all is sent."""
        counted: dict[str, Any] = {"forwards": 0, "torn": 0, "rows": []}
        with repeated_beside(lambda: _count(counted, self._sync.forward())):
            for version in range(verb.versions_from, verb.versions_from + verb.sends):
                self._sync.send(version, fresh=True, defect=None)
        return counted


def _count(counted: dict[str, Any], stamps: list[port.Stamp]) -> None:
    for stamp in stamps:
        counted["forwards"] += 1
        if not stamp.first == stamp.last == stamp.buffer:
            counted["torn"] += 1
            if len(counted["rows"]) < TORN_MAX:
                counted["rows"].append(_row(stamp))


def _listed(workers: tuple[int, ...] | None) -> list[int] | None:
    return None if workers is None else list(workers)


def _row(stamp: port.Stamp) -> dict[str, int]:
    row = {
        "worker": stamp.worker,
        "first": stamp.first,
        "last": stamp.last,
        "buffer": stamp.buffer,
    }
    more = {"began_ns": stamp.began_ns or None, "value": stamp.value, "label": stamp.label}
    return {**row, **{key: value for key, value in more.items() if value is not None}}
