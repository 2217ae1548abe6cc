"""What the user can put right: one line, exit code 64."""

from __future__ import annotations

VALUE_MAX = 80  # characters of an offending value that are shown


class UsageError(Exception):
    """The input is wrong; nothing was run.

    Args:
        where: the file or option.
        key: the key in it, empty if it is about the whole.
        problem: what is wrong, with the offending value.
    """

    def __init__(self, where: object, key: str, problem: str) -> None:
        self.where, self.key, self.problem = str(where), key, problem
        super().__init__(": ".join(part for part in (self.where, key, problem) if part))


def shown(value: object) -> str:
    """An offending value, cut to what a line can hold."""
    text = repr(value)
    return text if len(text) <= VALUE_MAX else text[: VALUE_MAX - 3] + "..."
