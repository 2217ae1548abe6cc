"""Points inside somebody's code: whoever comes there asks the gate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from harness.payloads.points import Points, problems
from harness.ports.storage import POINTS, Hold

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
    link = SimpleNamespace(
        gated=gated,
        pass_gate=lambda role, op: said.append(f"{role} {op}"),
        tell_broken=lambda role, what: said.append(f"{role} broken: {what}"),
    )
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


def test_what_is_no_sequence_is_the_adapters_mistake_and_the_call_goes_on():
    points(("row",), edge="within", argument=1)
    assert Code().write({"a": 1}) == 1  # type: ignore[arg-type]  # what is told
    broken = f"worker:0 broken: holds.row: argument 1 of {HERE}.write is dict, and no sequence"
    assert said == [broken, "a"]


def test_a_sequence_that_is_indexed_is_as_it_was():
    halves: list[Any] = []
    halves_of = Hold(target="unused", edge="within", argument=0)
    link: Any = SimpleNamespace(gated=(), pass_gate=lambda *_: said.append("asked"))
    wrapped = Points(link, "worker:0", {})._wrapped(halves.append, "row", halves_of)
    wrapped(["a", "b"])
    assert (halves[0][1], len(halves[0]), said) == ("b", 2, [])


@pytest.mark.parametrize(
    ("hold", "words"),
    [
        ({"target": f"{HERE}.wrote"}, "holds.row.target: type object 'Code' has no attribute"),
        ({"target": "tests.nowhere:Code.write"}, "holds.row.target: No module named"),
        ({"target": "tests:"}, "holds.row.target: module 'tests' has no attribute ''"),
        ({"edge": "half"}, "holds.row.edge: must be one of 'before', 'after', 'within', got"),
        ({"edge": "within", "argument": 2}, "has self, items, and no number 2"),
        ({"nth": 0}, "holds.row.nth: the first is 1, got 0"),
    ],
)
def test_a_hold_that_cannot_be_so_is_told(hold: dict[str, Any], words: str):
    wrong = Hold(**{"target": f"{HERE}.write", **hold})
    (said_of_it,) = problems({"row": wrong}, {"row"})
    assert words in said_of_it


def test_points_that_nobody_knows_or_names_or_finds_are_told():
    sound = Hold(target=f"{HERE}.write", edge="within", argument=1)
    assert list(problems(dict.fromkeys(("claim", "row", "commit", "read"), sound), POINTS)) == []
    holds: Any = {"rov": sound, "claim": sound}
    assert [each.partition(",")[0] for each in problems(holds, {"row", "extend"})] == [
        "holds: no such point 'rov'",
        "holds.claim: worker_ops does not name it",
        "holds: worker_ops names 'row'",
    ]


def test_a_function_without_a_signature_is_taken_as_it_is():
    assert list(problems({"row": Hold(target="builtins:dict.update")}, {"row"})) == []
