"""What `make` installs: all of it pinned, and nothing of what an interpreter brought itself."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools import install_missing

ROOT = Path(__file__).parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
GROUPS = list(tomllib.loads(PYPROJECT)["project"]["optional-dependencies"])


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split("==") for line in lines if not line.startswith("#")]
    return {install_missing.canonical(name): version for name, version in found}


def test_every_requirement_is_pinned_exactly():
    wanted = install_missing.requirements(PYPROJECT, GROUPS)
    assert install_missing.missing(wanted, pins()) == []


def test_no_pin_is_bound_to_one_build():
    assert [version for version in pins().values() if "+" in version] == []


@pytest.mark.parametrize("group", ["stacks", "test", "dev"])
def test_the_groups_of_the_makefile_bring_no_backend(group: str):
    optional = tomllib.loads(PYPROJECT)["project"]["optional-dependencies"]
    backends = {*optional["torchrl"], *optional["gymnasium"], *optional["sb3"]}
    assert backends.intersection(install_missing.requirements(PYPROJECT, [group])) == set()


def test_the_makefile_asks_for_groups_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    asked = re.findall(r"install_missing\.py (\w+)", makefile)
    extras = re.findall(r"^EXTRAS := (.*)$", makefile, re.MULTILINE)[0].split(",")
    assert set(asked) <= set(GROUPS) == set(extras)


@pytest.mark.parametrize(
    ("requirement", "name"),
    [("PyYAML>=6", "pyyaml"), ("pytest-xdist", "pytest-xdist"), ("a_b.c[d]; x", "a-b-c")],
)
def test_a_requirement_is_about_one_distribution(requirement: str, name: str):
    assert install_missing.name_of(requirement) == name


def test_what_is_there_in_any_version_is_not_missing():
    assert install_missing.missing(["click>=8.1", "rich"], {"click": "7.0"}) == ["rich"]


def test_this_interpreter_has_pytest():
    assert install_missing.installed()["pytest"] == pytest.__version__


def test_an_interpreter_without_pip_is_told_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(install_missing, "installed", dict)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    code = install_missing.main([])
    errors = capsys.readouterr().err
    assert (code, errors.count("\n"), "click" in errors) == (1, 1, True)


def test_pip_is_held_to_the_versions_that_are_there(monkeypatch):
    monkeypatch.setattr(install_missing, "installed", lambda: {"torch": "2.13.0+cpu"})
    seen = []

    def run(command: list[str], **_options: object):
        seen.append(Path(command[command.index("--constraint") + 1]).read_text(encoding="utf-8"))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    assert (install_missing.main([]), seen) == (0, ["torch==2.13.0+cpu\n"])
