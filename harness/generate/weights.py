"""Valid scenarios of weight sync, drawn by Hypothesis.

A block finds every worker alive and nothing under way, and leaves it so: its faults are healed. An ending closes,
or leaves. Any blocks with one ending are a scenario, and stay one while it is shrunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from harness.faults.registry import WeightsFault
from harness.generate.derive import subsets, tagged
from harness.generate.weights_blocks import BLOCKS, ENDINGS, PLAIN, Block, Steps, Workers
from harness.model.scenario import Expect, Expected, Heal, Scenario
from harness.ports.weights import WeightsCapabilities, WeightsSetup
from harness.ports.weights_verbs import Forward, Race, WeightsVerb

BLOCKS_MAX = 4
LEFT_OUT_MAX = 6  # of the blocks, in one example
NUMEL = 1000
VERBS = frozenset(tagged(WeightsVerb, "do"))
FAULTS = frozenset(tagged(WeightsFault, "fault"))


@st.composite
def weights_setups(draw: DrawFn, capabilities: WeightsCapabilities) -> WeightsSetup:
    """Setups of few workers with small weights, in words that the backend declares; workers are its own."""

    def word(key: str, default: str) -> Any:
        return draw(st.sampled_from(sorted(capabilities.setup.get(key, {default}))))

    return WeightsSetup(
        num_workers=draw(st.integers(1, 3)),
        scheme=word("scheme", "copy"),
        transport=word("transport", "process"),
        strategy=word("strategy", "tensordict"),
        models=word("models", "policy"),
        numel=NUMEL,
    )


@st.composite
def weights_scenarios(
    draw: DrawFn, capabilities: WeightsCapabilities, *, without: frozenset[str] = frozenset()
) -> Scenario[WeightsSetup, Any]:
    """Scenarios that a backend with these capabilities can run and a correct one passes.

    Args:
        draw: Hypothesis's.
        capabilities: what the backend declares.
        without: verbs and faults that this machine cannot have.
    """
    setup = draw(weights_setups(capabilities))
    workers = Workers(setup=setup, capabilities=capabilities, without=without)
    names = frozenset(block.name for block in BLOCKS)
    there = draw(subsets(names, LEFT_OUT_MAX))
    possible = [block for block in BLOCKS if block.name in there and block.possible(workers)]
    chosen: list[Block] = []
    if possible:
        chosen = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=BLOCKS_MAX))
    able = [each for each in ENDINGS if each.possible(workers)]
    endings = [PLAIN, *(each for each in able for _ in range(each.weight))]
    ending = draw(st.sampled_from(endings))
    drawn = [block.draw(draw, workers) for block in (*chosen, ending)]
    # A probe learns which worker it is from its first observation.
    steps = _numbered([Forward(), *(step for block in drawn for step in block)])
    expected = max((b.owes for b in (*chosen, ending)), key=tuple(Expected).index)
    return Scenario(
        title=f"Workers meet {', '.join(block.name for block in (*chosen, ending))}",
        component="weights",
        setup=setup,
        steps=steps,
        expect=Expect(outcome=expected),
    )


def _numbered(steps: Iterable[Any]) -> Steps:
    """Versions count up, faults have ids, and a place among the driver's calls counts those before its block."""
    found: list[Any] = []
    version, count = 1, 0
    for step in steps:
        made: Any = step
        if hasattr(made, "fault"):
            count += 1
            made = replace(placed(made, found), id=f"f{count}")
            during: Any = getattr(made, "during", None)
            if hasattr(during, "version"):
                version += 1
                made = replace(made, during=replace(during, version=version))
        elif isinstance(made, Heal):
            made = Heal(heal=f"f{count}")
        elif isinstance(made, Race):
            made = replace(made, versions_from=version + 1)
            version += made.sends
        elif hasattr(made, "version"):
            version += 1
            made = replace(made, version=version)
        found.append(made)
    return tuple(found)


def placed(fault: Any, before: Sequence[Any]) -> Any:
    """The fault, with its place among the driver's calls counted over those that came before."""
    at = fault.placement
    if at is None or at.role != "driver":
        return fault
    made = [getattr(step, "during", step) for step in before]
    done = sum(getattr(verb, "times", 1) for verb in made if getattr(verb, "do", "") == at.op)
    return replace(fault, at=replace(at, k=at.k + done))
