"""Valid scenarios of the pool, drawn by Hypothesis.

Swarm style: each example first draws which verbs and faults exist at all, so that some of them
get room that they would not have among all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from harness.faults.registry import PoolFault, Transfers
from harness.generate.blocks import BLOCKS, ENDINGS
from harness.generate.derive import choices, drawn, subsets, tagged
from harness.generate.ground import Form, Ground, PoolStep, Steps
from harness.model.scenario import Expect, Expected, Heal, Phase, Scenario
from harness.ports.pool import PoolCapabilities, PoolSetup
from harness.ports.pool_verbs import ALWAYS, PoolVerb, Reset, Shutdown

STEPS_MAX = 12
BLOCKS_MAX = 8  # those for which there is room are taken
LEFT_OUT_MAX = 4  # of the kinds: most blocks need two or three of them
FRAMES_PER_ENV = st.integers(3, 6)
# They are about a whole cell's resources, one call's form or the driver's end, which say nothing of how
# calls follow each other; or befall items, which makes calls fail in ways that `owed` does not know.
NOT_DRAWN = frozenset(
    {"rebuild", "idle", "mark", "limit", "full_shared_memory", "one_processor"}
    | {"bad_reply", "leave", "signal_owner", "fill_channel", "compare"}
    | (tagged(Transfers, "fault").keys() - {"delay_transfer"})
)
VERBS = frozenset(tagged(PoolVerb, "do")) - NOT_DRAWN
FAULTS = frozenset(tagged(PoolFault, "fault")) - NOT_DRAWN
INDISPENSABLE = frozenset({"reset", "shutdown"})
WEIGHTS: Mapping[str, tuple[str, ...]] = {
    "transport": ("thread", "thread", "thread", "process"),  # a process costs more to start
    "host": ("bare", "bare", "transformed", "collector"),  # most blocks need a bare pool
    "start_method": ("fork",),  # the others start an interpreter, which takes seconds
    "payload": ("plain",),
}


def setups(capabilities: PoolCapabilities) -> SearchStrategy[PoolSetup]:
    """Setups of small pools whose choices of words the backend declares."""
    accepted: dict[str, SearchStrategy[Any]] = {}
    defaults = {field.name: field.default for field in fields(PoolSetup)}
    for name, words in choices(PoolSetup).items():
        declared = set(capabilities.setup.get(name, {str(defaults[name])}))
        if "rollout" not in capabilities.verbs:
            declared.discard("collector")
        accepted[name] = st.sampled_from([w for w in WEIGHTS.get(name, words) if w in declared])
    return drawn(PoolSetup, **accepted).map(_without_idle_choices)


def _without_idle_choices(setup: PoolSetup) -> PoolSetup:
    """Threads start in one way only and hand values over; what only `compare` looks at stays as it is."""
    setup = replace(setup, extras="none", watch="calls")
    if setup.transport == "process":
        return setup
    return replace(setup, start_method="fork", exchange="value")


@st.composite
def pool_scenarios(draw: DrawFn, capabilities: PoolCapabilities) -> Scenario[PoolSetup, PoolStep]:
    """Scenarios that a backend with these capabilities can run and a correct one passes.

    Each begins with a reset and ends with a shutdown, has at most `STEPS_MAX` steps, and comes to
    every fault that it arms. After a fault that does not heal only a shutdown follows.
    """
    setup = draw(setups(capabilities))
    kinds = INDISPENSABLE | draw(subsets(_declared(capabilities) - INDISPENSABLE, LEFT_OUT_MAX))
    frames = draw(FRAMES_PER_ENV) * setup.num_envs
    ground = Ground(setup=setup, capabilities=capabilities, kinds=kinds, frames=frames)
    blocks = draw(st.lists(_one_of(BLOCKS, ground), max_size=BLOCKS_MAX))
    # What endings do can only be shrunk within them, so that half of the scenarios have a plain one.
    ending = draw(_one_of(ENDINGS if draw(st.booleans()) else ENDINGS[:1], ground))
    steps = _arranged(blocks, ending)
    expected = owed(steps)
    return Scenario(
        title=_title(steps, expected),
        component="pool",
        setup=setup,
        steps=steps,
        expect=Expect(outcome=expected),
    )


def _declared(capabilities: PoolCapabilities) -> frozenset[str]:
    """Verbs that the backend has, and all faults: whether a row can have one it says itself."""
    return (VERBS & (ALWAYS | capabilities.verbs)) | FAULTS


def _one_of(forms: Iterable[Form], ground: Ground) -> SearchStrategy[Steps]:
    possible = [form.draw(ground) for form in forms if form.possible(ground)]
    return st.one_of(*possible) if possible else st.just(())


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
    """Faults get the ids that the loader gives those without one; a heal is the last fault's."""
    found: list[PoolStep] = []
    count = 0
    for step in steps:
        if isinstance(step, Heal):
            found.append(Heal(heal=f"f{count}"))
        elif isinstance(step, PoolFault):
            count += 1
            found.append(replace(step, id=f"f{count}"))
        else:
            found.append(step)
    return tuple(found)


def owed(steps: Sequence[PoolStep]) -> Expected:
    """What a correct pool owes under the faults of these steps."""
    faults = {
        step.fault: i
        for i, step in enumerate(steps)
        if isinstance(step, PoolFault) and not _strikes_closing(step)
    }
    closed = faults.get("close_channel")
    cut_off = closed is not None and not isinstance(steps[closed + 1], Shutdown)
    if cut_off or not faults.keys().isdisjoint({"raise", "exit", "signal", "kill"}):
        return Expected.FAILS_BOUNDED
    held = not faults.keys().isdisjoint({"stall", "stop"})
    return Expected.RECOVERS if held else Expected.SURVIVES


def _strikes_closing(fault: PoolFault) -> bool:
    """Whether it strikes while envs are closed: no call reports that, and the close is clean."""
    return fault.placement is not None and fault.placement.op == "close"


def _title(steps: Sequence[PoolStep], expected: Expected) -> str:
    words = {
        Expected.SURVIVES: "survives",
        Expected.RECOVERS: "recovers from",
        Expected.FAILS_BOUNDED: "fails in time under",
    }
    return f"The pool {words[expected]} {', '.join(map(_word, steps))}"


def _word(step: PoolStep) -> str:
    match step:
        case Heal():
            return "heal"
        case Phase():
            return step.phase
        case _:
            return getattr(step, "do", "") or getattr(step, "fault", "")
