"""Writes README's tables of verbs, faults and setup keys, between two comments, from the dataclasses they are of."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from harness.engine.components import COMPONENTS, Component

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- tables: python -m tools.readme_tables -->", "<!-- end of tables -->"
TAGS = ("do", "fault")
EVERYWHERE = frozenset({"within_s", "id", *TAGS})


def tables() -> str:
    """What there is, for each component."""
    parts = [part for each in COMPONENTS.values() for part in _of(each)]
    return "\n\n".join(parts)


def _of(component: Component) -> Iterable[str]:
    name = component.name
    yield _table(f"verb ({name})", component.verbs)
    yield _table(f"fault ({name})", component.faults)
    lines = ["| `[setup]` and `[matrix]` (" + name + ") | values, the default first |", "|---|---|"]
    hints = typing.get_type_hints(component.setup)
    for field in fields(component.setup):
        values = _values(hints[field.name])
        rest = [f"`{value}`" for value in values if value != field.default]
        lines.append(f"| `{field.name}` | {', '.join([f'`{field.default}`', *rest])} |")
    yield "\n".join(lines)


def _table(head: str, classes: Mapping[str, type[Any]]) -> str:
    lines = [f"| {head} | what happens | keys |", "|---|---|---|"]
    for name, cls in classes.items():
        lines.append(f"| `{name}` | {_first_sentence(cls)} | {_keys(cls)} |")
    return "\n".join(lines)


def _first_sentence(cls: type[Any]) -> str:
    text = " ".join(str(cls.__doc__).split("\n\n")[0].split())
    return text.replace("|", "\\|").removesuffix(".")


def _keys(cls: type[Any]) -> str:
    """Keys with the values that they take, where those can be listed; a `*` marks what has to be said."""
    hints = typing.get_type_hints(cls)
    said = []
    for field in fields(cls):
        values = _values(hints[field.name])
        if field.name in EVERYWHERE or len(values) == 1:
            continue
        must = "*" if field.default is MISSING else ""
        listed = f" ({', '.join(values)})" if values else ""
        said.append(f"`{field.name}`{must}{listed}")
    return ", ".join(said)


def _values(hint: Any) -> list[str]:
    """The words that a key takes, if it takes words only."""
    return list(typing.get_args(hint)) if typing.get_origin(hint) is typing.Literal else []


def rendered(readme: str) -> str:
    """README with the tables as they have to be.

    Raises:
        ValueError: the two comments are not there.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md: no {BEGIN} with {END} after it")
    return f"{before}{BEGIN}\n{tables()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(rendered(README.read_text(encoding="utf-8")), encoding="utf-8")
