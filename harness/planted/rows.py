"""Names rows of scenarios, many at a time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

_CHOICE = re.compile(r"\{([^{}]*)\}")


def rows(component: str, *patterns: str) -> frozenset[str]:
    """Ids of rows: `partial_reset[transport={thread|process}]` names two of them.

    Args:
        component: whose scenarios they are of.
        patterns: ids without the component, with choices in braces.
    """
    return frozenset(f"{component}/{row}" for pattern in patterns for row in _expanded(pattern))


def _expanded(pattern: str) -> Iterator[str]:
    fixed = _CHOICE.split(pattern)[::2]
    choices = [found.split("|") for found in _CHOICE.findall(pattern)]
    for chosen in itertools.product(*choices):
        yield "".join(itertools.chain(*zip(fixed, [*chosen, ""], strict=True)))
