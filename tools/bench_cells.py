"""What a cell costs when it is forked from a warm server, against the same cell in a fresh interpreter.

Both sides alternate in one run; writes `reports/bench/cells.json`, a list of rows with `name`, `ours`,
`peer` (medians in s), `ratio`, `bound`, `holds`, and the spread of both sides.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.engine.loading import load
from harness.engine.plan import Options, jobs_of, wanted
from harness.engine.servers import Column, Server, search_path
from harness.engine.supervisor import Supervisor
from harness.model.verdict import Outcome
from harness.ports.clock import now_ns

BLOCKS = 7
CELLS_A_BLOCK = 5
BOUND = 1 / 20  # of the fresh interpreter
ROWS = (
    ("scenarios/pool/clean_run.toml", "host=bare,transport=thread"),
    ("scenarios/pool/failing_env.toml", "transport=thread"),
    ("scenarios/pool/partial_reset.toml", "host=bare,transport=thread"),
)


def main() -> int:
    """Measure, write, print."""
    with tempfile.TemporaryDirectory(prefix="harness-") as name:
        rows = [_row(Path(name), path, row) for path, row in ROWS]
    out = Path("reports/bench")
    out.mkdir(parents=True, exist_ok=True)
    (out / "cells.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for each in rows:
        print(
            f"{each['name']}: {each['ours']:.3f} s against {each['peer']:.3f} s, "
            f"1/{1 / each['ratio']:.0f} (at most 1/{1 / each['bound']:.0f}: {each['holds']})"
        )
    return 0 if all(each["holds"] for each in rows) else 1


def _row(root: Path, path: str, row: str) -> dict[str, Any]:
    ours: list[float] = []
    peer: list[float] = []
    warm = _server(root)
    try:
        for _ in range(BLOCKS):
            ours += [
                _timed(lambda: _cell(warm.columns[0], root, path, row))
                for _ in range(CELLS_A_BLOCK)
            ]
            peer.append(_timed(lambda: _fresh(root, path, row)))
    finally:
        warm.stop()
    ratio = statistics.median(ours) / statistics.median(peer)
    return {
        "name": f"{Path(path).stem}[{row}]@reference",
        "ours": statistics.median(ours),
        "peer": statistics.median(peer),
        "ratio": ratio,
        "bound": BOUND,
        "holds": ratio <= BOUND,
        "ours_min_max": [min(ours), max(ours)],
        "peer_min_max": [min(peer), max(peer)],
    }


def _server(root: Path) -> Server:
    return Server([wanted("reference", sys.executable)], root / "log", search_path(root / "path"))


def _fresh(root: Path, path: str, row: str) -> None:
    """The same cell by a server that imports everything for it alone."""
    server = _server(root)
    try:
        _cell(server.columns[0], root, path, row)
    finally:
        server.stop()


def _cell(column: Column, root: Path, path: str, row: str) -> None:
    directory = Path(tempfile.mkdtemp(dir=root))
    options = Options(rows=(row,))
    (job,) = jobs_of([load(Path(path))], [column], options, directory, 1.0)
    (result,) = Supervisor(directory, jobs=1).run([job])
    if result.outcome is not Outcome.PASS:
        raise SystemExit(f"{result.id} is {result.outcome.value}: {result.reason}")


def _timed(call: Callable[[], None]) -> float:
    start = now_ns()
    call()
    return (now_ns() - start) / 1e9


if __name__ == "__main__":
    sys.exit(main())
