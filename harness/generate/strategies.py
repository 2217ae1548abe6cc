"""Valid scenarios of the pool, drawn by Hypothesis.

Swarm style: each example first draws which verbs and faults exist at all, so that some of them
get room that they would not have among all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.registry import PoolFault
from harness.generate.blocks import BLOCKS, ENDINGS, PLAIN_ENDING
from harness.generate.derive import subsets, tagged
from harness.generate.ground import Form, Ground, PoolStep, Steps
from harness.generate.owing import Owed, owed
from harness.generate.setups import setups
from harness.generate.wholes import BEGINNINGS, COMPARISONS, compared_setups
from harness.model.scenario import Expect, Expected, Heal, Phase, Scenario
from harness.ports.param_verbs import PARAMS
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.pool_verbs import ALWAYS, PoolVerb, Reset

STEPS_MAX = 12
BLOCKS_MAX = 8  # those for which there is room are taken
LEFT_OUT_SHARE = 0.3  # of the kinds: most blocks need two or three of them
FRAMES_PER_ENV = st.integers(3, 6)
VERBS = frozenset(tagged(PoolVerb, "do"))
FAULTS = frozenset(tagged(PoolFault, "fault"))
INDISPENSABLE = frozenset({"reset", "step", "shutdown"})
# How often scenarios are of which kind.
SHAPES = ("blocks",) * 7 + ("comparison",) * 2 + ("beginning",)


@st.composite
def pool_scenarios(
    draw: DrawFn, capabilities: PoolCapabilities, *, without: frozenset[str] = frozenset()
) -> Scenario[PoolSetup, PoolStep]:
    """Scenarios that a backend with these capabilities can run and a correct one passes.

    Most begin with a reset, go on with blocks and end with a shutdown, or with whatever takes its place; some are
    struck before the first call has returned, and some compare what calls return. They have at most
    `STEPS_MAX` steps, and come to every fault that they arm. After a fault that does not heal only its ending
    follows.

    Args:
        draw: Hypothesis's.
        capabilities: what the backend declares.
        without: verbs and faults that this machine cannot have.
    """
    setup = draw(setups(capabilities))
    there = _declared(capabilities) - without - INDISPENSABLE
    kinds = INDISPENSABLE | draw(subsets(there, round(LEFT_OUT_SHARE * len(there))))
    frames = draw(FRAMES_PER_ENV) * setup.num_envs
    ground = Ground(setup=setup, capabilities=capabilities, kinds=kinds, frames=frames)
    steps: Steps = ()
    shape = draw(st.sampled_from(SHAPES))
    if shape == "comparison" and "compare" in kinds:
        setup = draw(compared_setups(setup, capabilities))
        steps = draw(_one_of(COMPARISONS, replace(ground, setup=setup)))
    elif shape == "beginning":
        steps = _numbered(draw(_one_of(BEGINNINGS, ground)))
    if not steps:
        steps = draw(_of_blocks(ground))
    expected = owed(steps)
    return Scenario(
        title=_title(steps, expected),
        component="pool",
        setup=setup,
        steps=steps,
        expect=Expect(outcome=expected),
    )


@st.composite
def _of_blocks(draw: DrawFn, ground: Ground) -> Steps:
    # Left to themselves, lists are mostly short; with none at all there is little to judge.
    some = draw(st.integers(1, BLOCKS_MAX // 2))
    blocks = draw(st.lists(_one_of(BLOCKS, ground), min_size=some, max_size=BLOCKS_MAX))
    # What endings do can only be shrunk within them, so that some of the scenarios have a plain one.
    plain = draw(st.sampled_from((True, False, False)))
    ending = draw(_one_of((PLAIN_ENDING,) if plain else ENDINGS, ground))
    return _arranged(blocks, ending)


def _declared(capabilities: PoolCapabilities) -> frozenset[str]:
    """Verbs that the backend has, and all faults: whether a row can have one it says itself."""
    compares = {"compare"} if any(v.startswith("compare_") for v in capabilities.verbs) else set()
    changes = {"set_params", "read_params"} if PARAMS & capabilities.verbs else set()
    return (VERBS & (ALWAYS | capabilities.verbs | compares | changes)) | FAULTS


def _one_of(forms: Iterable[Form], ground: Ground) -> SearchStrategy[Steps]:
    """One of the forms that are possible; each as often as it weighs."""
    possible = [each for each in forms if each.possible(ground)]
    weighed = [each for each in possible for _ in range(each.weight)]
    if not weighed:
        return st.just(())
    return st.sampled_from(weighed).flatmap(lambda each: each.draw(ground))


def _arranged(blocks: Iterable[Steps], ending: Steps) -> Steps:
    """The blocks that there is room for, then the ending; ids and phases as their order wants."""
    steps: Steps = (Reset(),)
    for block in blocks:
        if len(_phased((*steps, *block, *ending))) <= STEPS_MAX:
            steps = (*steps, *block)
    return _numbered(_phased((*steps, *ending)))


def _phased(steps: Steps) -> Steps:
    """Nothing may fail in `converge`, so that a fault there is preceded by the end of it."""
    found: list[PoolStep] = []
    phase = "chaos"
    for step in steps:
        if isinstance(step, PoolFault) and phase == "converge":
            phase = "chaos"
            found.append(Phase(phase="chaos"))
        if isinstance(step, Phase):
            if step.phase == phase:
                continue
            phase = step.phase
        found.append(step)
    return tuple(found)


def _numbered(steps: Steps) -> Steps:
    """Faults get the ids that the loader gives those without one, and their place among all steps.

    A heal is the last fault's; a place among the driver's operations counts those that came before its block.
    """
    found: list[PoolStep] = []
    count = 0
    for i, step in enumerate(steps):
        if isinstance(step, Heal):
            found.append(Heal(heal=f"f{count}"))
        elif isinstance(step, PoolFault):
            count += 1
            found.append(replace(_placed(step, steps[:i]), id=f"f{count}"))
        else:
            found.append(step)
    return tuple(found)


def _placed(fault: Any, before: Sequence[PoolStep]) -> Any:
    at = fault.placement
    if at is None or at.role != "driver":
        return fault
    done = sum(getattr(step, "times", 1) for step in before if getattr(step, "do", "") == at.op)
    return replace(fault, at=replace(at, k=at.k + done))


def _title(steps: Sequence[PoolStep], expected: Owed) -> str:
    words = {
        Expected.SURVIVES: "survives",
        Expected.RECOVERS: "recovers from",
        Expected.FAILS_BOUNDED: "fails in time under",
    }
    outcomes = (expected,) if isinstance(expected, Expected) else expected
    told = " or ".join(words[outcome] for outcome in outcomes)
    return f"The pool {told} {', '.join(map(_word, steps))}"


def _word(step: PoolStep) -> str:
    match step:
        case Heal():
            return "heal"
        case Phase():
            return step.phase
        case _:
            return getattr(step, "do", "") or getattr(step, "fault", "")
