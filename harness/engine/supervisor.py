"""Runs cells: starts them on their servers, watches their deadlines, has them judged, repeats and confirms."""

from __future__ import annotations

import json
import selectors
import signal
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType

from harness.engine.cell import RunningCell
from harness.engine.judging import judge_directory
from harness.engine.outcomes import (
    Run,
    confirmed,
    mark_confirmation,
    mark_cut_short,
    summed_up,
    suspicious,
    unconfirmed,
)
from harness.engine.request import CellRequest
from harness.engine.servers import Server
from harness.model.run import CellResult
from harness.model.standing import unlisted
from harness.model.verdict import Outcome, Verdict
from harness.ports.clock import now_ns

DIED = "the backend's server died"
INTERRUPTS = (signal.SIGINT, signal.SIGTERM)  # a terminal's, and how CI stops a job
TICK_S = 0.05  # how often journals are looked at while nothing is reported


@dataclass(eq=False, slots=True, kw_only=True)
class Job:
    """A cell that has to be run some number of times.

    Attributes:
        server: where it runs.
        request: what it is asked to do.
        directory: where its runs go.
        blank: its result, but for what the runs will tell.
        repeat: how often it runs.
        unsupported: why it does not run at all.
        confirm: whether a red that is only about time, or a hang, has to come twice to count.
        runs: those that are done.
        started: how many were started, confirmations included.
    """

    server: Server
    request: CellRequest
    directory: Path
    blank: CellResult
    repeat: int = 1
    unsupported: str | None = None
    confirm: bool = True
    runs: list[Run] = field(default_factory=list)
    started: int = 0

    @property
    def done(self) -> bool:
        """Whether it has run as often as it should."""
        return self.unsupported is not None or len(self.runs) >= self.repeat

    def result(self, root: Path) -> CellResult:
        """What is known of it by now; without runs, that nothing is."""
        if self.unsupported is not None:
            return replace(self.blank, outcome=Outcome.UNSUPPORTED, reason=self.unsupported)
        return summed_up(self.blank, self.runs, root) if self.runs else self.blank


