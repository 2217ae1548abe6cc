"""Runs one drawn scenario after the other on one backend, through the engine that files run through."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.strategies import SearchStrategy

from harness.engine import linux
from harness.engine.doctor import allowed
from harness.engine.loading import Loaded
from harness.engine.plan import Options, jobs_of, wanted
from harness.engine.servers import Server, search_path
from harness.engine.supervisor import Supervisor
from harness.engine.timescale import measure
from harness.generate import to_toml
from harness.model.plain import from_plain
from harness.model.run import CellResult
from harness.model.scenario import Scenario
from harness.model.verdict import Outcome
from harness.ports.pool import PoolCapabilities
from harness.ports.storage import StorageCapabilities
from harness.ports.weights import WeightsCapabilities

GENERATED = Path("reports", "generated")
FOUND = DirectoryBasedExampleDatabase(".hypothesis/examples")

_COMMON = settings(
    deadline=None,  # an example starts processes: its time is the machine's
    report_multiple_bugs=False,  # one file holds one failure
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
NO_SHRINKING = (Phase.explicit, Phase.generate)
PROFILES = {
    "ci": settings(_COMMON, derandomize=True, database=None, max_examples=120),
    "long": settings(_COMMON, derandomize=False, database=FOUND, max_examples=3000),
}


def profile_name() -> str:
    """Which profile: `ci`, or what HARNESS_HYPOTHESIS_PROFILE names."""
    return os.environ.get("HARNESS_HYPOTHESIS_PROFILE", "ci")


def profile() -> settings:
    """How many examples to draw."""
    return PROFILES[profile_name()]


class Bench:
    """A server for one backend.

    Args:
        backend: name or `module:attr`.
        root: a directory for what cells leave.
        generated: where failing scenarios are written.
    """

    def __init__(self, backend: str, root: Path, generated: Path = GENERATED) -> None:
        self.backend = backend
        self.generated = generated
        # Room in /dev/shm can only be taken where it is the cell's own.
        own_shm = allowed(linux.private_shared_memory)
        self.without = frozenset() if own_shm else frozenset({"full_shared_memory", "full_disk"})
        self._root = root
        self._options = Options(backends=(backend,), jobs=1, expected=root / "expected")
        self._scale = measure()
        path = search_path(root / "path")
        self._server = Server([wanted(backend, self._options.python)], root / "server.log", path)
        (self._column,) = self._server.columns

    @property
    def capabilities(self) -> PoolCapabilities:
        """What the backend's pool declares."""
        return from_plain(PoolCapabilities, self._column.capabilities["pool"])

    @property
    def weights(self) -> WeightsCapabilities:
        """What the backend's weight sync declares."""
        return from_plain(WeightsCapabilities, self._column.capabilities["weights"])

    @property
    def storage(self) -> StorageCapabilities:
        """What the backend's replay storage declares."""
        return from_plain(StorageCapabilities, self._column.capabilities["storage"])

    def run(self, loaded: Loaded) -> CellResult:
        """Run the scenario's one row."""
        root = Path(tempfile.mkdtemp(dir=self._root))
        (job,) = jobs_of([loaded], [self._column], self._options, root, self._scale)
        (cell,) = Supervisor(root, jobs=1).run([job])
        shutil.rmtree(root)
        return cell

    def check(self, loaded: Loaded) -> None:
        """Run a scenario that has to pass; one that does not is left as a file.

        Hypothesis runs the simplest failure last, so that this is what the file holds in the end.
        """
        cell = self.run(loaded)
        if cell.outcome is Outcome.PASS:
            return
        loaded.path.parent.mkdir(parents=True, exist_ok=True)
        loaded.path.write_text(to_toml(loaded.scenario), encoding="utf-8")
        replay = f"harness run {loaded.path} --backend {self.backend}"
        judges = sorted({finding.checker for finding in cell.findings})
        said = f"{cell.outcome.value}: {cell.reason}\nred: {', '.join(judges)}"
        raise AssertionError(f"{said}\n{replay}")

    def close(self) -> None:
        """End the server."""
        self._server.stop()


def hunt(
    bench: Bench, name: str, scenarios: SearchStrategy[Scenario[Any, Any]], config: settings
) -> None:
    """Look for a scenario that the backend does not pass; its file shows this hunt's find alone."""
    path = bench.generated / f"{name}.toml"
    path.unlink(missing_ok=True)

    @config
    @given(scenario=scenarios)
    def every_scenario_passes(scenario):
        bench.check(Loaded(path=path, scenario=scenario))

    every_scenario_passes()
