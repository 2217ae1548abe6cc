"""Points inside somebody's code: whoever comes there asks the gate."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.payloads.points import Points
from harness.ports.storage import Hold

HERE = "tests.unit.harness.payloads.test_points:Code"
said: list[str] = []


class Code:
    """What is wrapped."""

    def write(self, items: list[str]) -> int:
        said.extend(items)
        return len(items)


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    said.clear()
    monkeypatch.setattr(Code, "write", Code.write)


def points(gated: tuple[str, ...], **hold: object) -> Points:
    link = SimpleNamespace(gated=gated, pass_gate=lambda role, op: said.append(f"{role} {op}"))
    return Points(link, "worker:0", {"row": Hold(target=f"{HERE}.write", **hold)})  # type: ignore[arg-type]  # a stub


@pytest.mark.parametrize(
    ("edge", "order"),
    [
        ("before", ["worker:0 row", "a", "b", "c"]),
        ("within", ["a", "b", "worker:0 row", "c"]),
        ("after", ["a", "b", "c", "worker:0 row"]),
    ],
)
def test_the_gate_is_asked_at_the_edge_of_the_call(edge, order):
    points(("row",), edge=edge, argument=1)
    assert Code().write(["a", "b", "c"]) == 3
    assert said == order


def test_who_is_not_asked_about_is_left_as_it_is():
    before = Code.write
    points(("claim",))
    assert Code.write is before


def test_the_nth_call_of_each_call_of_the_port_is_the_one():
    made = points(("row",), nth=2)
    for _ in range(3):
        Code().write(["a"])
    made.begin()
    Code().write(["b"])
    Code().write(["c"])
    assert said == ["a", "worker:0 row", "a", "a", "b", "worker:0 row", "c"]