class Supervisor:
    """Runs jobs, several at a time.

    Args:
        root: of the run; directories in results are relative to it.
        jobs: how many cells run at once.
        tell: called with each job that is done.
        budget_s: no cell is started after this.
        alone: asked until it says that nobody else runs cells, before one is run alone.

    Attributes:
        interrupted: SIGINT or SIGTERM ended the run early; a second one waits for nothing to be cleaned up.
        failed: why it could not go on, if what cells leave could not be written.
    """

    def __init__(
        self,
        root: Path,
        *,
        jobs: int,
        tell: Callable[[CellResult], None] = lambda _: None,
        budget_s: float | None = None,
        alone: Callable[[], bool] = lambda: True,
    ) -> None:
        self.interrupted = False
        self.failed: OSError | None = None
        self._root = root
        self._jobs = jobs
        self._tell = tell
        self._alone = alone
        self._stop_ns = None if budget_s is None else now_ns() + round(budget_s * 1e9)
        self._selector = selectors.DefaultSelector()
        self._running: dict[str, tuple[Job, RunningCell]] = {}
        self._waiting: deque[Job] = deque()
        self._suspects: deque[tuple[Job, Run]] = deque()
        self._confirming: tuple[Job, Run] | None = None
        self._dead: set[Server] = set()
        self._hurried = False

    def run(self, jobs: Sequence[Job]) -> list[CellResult]:
        """Run them; results in the order of the jobs.

        What the budget left no time for is UNKNOWN; what an interrupt or a failure left undone is left out.
        """
        for server in {job.server for job in jobs}:
            self._selector.register(server.connection, selectors.EVENT_READ, server)
        for job in jobs:
            if job.unsupported is not None:
                self._tell(job.result(self._root))
            self._waiting.extend([job] * (0 if job.unsupported is not None else job.repeat))
        before = {number: signal.signal(number, self._on_interrupt) for number in INTERRUPTS}
        try:
            while self._running or self._waiting or self._suspects:
                self._start_some()
                self._turn()
        except OSError as error:  # a full disk, say: what still runs ends with its server
            self.failed = error
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._selector.close()
        stopped = self.interrupted or self.failed is not None
        finished = (job for job in jobs if job.runs or job.unsupported or not stopped)
        return [job.result(self._root) for job in finished]

    def _on_interrupt(self, _: int, __: FrameType | None) -> None:
        self._hurried = self.interrupted
        self.interrupted = True

    def _start_some(self) -> None:
        if self.interrupted or (self._stop_ns is not None and now_ns() > self._stop_ns):
            self._give_up()
        if self.interrupted:
            for _, cell in self._running.values():
                cell.end()
                if self._hurried:
                    cell.kill()
            return
        while self._waiting and len(self._running) < self._jobs and self._confirming is None:
            self._start(self._waiting.popleft())
        if self._suspects and not self._running and not self._waiting and self._alone():
            self._confirming = self._suspects.popleft()
            self._start(*self._confirming)

    def _give_up(self) -> None:
        """Start nothing more; whoever was suspected stays so."""
        self._waiting.clear()
        while self._suspects:
            job, run = self._suspects.popleft()
            self._accept(job, unconfirmed(run))

    def _start(self, job: Job, suspect: Run | None = None) -> None:
        job.started += 1
        directory = job.directory / str(job.started)
        directory.mkdir(parents=True)
        if suspect is not None:
            mark_confirmation(directory, suspect.directory)
        text = json.dumps(job.request.to_plain(), indent=1)
        (directory / "request.json").write_text(text, encoding="utf-8")
        key = directory.relative_to(self._root).as_posix()
        self._running[key] = (job, RunningCell(job.request, directory))
        try:
            if job.server in self._dead:
                raise ConnectionError(DIED)
            job.server.start_cell(key, job.request, directory)
        except OSError:
            self._lose(key, DIED)

    def _turn(self) -> None:
        for ready, _ in self._selector.select(TICK_S if self._running or self._suspects else 0):
            self._hear(ready.data)
        for job, cell in list(self._running.values()):
            took_long = cell.watch()
            if cell.lost:
                self._renew(job.server, "the backend's server did not answer")
            if took_long or cell.lost:
                break  # others may have been heard of meanwhile: listen before judging them late

    def _hear(self, server: Server) -> None:
        messages = server.receive()
        if messages is None:
            self._renew(server, DIED)
            return
        for message in messages:
            # A cell that was given up may still start or end.
            if message.get("started") in self._running:
                self._running[message["started"]][1].guardian = message["pid"]
            elif message.get("ended") in self._running:
                self._finish(message["ended"])

    def _renew(self, server: Server, why: str) -> None:
        """Give up the cells of a server that is of no use any more, and start it anew for those that wait."""
        self._selector.unregister(server.connection)
        for key, (job, cell) in list(self._running.items()):
            if job.server is server:
                self._finish(key) if cell.ended else self._lose(key, why)
        if not self.interrupted and server.restart():
            self._selector.register(server.connection, selectors.EVENT_READ, server)
        else:
            self._dead.add(server)

    def _lose(self, key: str, why: str) -> None:
        cell = self._running[key][1]
        cell.error = cell.error or why
        cell.end()
        self._finish(key)

    def _finish(self, key: str) -> None:
        job, cell = self._running.pop(key)
        cell.finish()
        verdict = judge_directory(cell.directory)
        seconds = (now_ns() - cell.started_ns) / 1e9
        run = Run(verdict=verdict, directory=cell.directory, seconds=round(seconds, 3))
        suspect, self._confirming = self._confirming, None
        cut_short = self.interrupted and verdict.outcome is Outcome.HARNESS_ERROR
        if cut_short:
            mark_cut_short(cell.directory)
        if suspect is not None and cut_short:
            self._accept(job, unconfirmed(suspect[1]))
        elif suspect is not None:
            self._accept(job, confirmed(suspect[1], run))
        elif cut_short:
            return  # there is nothing to say about it
        elif self._needs_confirmation(job, verdict):
            self._suspects.append((job, run))
        else:
            self._accept(job, run)

    @staticmethod
    def _needs_confirmation(job: Job, verdict: Verdict) -> bool:
        others = unlisted(verdict.findings, job.blank.expected_checkers)
        known = verdict.outcome in job.blank.listed and not others
        return suspicious(verdict) and not known and job.confirm

    def _accept(self, job: Job, run: Run) -> None:
        job.runs.append(run)
        if job.done:
            self._tell(job.result(self._root))


def run_jobs(
    root: Path, jobs: Sequence[Job], *, alone: Callable[[], bool] = lambda: True
) -> list[CellResult]:
    """Run jobs one at a time, for callers that have no report to write.

    Args:
        root: of the run.
        jobs: what is run.
        alone: as the supervisor's.

    Raises:
        KeyboardInterrupt: SIGINT or SIGTERM came; whatever ran has been ended.
        OSError: what the cell leaves could not be written.
    """
    supervisor = Supervisor(root, jobs=1, alone=alone)
    results = supervisor.run(jobs)
    if supervisor.failed is not None:
        raise supervisor.failed
    if supervisor.interrupted:
        raise KeyboardInterrupt
    return results
