"""Where a storage lies: memory without a name, or two files of a directory.

Which file has the rows the header says, so that one storage takes the place of another by one rename, that
of its header (`replacing.py`).

Both begin with a header of known size and without rows; the rows' memory gets its size once a row is known,
and is asked of the system bit by bit as the ring first grows, so that a full disk is an error of the
call that needs more, and not a signal that ends whoever touches the memory.
"""

from __future__ import annotations

import errno
import mmap
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reference_impl.core.arena import Arena
from reference_impl.storage import header
from reference_impl.storage.errors import NoRoom, NotAStorage
from reference_impl.storage.lock import close_beside

if TYPE_CHECKING:
    from reference_impl.storage.layout import Layout

HEADER_FILE: Final = "ring"
DATA_FILE: Final = "rows"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EFBIG})
_STEP_BYTES: Final = 1 << 22  # of all columns together, at least, each time that more is asked for


class Place:
    """The two pieces of memory of one storage; it travels to new processes."""

    def __init__(self, head: Arena, data: Arena, path: str | None) -> None:
        self.head = head
        self.data = data
        self.path = path

    def release(self) -> None:
        """Close this process's descriptors."""
        self.head.release()
        self.data.release()

    def flush(self) -> None:
        """Have the disk hold what is in the files; of memory without a name nothing has to be done."""
        if self.path is not None:
            os.fsync(self.data.fileno())
            os.fsync(self.head.fileno())

    def lies_in(self, folder: Path) -> bool:
        """Return whether its files are those of this directory."""
        return is_still(self.head.fileno(), folder / HEADER_FILE)

    def settle(self, layout: Layout) -> None:
        """Give the rows' memory its size, not yet filled.

        Raises:
            NoRoom: the file system has no files of that size, or the process no such range of addresses.
        """
        try:
            self.data.resize(layout.size)
        except OSError as error:
            raise _named(error, self.path, layout.size) from error
        self.try_to_map(layout)

    def try_to_map(self, layout: Layout) -> None:
        """See whether the rows' memory can be mapped: torch, if it cannot, keeps a file open.

        Raises:
            NoRoom: the process has no such range of addresses left.
        """
        try:
            mmap.mmap(self.data.fileno(), layout.size).close()
        except OSError as error:
            raise _named(error, self.path, layout.size) from error

    def have_room(self, layout: Layout, had: int, rows: int) -> int:
        """Make room for so many rows, of which `had` have it; return for how many there is room then.

        Raises:
            NoRoom: there is none; what had room keeps it.
        """
        each = max(sum(one.nbytes for one in layout.columns), 1)
        # A tenth more than there is: the number of calls is the logarithm of the rows'.
        want = min(layout.rows, max(rows, had + max(had // 10, _STEP_BYTES // each)))
        try:
            self._reserve(layout, had, want)
        except NoRoom:
            want = rows
            self._reserve(layout, had, want)
        return want

    def _reserve(self, layout: Layout, had: int, want: int) -> None:
        for one in layout.columns:
            if one.nbytes:
                at, size = one.offset + one.nbytes * had, one.nbytes * (want - had)
                _filled(self.data.fileno(), at, size, self.path)


def anonymous() -> Place:
    """Return memory that is gone with the last process that has it."""
    head = Arena(name="reference-storage")
    try:
        data = Arena(name="reference-storage-rows")
    except BaseException:
        head.release()
        raise
    head.resize(header.SIZE)
    return Place(head, data, None)


def in_directory(path: str) -> Place:
    """Return the files in this directory, which are made if they are not there.

    Raises:
        NoRoom: the disk is full.
        NotAStorage: there are files of these names, of something else.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    while True:
        head = Arena(_opened(folder / HEADER_FILE, os.O_CREAT))
        try:
            check_size(folder / HEADER_FILE, os.fstat(head.fileno()).st_size)
            _filled(head.fileno(), 0, header.SIZE, path)
            data = _rows_of(head.fileno(), folder)
        except BaseException:
            close_beside(head.fileno(), head.release)
            raise
        if data is not None:
            return Place(head, data, path)
        close_beside(head.fileno(), head.release)


def rows_file(fd: int) -> str:
    """Return the name of the file that has the rows of this header."""
    number = int.from_bytes(os.pread(fd, 8, header.ROWS_FILE_AT), sys.byteorder)
    return f"{DATA_FILE}-{number:x}" if number else DATA_FILE


def is_still(fd: int, file: Path) -> bool:
    """Return whether this name is still that of the file that was opened by it."""
    try:
        return os.path.samestat(os.fstat(fd), file.stat())
    except FileNotFoundError:
        return False


def _rows_of(fd: int, folder: Path) -> Arena | None:
    """Return the rows' file of a header; None: the header was replaced meanwhile, and its rows are gone."""
    name = rows_file(fd)
    try:
        return Arena(_opened(folder / name))
    except FileNotFoundError:
        if not is_still(fd, folder / HEADER_FILE):
            return None
        return Arena(_opened(folder / name, os.O_CREAT))


def data_size(place: Place) -> int:
    """Return how many bytes of rows there are."""
    return os.fstat(place.data.fileno()).st_size


def _opened(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o644)


def check_size(file: Path, size: int) -> None:
    """Raise NotAStorage if a header cannot have this size."""
    if size not in (0, header.SIZE):
        raise NotAStorage(f"{file} is no header of a storage: it has {size} bytes")


def _filled(fd: int, at: int, size: int, path: str | None) -> None:
    try:
        os.posix_fallocate(fd, at, size)
    except OSError as error:
        raise _named(error, path, size) from error


def _named(error: OSError, path: str | None, size: int) -> OSError:
    if error.errno not in _FULL:
        return error
    where = f"for {path}" if path is not None else "in memory"
    return NoRoom(error.errno, f"no room for {size} bytes {where}: {os.strerror(error.errno or 0)}")
