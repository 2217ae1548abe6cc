"""Text that came from elsewhere, made safe to show: printable, bounded, and honest about both."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal

TERMINAL_CODES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?")
# What XML 1.0 forbids, what terminals obey, and what reorders the text around it.
UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
CONTROL_PICTURES = 0x2400


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A part of a text, with a note on what is missing; no note if nothing is."""

    text: str
    note: str | None = None


def printable(text: str) -> str:
    """The text without terminal codes, with line ends as LF and other controls made visible.

    What is left is allowed in XML 1.0 and can be encoded as UTF-8.
    """
    plain = TERMINAL_CODES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return UNSHOWABLE.sub(_visible, plain)


def one_line(text: str, limit: int = 300) -> str:
    """The text in one printable line of about `limit` characters, saying how many were left out."""
    line = " ".join(printable(text[: 8 * limit]).split())
    left_out = max(len(line) - limit, 0) + max(len(text) - 8 * limit, 0)
    return line if left_out == 0 else f"{line[:limit]}… (+{left_out} characters)"


def excerpt(data: bytes, size: int, keep: Literal["start", "end"]) -> Excerpt:
    """Decode what was kept of a file of `size` bytes and say which part it is."""
    text = printable(data.decode("utf-8", "replace"))
    if size <= len(data):
        return Excerpt(text=text)
    where = "first" if keep == "start" else "last"
    return Excerpt(text=text, note=f"the {where} {len(data)} of {size} bytes")


def compact(value: object, limit: int = 160) -> str:
    """A JSON value in one bounded line; a lone string without its quotes."""
    if isinstance(value, str):
        return one_line(value, limit)
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        text = "(nested too deeply to show)"
    return one_line(text, limit)


def pairs(values: dict[str, object], limit: int = 160) -> str:
    """Named values as `name=value`, in one bounded line."""
    return one_line(" ".join(f"{k}={compact(v, limit)}" for k, v in values.items()), limit)


def plural(count: int, noun: str) -> str:
    """`1 cell`, `2 cells`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(CONTROL_PICTURES + code) if code < 0x20 else f"\\u{code:04x}"
