"""A storage on disk takes the place of another one at once, and what the disk has is looked at before it is loaded.

It is made in a directory below the one where it is to be. Its rows' file goes there under a name of its own, which
its header says; then the header is renamed over the one before. Until that moment the old storage is there,
from then on the new one, whoever is killed. What nobody's header names is removed afterwards, or by the next dump:
by whoever is alone in making one, which a lock on the directory says.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from reference_impl.storage import header
from reference_impl.storage.errors import NotAStorage, RingBusy
from reference_impl.storage.layout import from_json
from reference_impl.storage.lock import looked_at
from reference_impl.storage.places import DATA_FILE, HEADER_FILE, check_size, is_still, rows_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_impl.core.clock import Deadline

_MAKING: Final = "making-"
_OURS: Final = re.compile(rf"{DATA_FILE}(-[0-9a-f]+)?|{_MAKING}[0-9a-f]+")
_PAUSE_S: Final = 0.001  # while another removes files
_CHUNK_BYTES: Final = 1 << 22


@contextlib.contextmanager
def making(folder: Path, deadline: Deadline) -> Iterator[Path]:
    """Give a directory for a storage, which takes the place of what is in `folder` once the body is through.

    It has to be on the disk by then. If the body raises, all is as before.

    Raises:
        NotAStorage: there is something else in `folder`, with the name of a storage's header.
        RingBusy: somebody who removes files there did not come to an end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / HEADER_FILE).exists():
        check_size(folder / HEADER_FILE, (folder / HEADER_FILE).stat().st_size)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _share(fd, folder, deadline)
        number = secrets.randbits(62) | 1
        made = folder / f"{_MAKING}{number:x}"
        try:
            yield made
            _switch(made, folder, number, fd)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        _clean(folder, fd)
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # forked children may have the descriptor, too
        os.close(fd)


def check(folder: Path) -> None:
    """See whether there is a storage, all of whose rows can be read; nothing is changed.

    Raises:
        NotAStorage: there is none, or a part of it is missing.
        OSError: the disk does not give it back.
    """
    try:
        while not _is_whole(folder):
            """It was replaced meanwhile."""
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotAStorage(f"{folder} holds no dump of a storage") from error


def _switch(made: Path, folder: Path, number: int, fd: int) -> None:
    head = os.open(made / HEADER_FILE, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.pwrite(head, number.to_bytes(8, sys.byteorder), header.ROWS_FILE_AT)
        os.fsync(head)
        rows = folder / rows_file(head)
    finally:
        os.close(head)
    (made / DATA_FILE).rename(rows)
    os.fsync(fd)  # the name of the rows is there before that of the header
    (made / HEADER_FILE).replace(folder / HEADER_FILE)
    os.fsync(fd)  # and this one before the old rows are gone


def _share(fd: int, folder: Path, deadline: Deadline) -> None:
    """Say that somebody makes a storage here: until the descriptor is closed nobody removes files."""
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline.expired:
                raise RingBusy(f"another process removes old files in {folder}") from None
        deadline.pause(_PAUSE_S)


def _clean(folder: Path, fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another makes one, and removes all of it
    with looked_at(folder / HEADER_FILE) as head:
        current = rows_file(head)
    for one in folder.iterdir():
        if one.name == current or not _OURS.fullmatch(one.name):
            continue
        if one.name.startswith(_MAKING):
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)


def _is_whole(folder: Path) -> bool:
    """Return whether it is; False: it was replaced while we looked."""
    with looked_at(folder / HEADER_FILE) as head:
        try:
            rows = (folder / rows_file(head)).open("rb")
        except FileNotFoundError:
            if is_still(head, folder / HEADER_FILE):
                raise
            return False
        with rows:
            _check_rows(folder, os.pread(head, header.SIZE + 1, 0), rows.fileno())
        return True


def _check_rows(folder: Path, memory: bytes, fd: int) -> None:
    if len(memory) != header.SIZE:
        raise NotAStorage(f"{folder / HEADER_FILE} is no header: it has {len(memory)} bytes")
    head = header.Header(torch.frombuffer(bytearray(memory), dtype=torch.uint8))
    if not head.is_one:
        raise NotAStorage(f"{folder / HEADER_FILE} is no header of a storage")
    try:
        form = head.form()
        layout = None if form is None else from_json(form)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise NotAStorage(f"{folder / HEADER_FILE} does not say what rows look like") from error
    if layout is None:
        return
    if (size := os.fstat(fd).st_size) < layout.size:
        raise NotAStorage(
            f"the rows in {folder} end at byte {size} of {layout.size}; "
            f"a storage that is opened there has the first {layout.rows_before(size)} slots"
        )
    span = min(head.ring().span, layout.rows)
    for one in layout.columns:
        _read(fd, one.offset, one.nbytes * span)


def _read(fd: int, at: int, size: int) -> None:
    """See whether the disk gives these bytes: whoever reads mapped memory would die of it."""
    into = memoryview(bytearray(min(size, _CHUNK_BYTES)))
    while size > 0:
        done = os.preadv(fd, [into[: min(size, len(into))]], at)
        if not done:
            raise NotAStorage(f"the rows end at byte {at}")
        at, size = at + done, size - done
