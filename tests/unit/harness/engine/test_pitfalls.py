"""What could show nothing is refused when its file is read."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engine.loading import parse
from harness.engine.usage import UsageError

AT = {"role": "worker:0", "op": "step", "k": 1}
STALL = {"fault": "stall", "at": AT, "for_s": 1.4}
RAISE = {"fault": "raise", "at": AT}
RECOVERS = {"outcome": "recovers"}


def read(*steps: dict[str, Any], **more: Any) -> None:
    told = [{"do": "reset"}, *steps, {"do": "shutdown"}]
    parse({"title": "A title", "component": "pool", "steps": told, **more}, "text")


@pytest.mark.parametrize(
    ("steps", "more", "text"),
    [
        ([{**STALL, "for_s": 1.0}], {}, "steps[1].for_s: at least 1.2"),
        ([{"do": "idle", "for_s": 0.5}], {}, "steps[1].for_s: at least 1.2"),
        ([STALL, RAISE], {}, "steps[2]: a fault before it strikes the same"),
        ([RAISE, {"do": "step"}], {"expect": RECOVERS}, "expect.outcome: recovers needs a heal"),
        (
            [{"do": "mark"}] * 2,
            {},
            "steps[1].do: growth is judged from 3 marks, the scenario has 2",
        ),
    ],
)
def test_what_could_show_nothing_is_refused(
    steps: list[dict[str, Any]], more: dict[str, Any], text: str
):
    with pytest.raises(UsageError) as caught:
        read(*steps, **more)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ([STALL, {**RAISE, "at": {**AT, "k": 2}}], {}),
        ([STALL, {"do": "step"}, RAISE, {"do": "step"}], {}),
        ([RAISE, {"do": "step"}, {"phase": "converge"}, {"do": "reset"}], {"expect": RECOVERS}),
        ([{"do": "mark"}] * 3, {}),
        ([{**RAISE, "id": "f"}, {"do": "step"}, {"heal": "f"}], {"expect": RECOVERS}),
    ],
)
def test_what_shows_something_is_read(steps: list[dict[str, Any]], more: dict[str, Any]):
    read(*steps, **more)
