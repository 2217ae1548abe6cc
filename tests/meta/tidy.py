"""The rules that no linter knows: each takes one file's text and returns what violates it."""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60

# Base classes, specs, transforms and storages that a user of torchrl meets; none of its pools,
# collectors or weight schemes.
TORCHRL_ALLOWED = {
    "torchrl.envs": {
        "Compose",
        "EnvBase",
        "EnvMetaData",
        "GymEnv",
        "GymLikeEnv",
        "GymWrapper",
        "InitTracker",
        "RewardSum",
        "StepCounter",
        "Transform",
        "TransformedEnv",
        "make_composite_from_td",
        "step_mdp",
        "terminated_or_truncated",
        "gym_backend",
    },
    "torchrl.data": {
        "Binary",
        "Bounded",
        "BoundedContinuous",
        "Categorical",
        "Choice",
        "Composite",
        "MultiCategorical",
        "MultiOneHot",
        "NonTensor",
        "OneHot",
        "PrioritizedSampler",
        "RandomSampler",
        "ReplayBuffer",
        "Sampler",
        "SamplerWithoutReplacement",
        "SliceSampler",
        "Stacked",
        "StackedComposite",
        "Storage",
        "TensorDictReplayBuffer",
        "TensorSpec",
        "Unbounded",
        "UnboundedContinuous",
        "UnboundedDiscrete",
        "Writer",
    },
    "torchrl.modules": {"ProbabilisticActor", "SafeModule"},
    "torchrl.weight_update": {"WeightSyncScheme"},  # the base class, which collectors ask for
}  # fmt: skip - one name a line would be forty lines

# Written so that no pattern finds itself here.
HOSTS = re.compile(
    r"\b(?:pypi\.(?:org|io)|pythonhosted\.org|anaconda\.(?:org|com)|debian\.org|ubuntu\.com|"
    r"npmjs\.(?:org|com)|pytorch\.org/whl|download\.pytorch\.org|crates\.io|golang\.org)",
    re.IGNORECASE,
)
MACHINE_PATHS = re.compile(
    r"(?<![\w.~$}])/(?:wor[k](?=[/\s\"'`),;:]|$)|tm[p]/|roo[t]/\.|hom[e]/\w)", re.MULTILINE
)
PRIVATE_WORDS = re.compile(
    r"\b[D][1-8]\b|\b[N][1-4]\b|(?i:\bseed[ ]documents?\b|(?<!\.)\bprototyp[e]s?\b|"
    r"\bhelper[ ]agents?\b)"
)
SUPPRESSION = re.compile(
    r"#\s*(?:ruff:\s*|flake8:\s*)?noqa|#\s*(?:type|pyright):\s*ignore|#\s*fmt:\s*(?:off|skip)",
    re.IGNORECASE,
)
SUPPRESSION_WITH_REASON = re.compile(
    r"#\s(?:ruff:\s)?noqa:\s[A-Z]+\d+(?:,\s[A-Z]+\d+)*\s-\s\w"  # ruff reads its codes up to " - "
    r"|#\s(?:type|pyright):\signore\[[\w, -]+\]\s+(?=#\s\w)"  # mypy wants a second comment
    r"|#\sfmt:\s(?:off|skip)\s-\s\w"
)
BEHAVIOUR = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")


def module_too_long(text: str) -> list[str]:
    """A module fits in 400 lines."""
    lines = len(text.splitlines())
    return [f"{lines} lines"] if lines > MODULE_LINES_MAX else []


def functions_too_long(text: str) -> list[str]:
    """A function fits on one screen: 60 lines, its decorators not counted."""
    return [
        f"{node.lineno}: {node.name} has {lines} lines"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def silent_broad_handlers(text: str) -> list[str]:
    """A handler of any exception raises again or says in place why it does not."""
    lines = text.splitlines()
    return [
        f"{node.lineno}: {lines[node.lineno - 1].strip()}"
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _raises(node))
        or (isinstance(node, ast.Call) and _is_broad_suppress(node))
        if "BLE001 - " not in lines[node.lineno - 1]
    ]


def suppressions_without_reason(text: str) -> list[str]:
    """A suppression names its rule and its reason: `noqa: X123 - why`, `ignore[x]  # why`."""
    comments = [
        token
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    return [
        f"{token.start[0]}: {token.string}"
        for token in comments
        if len(SUPPRESSION.findall(token.string))
        != len(SUPPRESSION_WITH_REASON.findall(token.string))
    ]


def not_empty(text: str) -> list[str]:
    """The `__init__.py` of what runs inside a cell is empty: one module brings no other."""
    return ["not empty"] if text else []


def third_party_imports(text: str) -> list[str]:
    """The root package needs the standard library only: every import of a cell runs it."""
    return [
        name
        for node in ast.walk(ast.parse(text))
        for name in _imported_modules(node)
        if name.split(".")[0] not in sys.stdlib_module_names
    ]


def torchrl_beyond_its_public_face(text: str) -> list[str]:
    """Of torchrl, the reference implementation uses listed names of its public packages."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "torchrl"]
            found += [f"{node.lineno}: import {name}" for name in names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torchrl":
            module = node.module or ""
            names = [alias.name for alias in node.names]
            refused = set(names) - TORCHRL_ALLOWED.get(module, set())
            found += [f"{node.lineno}: {module}.{name}" for name in sorted(refused)]
    return found


def registry_hosts(text: str) -> list[str]:
    """No file names the host of a package registry: pip and apt know their own."""
    return _matches(HOSTS, text)


def machine_paths(text: str) -> list[str]:
    """No file names a path that exists on one machine only."""
    return _matches(MACHINE_PATHS, text)


def private_words(text: str) -> list[str]:
    """The text speaks of the project alone."""
    return _matches(PRIVATE_WORDS, text)


def not_a_behaviour(stem: str) -> list[str]:
    """A scenario is named after a behaviour: two or more words in snake case."""
    return [] if BEHAVIOUR.fullmatch(stem) else [f"{stem!r} is not a_behaviour_in_snake_case"]


def checkers_without_tests(root: Path) -> list[str]:
    """Every checker has a test module of its own, `tests/unit/harness/checkers/test_<name>.py`."""
    tests = root / "tests/unit/harness/checkers"
    return [
        f"{path.name} has no test_{path.name}"
        for path in sorted((root / "harness/checkers").glob("*.py"))
        if not path.name.startswith("_") and not (tests / f"test_{path.name}").is_file()
    ]


def _matches(pattern: re.Pattern[str], text: str) -> list[str]:
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for match in pattern.finditer(text)
    ]


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_is_broad(member) for member in caught.elts)
    return caught is None or ast.unparse(caught).removeprefix("builtins.") in (
        "Exception",
        "BaseException",
    )


def _is_broad_suppress(call: ast.Call) -> bool:
    return ast.unparse(call.func).split(".")[-1] == "suppress" and any(map(_is_broad, call.args))


def _raises(handler: ast.ExceptHandler) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def _imported_modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []
