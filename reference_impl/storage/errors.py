"""The errors of the storage: each says what the caller now knows, and pickles."""

from __future__ import annotations


class RowsMismatch(ValueError):  # noqa: N818 - named after what is known
    """The rows are not of the form that is stored: nothing was written."""


class RowsLost(IndexError):  # noqa: N818 - named after what happened
    """There is no row to read: its writer was gone before it was whole, or nothing was written there."""


class RingBusy(TimeoutError):  # noqa: N818 - named after what is known
    """What has to come first did not, by the deadline: nothing was written or read.

    Another process holds the ring, or claims rows that lie in the way; the message names it.
    """


class NoRoom(OSError):  # noqa: N818 - named after what is known
    """The disk or the memory is full: nothing was written, all that was committed is there."""


class NotAStorage(ValueError):  # noqa: N818 - named after what is known
    """The directory holds no storage of this form: nothing was changed."""
