"""Installs the small dependencies that an interpreter lacks, and changes nothing that it has.

Usage: `PYTHON tools/install_missing.py [GROUP...]`. The dependencies are those of pyproject.toml
and of the optional GROUPs. Every distribution that is already there is pinned to its version, so
that pip can neither upgrade nor replace it; the backends (torch and the like) are never installed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def canonical(name: str) -> str:
    """The form in which two spellings of a distribution's name are equal."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    """The distribution that a requirement such as `click>=8.1` is about."""
    return canonical(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])


def requirements(pyproject: str, groups: list[str]) -> list[str]:
    """The project's own requirements and those of the groups, in the text of a pyproject.toml."""
    project = tomllib.loads(pyproject)["project"]
    optional = [line for group in groups for line in project["optional-dependencies"][group]]
    return [*project["dependencies"], *optional]


def installed() -> dict[str, str]:
    """Version by canonical name of each distribution that this interpreter finds."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        # The first on the path is the one that is imported.
        if distribution.metadata["Name"]:
            found.setdefault(canonical(distribution.metadata["Name"]), distribution.version)
    return found


def missing(wanted: list[str], present: dict[str, str]) -> list[str]:
    """The requirements whose distribution is not there in any version."""
    return [requirement for requirement in wanted if name_of(requirement) not in present]


def main(groups: list[str]) -> int:
    """Install what is missing and return pip's exit code, or 1 with one line if there is no pip."""
    present = installed()
    absent = missing(requirements((ROOT / "pyproject.toml").read_text("utf-8"), groups), present)
    if not absent:
        return 0
    if importlib.util.find_spec("pip") is None:
        print(f"{sys.executable} lacks {', '.join(absent)} and has no pip", file=sys.stderr)
        return 1
    print(f"installing into {sys.executable}: {', '.join(absent)}")
    with tempfile.TemporaryDirectory() as folder:
        frozen = Path(folder, "frozen.txt")
        frozen.write_text("".join(f"{name}=={version}\n" for name, version in present.items()))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        return subprocess.run([*pip, "--constraint", str(frozen), *absent], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
