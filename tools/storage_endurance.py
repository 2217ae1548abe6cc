"""A long run of the reference's storage: writers that are killed, again and again, beside a sampler.

    python -m tools.storage_endurance [--rows 1000000] [--writers 4] [--kills 400] [--capacity N] [--seed 0]
    python -m tools.storage_endurance --reopen 200 [--seed 0]

The first form has writers append until so many rows are acknowledged, kills one of them at seeded
moments and starts another in its place, and samples at full speed meanwhile. Then it holds what is
stored against what each writer said: every acknowledged row is there once (unless the ring went
round), a batch that was not acknowledged is there whole or not at all, and no row was ever torn.
The second form writes to a directory, kills the writer, opens it again, and looks, so many times.
Each prints what it saw, and exits with 1 if anything was wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import torch
from tensordict import TensorDict

from reference_impl.core.clock import Deadline
from reference_impl.core.ownership import OwnedProcess, start_process
from reference_impl.storage import SharedReplayBuffer, SharedStorage

WIDE = 16
ROWS_MAX = 40  # of a batch
PER_LIFE = 1 << 24  # stamps of one writer's life
LIMIT_S = 3000.0


@dataclass(slots=True, kw_only=True)
class Seen:
    """What came of a run.

    Attributes:
        rows: acknowledged in all.
        kills: writers that were killed.
        lost: rows of claims whose writers were gone.
        samples: batches that were sampled.
        wrong: what must not be, in words.
    """

    rows: int = 0
    kills: int = 0
    lost: int = 0
    samples: int = 0
    wrong: list[str] = field(default_factory=list)


def rows_of(first: int, number: int) -> TensorDict:
    """Return a batch whose entries all follow from the rows' stamps."""
    stamp = torch.arange(first, first + number)
    wide = stamp.unsqueeze(1).expand(number, WIDE).contiguous()
    return TensorDict({"stamp": stamp, "wide": wide}, batch_size=[number])


def torn_in(data: TensorDict) -> list[int]:
    """Return the stamps of rows that are not whole; a row of zeros is one of nobody, too."""
    bad = (data["wide"] != data["stamp"].unsqueeze(1)).any(1) | (data["stamp"] <= 0)
    found: list[int] = data["stamp"][bad].tolist()
    return found


def write(end: Connection, storage: SharedStorage, life: int, seed: int) -> None:
    """Append batches of drawn sizes for ever, and say of each what it was once it is stored."""
    torch.set_num_threads(1)
    draw, first = random.Random(seed), life * PER_LIFE
    while True:
        number = draw.randint(1, ROWS_MAX)
        storage.append(rows_of(first, number))
        end.send((first, number))
        first += number


def sample(end: Connection, storage: SharedStorage) -> None:
    """Sample until told to stop; say how often, and the stamps of rows that were not whole."""
    torch.set_num_threads(1)
    buffer = SharedReplayBuffer(storage=storage, batch_size=64)
    times, torn = 0, []
    while not end.poll():
        times += 1
        torn += torn_in(buffer.sample())
    end.send((times, torn[:100]))


@dataclass(slots=True, kw_only=True)
class _Life:
    """One writer, and the batches that it acknowledged."""

    process: OwnedProcess
    end: Connection
    acknowledged: list[tuple[int, int]] = field(default_factory=list)

    def hear(self, most: int = 1 << 30) -> int:
        """Take in what it has said, at most so many batches; return how many rows that is."""
        heard = 0
        try:
            while most and self.end.poll():
                most -= 1
                batch = self.end.recv()
                self.acknowledged.append(batch)
                heard += batch[1]
        except EOFError:
            pass
        return heard

    def kill(self) -> int:
        """End it, wherever it is, and return how many rows it has said since."""
        self.process.kill()
        assert self.process.join(Deadline.after(60.0))
        heard = self.hear()
        self.process.release()
        self.end.close()
        return heard


def endure(*, rows: int, writers: int, kills: int, capacity: int, seed: int) -> Seen:
    """Run the first form; see the module."""
    draw, seen = random.Random(seed), Seen()
    storage = SharedStorage(capacity)
    storage.append(rows_of(1, 1))  # of nobody's life: there is something to be sampled
    lives: list[_Life] = []

    def born() -> _Life:
        ours, theirs = Pipe()
        args = theirs, storage, len(lives) + 1, draw.randrange(1 << 30)
        process = start_process(write, args, name=f"writer {len(lives)}", start_method="fork")
        theirs.close()
        lives.append(_Life(process=process, end=ours))
        return lives[-1]

    samples, theirs = Pipe()
    sampler = start_process(sample, (theirs, storage), name="sampler", start_method="fork")
    theirs.close()
    running = [born() for _ in range(writers)]
    kill_at = sorted(draw.randrange(rows) for _ in range(kills))
    limit = Deadline.after(LIMIT_S)
    while seen.rows < rows and not limit.expired:
        wait([one.end for one in running], 0.01)
        seen.rows += sum(one.hear(100) for one in running)
        while kill_at and kill_at[0] <= seen.rows:
            kill_at.pop(0)
            at = draw.randrange(writers)
            seen.rows += running[at].kill()
            seen.kills += 1
            running[at] = born()
    seen.rows += sum(one.kill() for one in running)
    seen.kills += len(running)
    if limit.expired:
        seen.wrong.append(f"{seen.rows} rows in {LIMIT_S} s")
    samples.send("stop")
    seen.samples, torn = samples.recv() if samples.poll(60.0) else (0, ["it did not answer"])
    seen.wrong += [f"sampled torn: {stamp}" for stamp in torn]
    sampler.kill()
    assert sampler.join(Deadline.after(60.0))
    sampler.release()
    samples.close()
    seen.lost = _when_noticed(storage)
    _check(storage, lives, seen)
    return seen


