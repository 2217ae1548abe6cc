"""Each rule of tidy.py holds in this tree, and catches a violation that is planted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.engine.places import is_scenario
from tests.meta import tidy

ROOT = Path(__file__).parents[2]
TOPS = ("harness", "reference_impl", "tests", "tools")
EMPTY_INITS = ("engine", "ports", "payloads", "faults", "adapters", "model")
GENERATED = {"__pycache__", "build", "dist", "reports", "node_modules"}
SHARED_DOT_FOLDERS = {".ci", ".github"}

Rule = Callable[[str], list[str]]


def sources(root: Path, *tops: str) -> list[Path]:
    return sorted(path for top in tops for path in (root / top).rglob("*.py"))


def is_generated(folder: Path) -> bool:
    return (
        folder.name in GENERATED
        or folder.suffix == ".egg-info"
        or (folder.name.startswith(".") and folder.name not in SHARED_DOT_FOLDERS)
    )


def texts(root: Path) -> list[Path]:
    """Files that people read: all but what tools write, binary files and links."""
    found = []
    for top in (root, root / "reports/confirmed"):
        for parent, folders, names in os.walk(top):
            folders[:] = [name for name in folders if not is_generated(Path(parent, name))]
            found += [Path(parent, name) for name in names]
    return sorted(path for path in found if not path.is_symlink() and not is_binary(path))


def is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return b"\0" in file.read(4096)


def violations(rule: Rule, paths: list[Path], root: Path = ROOT) -> str:
    """What a rule finds in the files that exist, one finding a line."""
    return "\n".join(
        f"{path.relative_to(root)}:{found}"
        for path in paths
        if path.exists()
        for found in rule(path.read_text(encoding="utf-8"))
    )


def planted(folder: Path, text: str) -> Path:
    path = folder / "planted.py"
    path.write_text(text, encoding="utf-8")
    return path


def findings(rule: Rule, path: Path) -> list[str]:
    return violations(rule, [path], path.parent).splitlines()


IN_SOURCES: list[Rule] = [
    tidy.module_too_long,
    tidy.functions_too_long,
    tidy.silent_broad_handlers,
    tidy.suppressions_without_reason,
]
IN_TEXTS: list[Rule] = [tidy.registry_hosts, tidy.machine_paths, tidy.private_words]


@pytest.mark.parametrize("rule", IN_SOURCES)
def test_every_python_file_keeps_the_rule(rule: Rule):
    found = violations(rule, sources(ROOT, *TOPS))
    assert not found, found


@pytest.mark.parametrize("rule", IN_TEXTS)
def test_every_text_keeps_the_rule(rule: Rule):
    found = violations(rule, texts(ROOT))
    assert not found, found


def test_packages_that_run_inside_a_cell_have_an_empty_init():
    inits = [ROOT / "harness" / name / "__init__.py" for name in EMPTY_INITS]
    found = violations(tidy.not_empty, inits)
    assert not found, found


def test_importing_harness_brings_the_standard_library_only():
    inits = [ROOT / "harness/__init__.py"]
    found = violations(tidy.third_party_imports, inits)
    assert not found, found


def test_the_reference_implementation_uses_the_public_face_of_torchrl():
    rule = tidy.torchrl_beyond_its_public_face
    found = violations(rule, sources(ROOT, "reference_impl"))
    assert not found, found


def test_every_scenario_is_named_after_a_behaviour():
    files = (ROOT / "scenarios").rglob("*.toml")
    stems = {path.stem for path in files if is_scenario(path)}
    assert [line for stem in sorted(stems) for line in tidy.not_a_behaviour(stem)] == []


def test_every_checker_has_a_test_module():
    assert tidy.checkers_without_tests(ROOT) == []


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (tidy.module_too_long, "x = 1\n" * 400, "x = 1\n" * 401),
        (
            tidy.functions_too_long,
            "def f():\n" + "    x = 1\n" * 59,
            "def f():\n" + "    x = 1\n" * 60,
        ),
        (
            tidy.silent_broad_handlers,
            "try:\n    f()\nexcept Exception:\n    g()\n    raise\n",
            "try:\n    f()\nexcept (OSError, Exception):\n    g()\n",
        ),
        (
            tidy.silent_broad_handlers,
            "with suppress(OSError):\n    f()\n",
            "with contextlib.suppress(BaseException):\n    f()\n",
        ),
        (
            tidy.suppressions_without_reason,
            "x = 1  # noqa: E501, BLE001 - a reason\n",
            "x = 1  # noqa: E501\n",
        ),
        (
            tidy.suppressions_without_reason,
            "x = 1  # type: ignore[misc]  # a reason\n",
            "x = 1  # type: ignore[misc]\n",
        ),
        (
            tidy.suppressions_without_reason,
            "x = 1  # type: ignore[misc]  # noqa: E501 - one reason for both\n",
            "x = 1  # type: ignore[misc]  # noqa: E501\n",
        ),
        (tidy.not_empty, "", '"""Says what it is."""\n'),
        (tidy.third_party_imports, "import sys\n", "import sys, numpy.random\n"),
        (
            tidy.torchrl_beyond_its_public_face,
            "from torchrl.envs import EnvBase\n",
            "from torchrl.envs import EnvBase, ParallelEnv\n",
        ),
        (
            tidy.torchrl_beyond_its_public_face,
            "from torch import Tensor\n",
            "from torchrl.envs.async_envs import EnvBase\n",
        ),
        (tidy.torchrl_beyond_its_public_face, "import torch\n", "import torchrl.collectors\n"),
        (tidy.registry_hosts, "x = 'example.org'\n", "x = 'https://py" + "pi.org/simple'\n"),
        (tidy.machine_paths, "x = 'pool/worker'\n", "x = '/wo" + "rk/main'\n"),
        (tidy.machine_paths, "x = 'a/tmpfile'\n", "x = '/tm" + "p/x'\n"),
        (tidy.private_words, "x = 'D105'\n", "x = 'fixes D" + "4'\n"),
        (
            tidy.private_words,
            "x = Array.prototype\n".replace("pe", "p" + "e"),
            "# a Proto" + "type\n",
        ),
    ],
)
def test_a_planted_violation_is_caught(rule: Rule, good: str, bad: str, tmp_path: Path):
    assert (
        findings(rule, planted(tmp_path, good)),
        len(findings(rule, planted(tmp_path, bad))),
    ) == ([], 1)


@pytest.mark.parametrize("stem", ["Reset", "reset", "reset-twice", "reset twice", "_reset_twice"])
def test_a_scenario_that_names_no_behaviour_is_caught(stem: str):
    assert tidy.not_a_behaviour(stem)


def test_a_checker_without_a_test_module_is_caught(tmp_path: Path):
    (tmp_path / "harness/checkers").mkdir(parents=True)
    for name in ("__init__.py", "_shared.py", "alignment.py"):
        (tmp_path / "harness/checkers" / name).touch()
    assert tidy.checkers_without_tests(tmp_path) == ["alignment.py has no test_alignment.py"]


def test_a_hidden_or_generated_folder_is_not_read(tmp_path: Path):
    for name in (".venv/x.py", "reports/latest/x.html", "reports/confirmed/x.py", ".ci/run"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [path.relative_to(tmp_path).as_posix() for path in texts(tmp_path)] == [
        ".ci/run",
        "reports/confirmed/x.py",
    ]
