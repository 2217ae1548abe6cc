"""Tells how a run goes: a progress bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness.model.run import CellResult
from harness.model.standing import Standing, standing
from harness.model.verdict import Outcome

_STYLES = {
    Outcome.PASS: "green",
    Outcome.UNSUPPORTED: "dim",
    Outcome.VACUOUS: "yellow",
    Outcome.UNKNOWN: "yellow",
    Outcome.HARNESS_ERROR: "bold magenta",
}


class Progressing:
    """Prints one line a cell, and the progress below them where there is a terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._quiet = quiet
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("cells", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def begin(self, cells: int, time_scale: float) -> None:
        """Say how much there is to do."""
        self._progress.update(self._task, total=cells)
        self.say(f"{cells} cell{'s' * (cells != 1)}, time scale {time_scale:g}")

    def tell(self, cell: CellResult) -> None:
        """Say how a cell ended; the end of the run says why, where that was not expected."""
        self._progress.advance(self._task)
        if cell.outcome is Outcome.UNSUPPORTED and not self._console.is_terminal:
            return
        word = f"{cell.outcome.value:<13}"
        style = _STYLES.get(cell.outcome, "red")
        line = f"[{style}]{word}[/] {cell.seconds:6.2f} s  {_plain(cell.id)}"
        if standing(cell) is Standing.LISTED:
            line += f"\n{'':15}as listed: {_plain(cell.expected_reason or cell.reason)}"
        self.say(line)

    def say(self, line: str) -> None:
        """Print a line."""
        if not self._quiet:
            self._console.print(line)


def _plain(text: str) -> str:
    """Text that rich takes as it is."""
    return text.replace("[", "\\[")