def _when_noticed(storage: SharedStorage) -> int:
    """Return how many rows were lost, once nobody who is gone is taken for somebody who writes."""
    deadline = Deadline.after(10.0)
    while (lost := storage.lost_rows, storage.shared.moment().owners)[1] and not deadline.expired:
        deadline.pause(0.02)
    return lost


def _check(storage: SharedStorage, lives: list[_Life], seen: Seen) -> None:
    stored = storage.get(slice(None))
    seen.wrong += [f"stored torn: {stamp}" for stamp in torn_in(stored)]
    stamps = stored["stamp"].tolist()
    found = Counter(stamps)
    seen.wrong += [f"stored {times} times: {stamp}" for stamp, times in found.items() if times > 1]
    ring = storage.shared.moment()
    went_round = ring.head > ring.capacity
    for life, one in enumerate(lives, 1):
        acknowledged = {first + i for first, number in one.acknowledged for i in range(number)}
        mine = {stamp for stamp in stamps if stamp // PER_LIFE == life}
        if missing := acknowledged - mine:
            # Of a ring that went round the oldest rows are gone: those before all that is there.
            kept = [stamp for stamp in missing if mine and stamp > min(mine)]
            if not went_round or kept:
                seen.wrong.append(f"life {life}: {len(kept or missing)} acknowledged rows are gone")
        more = sorted(mine - acknowledged)
        if more and (more[-1] - more[0] + 1 != len(more) or len(more) > ROWS_MAX):
            seen.wrong.append(
                f"life {life}: {len(more)} rows of more than one batch were not acknowledged"
            )


def reopen(*, times: int, capacity: int, seed: int, folder: str) -> Seen:
    """Run the second form; see the module."""
    draw, seen = random.Random(seed), Seen()
    acknowledged: list[int] = []
    for life in range(1, times + 1):
        ours, theirs = Pipe()
        args = theirs, folder, capacity, life, draw.randrange(1 << 30)
        process = start_process(_open_and_write, args, name="writer", start_method="fork")
        theirs.close()
        one = _Life(process=process, end=ours)
        for _ in range(draw.randint(1, 12)):
            wait([ours], 60.0)
            one.hear()
        Deadline.after(None).pause(draw.random() * 0.002)
        one.kill()
        seen.kills += 1
        batches = one.acknowledged
        acknowledged += [first + i for first, number in batches for i in range(number)]
        storage = SharedStorage(capacity, path=folder)
        seen.lost = storage.lost_rows
        stored = storage.get(slice(None)) if storage.initialized else rows_of(1, 0)
        _compare(stored, acknowledged, life, storage, seen)
        acknowledged = sorted(set(stored["stamp"].tolist()))
        seen.rows = storage.shared.moment().head
    return seen


def _compare(
    stored: TensorDict, acknowledged: list[int], life: int, storage: SharedStorage, seen: Seen
) -> None:
    seen.wrong += [f"life {life}: torn: {stamp}" for stamp in torn_in(stored)]
    stamps = stored["stamp"].tolist()
    if len(set(stamps)) != len(stamps):
        seen.wrong.append(f"life {life}: rows are there twice")
    # Stamps grow with the positions: the window ends with the last claim, which may be lost, or stored
    # but not acknowledged.
    ring = storage.shared.moment()
    more = [stamp for stamp in stamps if stamp not in set(acknowledged)]
    if more and (
        max(more) - min(more) + 1 != len(more) or min(more) < max(acknowledged, default=0)
    ):
        seen.wrong.append(f"life {life}: {len(more)} rows that nobody acknowledged")
    rows = sorted(set(acknowledged) | set(more))[-ring.readable :] if ring.readable else []
    if rows != sorted(stamps):
        seen.wrong.append(f"life {life}: {len(set(rows) - set(stamps))} acknowledged rows are gone")


def _open_and_write(end: Connection, folder: str, capacity: int, life: int, seed: int) -> None:
    write(end, SharedStorage(capacity, path=folder), life, seed)


def main(arguments: list[str]) -> int:
    """Run, print, return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--reopen", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given: Any = parser.parse_args(arguments)
    if given.reopen is not None:
        with tempfile.TemporaryDirectory() as folder:
            capacity = given.capacity or 500
            seen = reopen(times=given.reopen, capacity=capacity, seed=given.seed, folder=folder)
    else:
        seen = endure(
            rows=given.rows,
            writers=given.writers,
            kills=given.kills,
            capacity=given.capacity or given.rows + 400_000,  # pipes hold more
            seed=given.seed,
        )
    print(
        f"seed {given.seed}: {seen.rows} rows, {seen.kills} kills, {seen.lost} rows of claims that were lost, "
        f"{seen.samples} samples, {len(seen.wrong)} wrong"
    )
    for one in seen.wrong[:20]:
        print(" ", one)
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
